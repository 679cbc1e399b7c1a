/* pre: finds llama.cpp's name for the pre-tokenizer of a tokenizer.json.
 *
 * "pre_tokenizer" is written as one line per step: R and a regex whose matches are isolated; B for GPT-2's own regex and
 * bytes as characters, b for bytes as characters only; D for single digits. Source: the regexes of each name in
 * llama-vocab.cpp.
 */
#include "tokenizer/vocabulary_priv.h"

#include <string.h>

#define ENGLISH "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define REST "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define LEAD "[^\\r\\n\\p{L}\\p{N}]?"

#define CL100K "R" ENGLISH "|" LEAD "\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" REST "\nb\n"

/* A way of splitting has the word that family files use, and the name that is written unless a family has another one. Rows
 * with ignores_merges (a word that is a token is not merged; model.ignore_merges) precede rows with equal steps that use only
 * merges. The first row of a word has the steps that the way back writes. */
static const struct {
    const char *split, *name, *steps;
    bool ignores_merges;        /* tokenizer.json must set it */
} known[] = {
    { .split = "llama3", .name = "llama-bpe", .steps = CL100K, .ignores_merges = true },
    { .split = "llama3", .name = "dbrx", .steps = CL100K },
    { .split = "qwen2", .name = "qwen2", .steps = "R" ENGLISH "|" LEAD "\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" REST "\nb\n" },
    { .split = "qwen35", .name = "qwen35",
        .steps = "R" ENGLISH "|" LEAD "[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" REST "\nb\n" },
    { .split = "tekken", .name = "tekken", .steps = "R" LEAD UPPER "*" LOWER "+|" LEAD UPPER "+" LOWER "*|\\p{N}"
        "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" REST "\nb\n" },
    { .split = "gpt-4o", .name = "gpt-4o",
        .steps = "R" LEAD UPPER "*" LOWER "+" ENGLISH "?|" LEAD UPPER "+" LOWER "*" ENGLISH "?|\\p{N}{1,3}"
        "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" REST "\nb\n" },
    { .split = "gpt-2", .name = "gpt-2", .steps = "B\n" },
    { .split = "gpt-2", .name = "gpt-2",
        .steps = "R'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+\nb\n" },
    { .split = "digits", .name = "starcoder", .steps = "D\nB\n" },
    { .split = "deepseek-v3", .name = "deepseek-v3", .steps = "R\\p{N}{1,3}\n"
        "R[\xE4\xB8\x80-\xE9\xBE\xA5\xE3\x81\x80-\xE3\x82\x9F\xE3\x82\xA0-\xE3\x83\xBF]+\n"
        "R[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
        "| ?[\\p{P}\\p{S}]+[\\r\\n]*|" REST "\nb\n" },
    { .split = "wordpiece", .name = "bert-bge", .steps = "BertPreTokenizer\n" },      /* never the steps of a BPE */
    { .split = "seed-coder", .name = "seed-coder",
        .steps = "R" ENGLISH "|" LEAD "\\p{L}+|\\p{N}{1}| ?[^\\s\\p{L}\\p{N}\\r\\n]+|" REST "\nb\n" },
};

enum { KNOWN = sizeof known / sizeof *known };

enum { STEPS = 8 };

/* Appends a regex. Line ends are written as escapes and quotes without, because files contain both forms. */
static void
add_expression(struct str *steps, const struct hf_string *expression)
{
    str_add(steps, "R", 1);
    for (size_t i = 0; i < expression->n; i++) {
        char c = expression->p[i];
        char after = 0;
        if (c == '\\' && i + 1 < expression->n)
            after = expression->p[i + 1];
        if (c == '\n' || c == '\r')
            str_add(steps, c == '\n' ? "\\n" : "\\r", 2);
        else if (after == '\\')
            str_add(steps, expression->p + i++, 2);
        else if (after != '"')
            str_add(steps, &c, 1);
    }
    str_add(steps, "\n", 1);
}

/* Appends a step that cannot match any known one. */
static void
add_other(struct str *steps, const struct hf_string *type)
{
    str_add(steps, "?", 1);
    str_add(steps, str_or(type->p, ""), type->p ? type->n : 0);
    str_add(steps, "\n", 1);
}

enum { TYPE, PATTERN, BEHAVIOR, INVERT, REGEX, PREFIX, DIGITS, INNER, NAMES };

static bool
add_split(struct str *steps, struct vocab *v, const struct hf_value *m, const struct hf_string *type,
    struct err *err)
{
    static const char *const regex[] = { "Regex" };
    struct hf_value value;
    struct hf_string expression, behavior;
    bool invert;
    if (!hf_value_members(&value, regex, 1, &m[PATTERN], err) || !hf_value_string(&expression, &v->chars, &value, err)
        || !hf_value_string(&behavior, &v->chars, &m[BEHAVIOR], err) || !hf_value_bool(&invert, &m[INVERT], false, err))
        return false;
    bool isolates = hf_string_is(&behavior, invert ? "Removed" : "Isolated");
    if (!isolates || !expression.p)
        add_other(steps, type);
    if (expression.p)
        add_expression(steps, &expression);
    return true;
}

