/* "llama-json": a BPE over characters with byte fallback, the form of a SentencePiece model in tokenizer.json.
 *
 * The converter writes it as model "llama" with equal scores for all tokens, so llama.cpp has no order of merges. Here the
 * scores follow from the merges. llama.cpp merges any two symbols that together form a token, highest score first;
 * tokenizer.json merges only listed pairs. Both agree if the list contains every pair that forms a token.
 */
#include "tokenizer/vocabulary_priv.h"

#include <string.h>

static bool
is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F') || (c >= 'a' && c <= 'f');
}

static bool
is_byte(const struct vocab_token *t)
{
    return t->n == 6 && memcmp(t->p, "<0x", 3) == 0 && is_hex(t->p[3]) && is_hex(t->p[4]) && t->p[5] == '>';
}

/* Makes tokens special only by their role. */
static bool
only_roles(struct vocab *v, struct err *err)
{
    for (size_t i = 0; i < v->n; i++)
        v->token[i].special = false;
    struct bpe b = { .v = v };
    return roles_put(&b, true, err);
}

/* Returns the type of a token. With `by_flag`, an added token that is in the vocabulary has the type given by
 * tokenizer.json, as Gemma's tags and runs of spaces require. Without it, such a token is formed by merges, as in the
 * converter, which does not support Gemma. */
static enum token_type
llama_json_type_of(const struct vocab_token *t, bool in_vocab, bool by_flag)
{
    const struct hf_string text = { t->p, t->n };
    if (is_byte(t) && in_vocab)
        return TOKEN_BYTE;
    if (t->special || (by_flag && t->added && added_looks_special(&text)))
        return TOKEN_CONTROL;
    if (in_vocab && !(by_flag && t->added))
        return TOKEN_NORMAL;
    return TOKEN_USER_DEFINED;
}

/* --- differences of llama.cpp */

/* Counts the ways to split a token into two tokens that llama.cpp would merge. */
static size_t
count_splits(const struct vocab *v, const struct vocab_token *t)
{
    uint32_t code;
    size_t splits = 0, id;
    for (size_t i = str_utf8_char(t->p, t->n, &code); i != 0 && i < t->n; i += str_utf8_char(t->p + i, t->n - i, &code)) {
        const struct hf_string a = { t->p, i }, b = { t->p + i, t->n - i };
        splits += tokens_find(v, &a, &id) && tokens_find(v, &b, &id);
    }
    return splits;
}

static void
warn_of_splits(const struct vocab *v)
{
    size_t count = 0, first = 0;
    char shown[STR_SHOWN];
    for (size_t i = 0; i < v->n; i++) {
        const struct vocab_token *t = &v->token[i];
        if (!t->p || t->type != TOKEN_NORMAL || t->n > TOKEN_SPLIT_MAX || count_splits(v, t) <= t->merges)
            continue;
        if (count++ == 0)
            first = i;
    }
    if (count != 0)
        catalog_warn(v->options->warnings, "%s: llama.cpp may merge pairs that are not in its list of merges, into \"%s\" "
            "and %zu other tokens", v->json.file, str_shown(shown, v->token[first].p, v->token[first].n), count - 1);
}

/* --- the space before a text */

enum spaces { SPACES_NONE, SPACES_PREPENDED, SPACES_METASPACE, SPACES_FIRST };

enum { KIND, LIST, SCHEME, OLD_PREFIX, NAMES };

/* Determines what a step, or the steps of a Sequence, puts before a text. `list` is the name of the member with the steps. */
static bool
read_steps(enum spaces *spaces, struct vocab *v, const struct hf_value *step, const char *list, bool inside, struct err *err)
{
    const char *const names[NAMES] = { "type", list, "prepend_scheme", "add_prefix_space" };
    struct hf_value m[NAMES], one;
    struct hf_string kind, scheme;
    struct pull json;
    bool end, prefix;
    if (hf_value_kind(step) == PULL_NULL)
        return true;
    if (!hf_value_members(m, names, NAMES, step, err) || !hf_value_string(&kind, &v->chars, &m[KIND], err)
        || !hf_value_string(&scheme, &v->chars, &m[SCHEME], err) || !hf_value_bool(&prefix, &m[OLD_PREFIX], true, err))
        return false;
    if (hf_string_is(&kind, "Prepend"))
        *spaces = SPACES_PREPENDED;
    else if (hf_string_is(&kind, "Metaspace") && !hf_string_is(&scheme, "never") && (scheme.p || prefix))
        *spaces = hf_string_is(&scheme, "first") ? SPACES_FIRST : SPACES_METASPACE;
    if (!hf_string_is(&kind, "Sequence") || inside || !m[LIST].p)
        return true;
    if (!hf_array_begin(&json, &m[LIST], err))
        return false;
    while (hf_array_next(&one, &end, &json, &m[LIST], err) && !end)
        if (!read_steps(spaces, v, &one, list, true, err))
            return false;
    return err->kind == ERR_NONE;
}

/* Puts add_space_prefix = false if the tokenizer adds no space and tokenizer_config.json does not set a flag: by default,
 * llama.cpp adds a space before a text and after each special token. */
static bool
put_spaces(struct keys *keys, struct vocab *v, struct err *err)
{
    enum spaces spaces = SPACES_NONE;
    if (!read_steps(&spaces, v, &v->part[HF_NORMALIZER], "normalizers", false, err)
        || !read_steps(&spaces, v, &v->part[HF_PRE], "pretokenizers", false, err))
        return false;
    if (keys_find(keys, "tokenizer.ggml.add_space_prefix"))
        return true;
    if (spaces == SPACES_NONE)
        return keys_put_bool(keys, "tokenizer.ggml", "add_space_prefix", false, err);
    if (spaces != SPACES_PREPENDED && v->options->warnings)
        catalog_warn(v->options->warnings, "%s: llama.cpp adds a space even to text that starts with one%s", v->json.file,
            spaces == SPACES_FIRST ? " and to text after a special token" : "");
    return true;
}

/* --- all */

bool
llama_json_settle(struct bpe *b, bool by_flag, struct err *err)
{
    struct vocab *v = b->v;
    if (!by_flag && !only_roles(v, err))
        return false;
    for (size_t i = 0; i < b->next; i++) {
        struct vocab_token *t = &v->token[i];
        if (i >= v->n || !t->p)
            return err_set(err, ERR_MALFORMED, "%s: no token has id %zu", v->json.file, i);
        t->type = (uint8_t)llama_json_type_of(t, i < b->count, by_flag);
    }
    return true;
}

/* Sets the scores of all tokens. */
static bool
set_scores(struct vocab *v, const struct bpe *b, struct err *err)
{
    bpe_trim(v);
    for (size_t i = (size_t)b->next; i < v->n; i++)
        v->token[i].score = TOKEN_SCORE_ADDED;
    if (!merges_score(v, err))
        return false;
    if (v->options->warnings)
        warn_of_splits(v);
    return true;
}

bool
llama_json_put(struct keys *keys, struct vocab *v, bool by_flag, struct err *err)
{
    struct bpe b;
    return bpe_read(&b, v, "BPE", true, err)
        && llama_json_settle(&b, by_flag, err)
        && set_scores(v, &b, err)
        && put_spaces(keys, v, err)
        && tokens_put(keys, v, "llama", "default", true, err)
        && special_put(keys, v, b.next, err);
}
