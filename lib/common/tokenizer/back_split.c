/* The pre-tokenizer of a tokenizer.json, from llama.cpp's name for it. */
#include "tokenizer/back_priv.h"

#include <string.h>

#include "tokenizer/vocabulary_priv.h"

/* llama.cpp's names with the same way of splitting. Source: llama-vocab.cpp, except that pixtral splits as tekken in the models
 * that use it, which their families say. */
static const struct {
    const char *split, *names[13];
} aliases[] = {
    { "llama3", { "llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "jina-v5-nano",
        "dbrx", "smaug-bpe", "glm4", "chatglm-bpe" } },
    { "qwen2", { "qwen2", "deepseek-r1-qwen", "kormo", "f2llmv2", "megrez", "stablelm2", "hunyuan", "solar-open", "grok-2" } },
    { "qwen35", { "qwen35" } },
    { "tekken", { "tekken" } },
    { "gpt-4o", { "gpt-4o", "llama4", "kanana2", "minimax-m2" } },
    { "gpt-2", { "gpt-2", "phi-2", "exaone4", "modern-bert", "mpt", "olmo", "jais", "trillion", "granite-docling", "a.x-4.0",
        "mellum", "roberta-bpe" } },
    { "digits", { "starcoder", "refact", "command-r", "smollm", "codeshell", "exaone", "minerva-7b", "mellum2" } },
    { "deepseek-v3", { "deepseek-v3", "hunyuan-dense", "joyai-llm" } },
    { "seed-coder", { "seed-coder" } },
};

static bool
back_split_is_one_of(const struct hf_string *name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n && names[i]; i++)
        if (hf_string_is(name, names[i]))
            return true;
    return false;
}

/* Returns the way of splitting, as in a family file, or NULL. */
static const char *
word_of(const struct hf_string *name, const struct tokenizer_pre *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (hf_string_is(name, rows[i].name) && strcmp(rows[i].split, "*") != 0)
            return rows[i].split;
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (back_split_is_one_of(name, aliases[i].names, sizeof aliases[i].names / sizeof *aliases[i].names))
            return aliases[i].split;
    return NULL;
}

bool
back_split_find(struct back_split *split, const struct hf_string *name, const struct tokenizer_pre *rows, size_t n)
{
    static const char *const composed[] = { "qwen2", "qwen35", "command-r", "modern-bert", "exaone4" };
    static const char *const whole[] = { "llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2",
        "jina-v5-nano", "tekken", "glm4" };
    const char *word = word_of(name, rows, n);
    char text[64];
    *split = (struct back_split){ .steps = word ? pre_steps(word) : NULL };
    if (!split->steps)
        return false;
    split->literal = strcmp(word, "deepseek-v3") == 0 || strcmp(word, "seed-coder") == 0;
    split->composes = back_split_is_one_of(name, composed, sizeof composed / sizeof *composed);
    split->ignores_merges = back_split_is_one_of(name, whole, sizeof whole / sizeof *whole);
    if (name->n < sizeof text) {
        memcpy(text, name->p, name->n);
        text[name->n] = '\0';
        split->adds_bos = pre_adds_bos(text);
    }
    return true;
}

/* --- writing */

/* Writes a regex. The steps have line ends as escapes and plain quotes; published files have either form. */
static void
push_expression(struct push *json, const char *p, size_t n, bool literal)
{
    char text[512];
    size_t used = 0;
    for (size_t i = 0; i < n && used < sizeof text; i++) {
        bool end = literal && p[i] == '\\' && i + 1 < n && (p[i + 1] == 'r' || p[i + 1] == 'n');
        i += end;
        if (literal && p[i] == '"' && used + 1 < sizeof text)
            text[used++] = '\\';
        if (!end)
            text[used++] = p[i];
        else if (p[i] == 'r')
            text[used++] = '\r';
        else
            text[used++] = '\n';
    }
    push_object(json);
    push_key(json, "type");
    push_text(json, "Split");
    push_key(json, "pattern");
    push_object(json);
    push_key(json, "Regex");
    push_string(json, text, used);
    push_end(json);
    push_key(json, "behavior");
    push_text(json, "Isolated");
    push_key(json, "invert");
    push_bool(json, false);
    push_end(json);
}

static void
push_step(struct push *json, const char *step, size_t n, bool literal)
{
    if (*step == 'R') {
        push_expression(json, step + 1, n - 1, literal);
        return;
    }
    bool digits = *step == 'D';
    push_object(json);
    push_key(json, "type");
    push_text(json, digits ? "Digits" : "ByteLevel");
    if (digits) {
        push_key(json, "individual_digits");
        push_bool(json, true);
    } else {
        push_key(json, "add_prefix_space");
        push_bool(json, false);
        push_key(json, "trim_offsets");
        push_bool(json, false);
        push_key(json, "use_regex");
        push_bool(json, *step == 'B');
    }
    push_end(json);
}

void
back_split_push(struct push *json, const struct back_split *split)
{
    const char *step = split->steps, *end = strchr(step, '\n');
    bool several = end && end[1];
    push_key(json, "pre_tokenizer");
    if (several) {
        push_object(json);
        push_key(json, "type");
        push_text(json, "Sequence");
        push_key(json, "pretokenizers");
        push_array(json);
    }
    for (; end; step = end + 1, end = strchr(step, '\n'))
        push_step(json, step, (size_t)(end - step), split->literal);
    if (several) {
        push_end(json);
        push_end(json);
    }
}