static bool
add_step(struct str *steps, struct vocab *v, const struct hf_value *step, bool inside, struct err *err);

static bool
add_sequence(struct str *steps, struct vocab *v, const struct hf_value *list, struct err *err)
{
    struct pull json;
    struct hf_value one = *list;
    if (hf_value_kind(list) != PULL_ARRAY)
        return hf_value_wrong(list, "an array", err);
    hf_value_pull(&json, list);
    pull_next(&json);
    for (unsigned i = 0; i < STEPS; i++) {
        struct pull ahead = json;
        if (pull_next(&ahead) == PULL_ARRAY_END)
            return true;
        if (!pull_value_text(&json, &one.p, &one.n))
            return hf_value_fault(&json, list, "a step", err);
        one.at = list->at + (uint64_t)(one.p - list->p);
        if (!add_step(steps, v, &one, true, err))
            return false;
    }
    str_text(steps, "?and more\n");
    return true;
}

static bool
add_step(struct str *steps, struct vocab *v, const struct hf_value *step, bool inside, struct err *err)
{
    static const char *const names[NAMES] = {
        "type", "pattern", "behavior", "invert", "use_regex", "add_prefix_space", "individual_digits", "pretokenizers"
    };
    struct hf_value m[NAMES];
    struct hf_string type;
    bool regex, prefix, digits;
    if (!hf_value_members(m, names, NAMES, step, err) || !hf_value_string(&type, &v->chars, &m[TYPE], err)
        || !hf_value_bool(&regex, &m[REGEX], true, err) || !hf_value_bool(&prefix, &m[PREFIX], false, err)
        || !hf_value_bool(&digits, &m[DIGITS], false, err))
        return false;
    if (hf_string_is(&type, "Sequence") && !inside)
        return add_sequence(steps, v, &m[INNER], err);
    if (hf_string_is(&type, "Split"))
        return add_split(steps, v, m, &type, err);
    if (hf_string_is(&type, "ByteLevel") && !prefix)
        str_text(steps, regex ? "B\n" : "b\n");
    else if (hf_string_is(&type, "Digits") && digits)
        str_text(steps, "D\n");
    else
        add_other(steps, &type);
    return true;
}

bool
pre_adds_bos(const char *pre)
{
    static const char *const names[] = {
        "llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "jina-v5-nano",
        "tekken", "chameleon"
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(pre, names[i]) == 0)
            return true;
    return false;
}

const char *
pre_steps(const char *split)
{
    for (size_t i = 0; i < KNOWN; i++)
        if (strcmp(known[i].split, split) == 0)
            return known[i].steps;
    return NULL;
}

/* Finds the name of a way of splitting: the family's, else `otherwise`. `split` is NULL for an unknown way. */
static const char *
pre_name_of(const struct vocab *v, const char *split, const char *otherwise)
{
    for (size_t i = 0; i < v->options->npre; i++) {
        const struct tokenizer_pre *row = &v->options->pre[i];
        if (strcmp(row->split, "*") == 0 || (split && strcmp(row->split, split) == 0))
            return row->name;
    }
    return otherwise;
}

const char *
pre_named(const struct vocab *v, const char *otherwise)
{
    const char *split = NULL;
    for (size_t i = 0; otherwise && !split && i < KNOWN; i++)
        if (strcmp(known[i].name, otherwise) == 0)
            split = known[i].split;
    if (v->options->pre_name)
        return v->options->pre_name;
    return pre_name_of(v, split, otherwise);
}

static bool
pre_unknown(const struct str *steps, const struct hf_value *pre_tokenizer, struct err *err)
{
    struct str shown = { 0 };
    str_add_escaped(&shown, str_or(steps->p, ""), steps->len < 1024 ? steps->len : 1024);
    err_at(err, ERR_UNSUPPORTED, pre_tokenizer->at, "%s: unknown pre-tokenizer; give its llama.cpp name with --pre, or convert "
        "without a tokenizer with --no-tokenizer; its steps are: %s", pre_tokenizer->file, str_or(shown.p, ""));
    str_clear(&shown);
    return false;
}

bool
pre_find(const char **pre, struct vocab *v, struct err *err)
{
    const struct hf_value *pre_tokenizer = &v->part[HF_PRE];
    struct str steps = { 0 };
    bool ignores_merges = false;
    const char *split = NULL;
    *pre = NULL;
    bool ok = hf_value_bool(&ignores_merges, &v->model[HF_IGNORE_MERGES], false, err)
        && add_step(&steps, v, pre_tokenizer, false, err);
    if (ok && steps.failed)
        ok = err_memory(err, steps.len);
    for (size_t i = 0; ok && i < KNOWN && !split; i++)
        if (steps.p && strcmp(steps.p, known[i].steps) == 0 && (ignores_merges || !known[i].ignores_merges)) {
            split = known[i].split;
            *pre = known[i].name;
        }
    if (ok) {
        *pre = pre_name_of(v, split, *pre);
        ok = *pre || pre_unknown(&steps, pre_tokenizer, err);
    }
    str_clear(&steps);
    return ok;
}
