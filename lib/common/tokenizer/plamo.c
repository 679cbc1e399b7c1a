/* "plamo": tokenizer.jsonl, one line for each token: [text, score, type, ...]. Source: _set_vocab_plamo() of convert_hf_to_gguf.py. */
#include "tokenizer/vocabulary_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char ggml[] = "tokenizer.ggml";

#define PAD_SCORE (-1000.0F)

static bool
is_reserved(const struct hf_string *text)
{
    static const char begin[] = "<|plamo:";
    size_t n = sizeof begin - 1;
    return text->n >= n + 2 && memcmp(text->p, begin, n) == 0 && memcmp(text->p + text->n - 2, "|>", 2) == 0;
}

/* Returns the type that a line declares; other words are normal tokens. */
static enum token_type
plamo_type(const struct hf_string *word, const struct hf_string *text)
{
    static const struct {
        const char *word;
        enum token_type type;
    } types[] = { { "UNKNOWN", TOKEN_UNKNOWN }, { "CONTROL", TOKEN_CONTROL }, { "BYTE", TOKEN_BYTE } };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (hf_string_is(word, types[i].word))
            return types[i].type;
    return is_reserved(text) ? TOKEN_CONTROL : TOKEN_NORMAL;
}

/* Reads a line as the last token. */
static bool
read_line(struct vocab *v, const struct hf_value *line, struct err *err)
{
    struct pull json;
    struct hf_string text, word = { 0 };
    double score;
    hf_value_pull(&json, line);
    if (pull_next(&json) != PULL_ARRAY || pull_next(&json) != PULL_STRING)
        return hf_value_fault(&json, line, "a text, a score and a type", err);
    if (!hf_string_of(&text, &v->chars, &json.token, err))
        return false;
    if (pull_next(&json) != PULL_NUMBER || !pull_as_double(&json, &score))
        return hf_value_fault(&json, line, "a text, a score and a type", err);
    enum pull_token next = pull_next(&json);
    if (next == PULL_STRING && !hf_string_of(&word, &v->chars, &json.token, err))
        return false;
    if (next != PULL_STRING && next != PULL_ARRAY_END)
        return hf_value_fault(&json, line, "a text, a score and a type", err);
    v->token[v->n - 1] = (struct vocab_token){ .p = text.p, .n = (uint32_t)text.n, .score = (float)score,
        .type = (uint8_t)plamo_type(&word, &text) };
    return tokens_register(v, line->file, &text, v->n - 1, line->at, err);
}

/* Fills up to the number of tokens that the model has. These are counted from 1. */
static bool
pad(struct vocab *v, struct err *err)
{
    enum { ROOM = 32 };
    size_t n = v->n;
    uint64_t size = v->options->size;
    if (size <= n)
        return true;
    if (!tokens_resize(v, size, err))
        return false;
    for (size_t i = n; i < v->n; i++) {
        char *text = hf_chars_room(&v->chars, ROOM, err);
        if (!text)
            return false;
        int length = snprintf(text, ROOM, "[PAD%zu]", i - n + 1);
        v->token[i] = (struct vocab_token){ .p = text, .n = (uint32_t)length, .score = PAD_SCORE, .type = TOKEN_UNUSED };
    }
    return true;
}

static bool
plamo_is_blank(const char *p, size_t n)
{
    while (n != 0 && (*p == ' ' || *p == '\t' || *p == '\r')) {
        p++;
        n--;
    }
    return n == 0;
}

static bool
read_lines(struct vocab *v, struct err *err)
{
    const struct hf_text *file = &v->folder->file[HF_LINES];
    const char *end = file->p + file->n;
    for (const char *p = file->p, *stop; p < end; p = stop + 1) {
        stop = memchr(p, '\n', (size_t)(end - p));
        if (!stop)
            stop = end;
        size_t n = (size_t)(stop - p);
        if (plamo_is_blank(p, n))
            continue;
        const struct hf_value line = { .file = file->name, .name = "a line", .p = p, .n = n, .at = (uint64_t)(p - file->p) };
        if (!tokens_resize(v, v->n + 1, err) || !read_line(v, &line, err))
            return false;
    }
    return pad(v, err);
}

/* Puts the ids of the tokens that tokenizer_config.json names. */
static bool
put_roles(struct keys *keys, struct vocab *v, struct err *err)
{
    static const char *const members[] = { "bos_token", "eos_token", "pad_token", "sep_token", "unk_token" };
    static const char *const names[] = { "bos_token_id", "eos_token_id", "padding_token_id", "seperator_token_id",
        "unknown_token_id" };
    enum { ROLES_NAMED = sizeof names / sizeof *names };
    struct hf_value m[ROLES_NAMED];
    struct hf_string text;
    char shown[STR_SHOWN];
    size_t id;
    if (!hf_value_members(m, members, ROLES_NAMED, &v->config, err))
        return false;
    for (size_t i = 0; i < ROLES_NAMED; i++) {
        if (!hf_value_string(&text, &v->chars, &m[i], err))
            return false;
        if (!text.p)
            continue;
        if (!tokens_find(v, &text, &id))
            return err_set(err, ERR_MALFORMED, "%s has no token \"%s\", which tokenizer_config.json names",
                v->folder->file[HF_LINES].name, str_shown(shown, text.p, text.n));
        if (!keys_put_u32(keys, ggml, names[i], (uint32_t)id, err))
            return false;
    }
    return true;
}

bool
plamo_put(struct keys *keys, struct vocab *v, bool chat, struct err *err)
{
    static const char *const name[] = { "chat_template" };
    struct hf_value template;
    return read_lines(v, err)
        && tokens_put(keys, v, "plamo2", "default", true, err)
        && put_roles(keys, v, err)
        && hf_value_members(&template, name, 1, &v->config, err)
        && (!chat || chat_template_put(keys, v, &template, err));
}
