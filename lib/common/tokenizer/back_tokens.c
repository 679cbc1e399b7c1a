#include "tokenizer/back_tokens.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tokenizer/sentencepiece.h"
#include "tokenizer/vocabulary_priv.h"

#define KEYS "tokenizer.ggml."

static const struct {
    const char *key, *member;
} roles[BACK_ROLES] = {
    [BACK_BOS] = { KEYS "bos_token_id", "bos_token" }, [BACK_EOS] = { KEYS "eos_token_id", "eos_token" },
    [BACK_UNK] = { KEYS "unknown_token_id", "unk_token" }, [BACK_SEP] = { KEYS "seperator_token_id", "sep_token" },
    [BACK_PAD] = { KEYS "padding_token_id", "pad_token" }, [BACK_CLS] = { KEYS "cls_token_id", "cls_token" },
    [BACK_MASK] = { KEYS "mask_token_id", "mask_token" },
};

const char *
back_role_name(enum back_role role)
{
    return roles[role].member;
}

bool
back_tokens_are_bert(const struct back_tokens *tokens)
{
    return hf_string_is(&tokens->model, "bert") || hf_string_is(&tokens->pre, "modern-bert");
}

bool
back_token_is_special(const struct back_token *token)
{
    return token->type == TOKEN_CONTROL || token->type == TOKEN_UNKNOWN;
}

bool
back_token_is_added(const struct back_token *token)
{
    return back_token_is_special(token) || token->type == TOKEN_USER_DEFINED;
}

/* --- keys */

struct hf_string
back_key_string(const struct catalog *catalog, const char *key)
{
    const struct meta *m = catalog_meta_find(catalog, key);
    if (!m || m->value.type != META_STRING)
        return (struct hf_string){ 0 };
    return (struct hf_string){ m->value.as.s.p, m->value.as.s.n };
}

/* Returns the boolean of a key; *has is false if it is missing. */
static bool
back_key_bool(const struct catalog *catalog, const char *key, bool *has)
{
    const struct meta *m = catalog_meta_find(catalog, key);
    *has = m && m->value.type == META_BOOL;
    return *has && m->value.as.u != 0;
}

/* Sets *array to the array of a key, NULL if it is missing. Fails unless it has elements of this kind, and n of them. */
static bool
find_array(const struct meta_array **array, const struct catalog *catalog, const char *key, enum meta_type type,
    uint64_t n, struct err *err)
{
    const struct meta *m = catalog_meta_find(catalog, key);
    *array = NULL;
    if (!m)
        return true;
    if (m->value.type != META_ARRAY || m->value.as.a.type != type)
        return err_set(err, ERR_MALFORMED, "key %s is not an array of %s", key, meta_type_name(type));
    *array = &m->value.as.a;
    return m->value.as.a.count == n || n == UINT64_MAX || err_set(err, ERR_MALFORMED, "key %s has %" PRIu64
        " elements, expected %" PRIu64 ", one per token", key, m->value.as.a.count, n);
}

/* --- texts */

static const char *
text_of(const void *owner, uint32_t number, size_t *n)
{
    const struct back_tokens *tokens = owner;
    *n = tokens->list[number].n;
    return tokens->list[number].p;
}

/* Registers the text of a token. Fails if another token has the same. */
static bool
register_text(struct back_tokens *tokens, size_t id, struct err *err)
{
    const struct back_token *t = &tokens->list[id];
    uint32_t number = (uint32_t)id;
    bool again;
    char shown[STR_SHOWN];
    if (!table_add(&tokens->texts, text_of, tokens, t->p, t->n, &number, &again, err))
        return false;
    return !again || err_set(err, ERR_MALFORMED, "tokens %" PRIu32 " and %zu are both '%s'", number, id,
        str_shown(shown, t->p, t->n));
}

/* Turns a token of llama.cpp's WordPiece into a token of tokenizer.json: words lose their mark, and parts of words get one. */
static bool
unmark(struct back_tokens *tokens, struct back_token *t, struct err *err)
{
    static const char mark[] = "\xE2\x96\x81";          /* U+2581 */
    if (back_token_is_special(t) || t->type == TOKEN_UNUSED)
        return true;
    if (t->n >= 3 && memcmp(t->p, mark, 3) == 0) {
        t->p += 3;
        t->n -= 3;
        return true;
    }
    char *p = hf_chars_room(&tokens->chars, (size_t)t->n + 2, err);
    if (!p)
        return false;
    memcpy(p, "##", 2);
    memcpy(p + 2, t->p, t->n);
    t->p = p;
    t->n += 2;
    return true;
}

static bool
read_text(struct back_tokens *tokens, size_t id, const struct meta_value *value, bool pieces, struct err *err)
{
    struct back_token *t = &tokens->list[id];
    char shown[STR_SHOWN];
    if (value->as.s.n != 0)
        t->p = value->as.s.p;
    else
        t->p = "";
    if (value->as.s.n > META_KEY_MAX)
        return err_set(err, ERR_LIMIT, "token %zu has %zu bytes; built in: %d", id, value->as.s.n, META_KEY_MAX);
    t->n = (uint32_t)value->as.s.n;
    if (!str_is_utf8(t->p, t->n))
        return err_set(err, ERR_MALFORMED, "token %zu, '%s', is not UTF-8", id, str_shown(shown, t->p, t->n));
    return (!pieces || unmark(tokens, t, err)) && (t->type == TOKEN_UNUSED || register_text(tokens, id, err));
}

static bool
read_list(struct back_tokens *tokens, struct catalog *catalog, const struct meta_array *texts, struct err *err)
{
    const struct meta_array *types, *scores;
    bool pieces = hf_string_is(&tokens->model, "bert");
    if (texts->count > TOKENS_MAX)
        return err_set(err, ERR_LIMIT, "%" PRIu64 " tokens; built in: %d", texts->count, TOKENS_MAX);
    uint64_t size = texts->count * sizeof *tokens->list;
    if (!find_array(&types, catalog, KEYS "token_type", META_I32, texts->count, err)
        || !find_array(&scores, catalog, KEYS "scores", META_F32, texts->count, err)
        || !budget_bytes(catalog_budget(catalog), size, "bytes of tokens", err)
        || !table_reserve(&tokens->texts, texts->count, err))
        return false;
    tokens->list = calloc(texts->count + 1, sizeof *tokens->list);
    if (!tokens->list)
        return err_memory(err, size);
    tokens->n = texts->count;
    tokens->has_scores = scores != NULL;
    struct meta_iter text = meta_first(texts), type = { 0 }, score = { 0 };
    struct meta_value value;
    if (types)
        type = meta_first(types);
    if (scores)
        score = meta_first(scores);
    for (size_t i = 0; i < tokens->n; i++) {
        struct back_token *t = &tokens->list[i];
        t->type = TOKEN_NORMAL;
        if (types && meta_next(&type, &value) && value.as.i > 0 && value.as.i <= TOKEN_BYTE)
            t->type = (uint8_t)value.as.i;
        if (scores && meta_next(&score, &value))
            t->score = (float)value.as.f;
        if (!meta_next(&text, &value) || !read_text(tokens, i, &value, pieces, err))
            return false;
        if (!back_token_is_added(t) && t->type != TOKEN_UNUSED)
            tokens->covered = i + 1;
    }
    return true;
}

/* --- tags */

/* Returns true for "<...>" and "[...]". */
static bool
is_tag(const struct back_token *t)
{
    char last = 0;
    if (t->n > 2)
        last = t->p[t->n - 1];
    return t->type == TOKEN_NORMAL && ((last == '>' && *t->p == '<') || (last == ']' && *t->p == '['));
}

/* Marks the tokens that merges make. */
static bool
mark_made(bool *made, const struct back_tokens *tokens, struct err *err)
{
    struct meta_iter it = meta_first(tokens->merges);
    struct meta_value merge;
    struct str text = { 0 };
    while (meta_next(&it, &merge) && !text.failed) {
        const char *p = merge.as.s.p, *space = merge.as.s.n > 1 ? memchr(p + 1, ' ', merge.as.s.n - 1) : NULL;
        size_t first = 0;
        if (space)
            first = (size_t)(space - p);
        uint32_t id;
        if (first == 0)
            continue;
        text.len = 0;
        str_add(&text, p, first);
        str_add(&text, space + 1, merge.as.s.n - first - 1);
        if (!text.failed && table_find(&tokens->texts, text_of, tokens, text.p, text.len, &id))
            made[id] = true;
    }
    bool ok = !text.failed || err_memory(err, text.room);
    str_clear(&text);
    return ok;
}

bool
back_tokens_find_tags(struct back_tokens *tokens, struct err *err)
{
    bool *made = calloc(tokens->n + 1, sizeof *made), ok = made != NULL;
    if (!ok)
        return err_memory(err, tokens->n);
    ok = !tokens->merges || mark_made(made, tokens, err);
    for (size_t i = 0; ok && i < tokens->n; i++) {
        struct back_token *t = &tokens->list[i];
        const struct hf_string text = { t->p, t->n };
        bool pipe = t->n > 2 && (t->p[1] == '|' || t->p[t->n - 2] == '|');
        if (is_tag(t) && !made[i])
            t->type = pipe || added_looks_special(&text) ? TOKEN_CONTROL : TOKEN_USER_DEFINED;
    }
    free(made);
    return ok;
}

/* --- special tokens and flags */

static void
read_roles(struct back_tokens *tokens, struct catalog *catalog)
{
    for (size_t i = 0; i < BACK_ROLES; i++) {
        const struct meta *m = catalog_meta_find(catalog, roles[i].key);
        uint64_t id;
        if (!m || !meta_as_u64(&m->value, &id))
            continue;
        if (id >= tokens->n) {
            catalog_warn(catalog, "%s is %" PRIu64 ", but there are %zu tokens; it is left out", roles[i].key, id, tokens->n);
            continue;
        }
        if (tokens->list[id].type == TOKEN_UNUSED)
            continue;
        tokens->id[i] = id;
        tokens->role[i] = (struct hf_string){ tokens->list[id].p, tokens->list[id].n };
    }
}

static void
read_flags(struct back_tokens *tokens, const struct catalog *catalog)
{
    static const char *const keys[3] = { KEYS "add_bos_token", KEYS "add_eos_token", KEYS "add_sep_token" };
    bool has;
    for (size_t i = 0; i < 3; i++)
        tokens->add[i] = back_key_bool(catalog, keys[i], &tokens->has_add[i]);
    tokens->lowercase = back_key_bool(catalog, KEYS "normalizer.lowercase", &tokens->has_lowercase);
    if (!tokens->has_lowercase && hf_string_is(&tokens->model, "bert")) {     /* as llama.cpp assumes */
        tokens->has_lowercase = true;
        tokens->lowercase = !hf_string_is(&tokens->pre, "whitespace");
    }
    tokens->strip_accents = back_key_bool(catalog, KEYS "normalizer.strip_accents", &tokens->has_strip_accents);
    tokens->space_prefix = back_key_bool(catalog, KEYS "add_space_prefix", &tokens->has_space_prefix);
    tokens->removes_spaces = back_key_bool(catalog, KEYS "remove_extra_whitespaces", &has);
}

bool
back_tokens_read(struct back_tokens *tokens, struct catalog *catalog, struct err *err)
{
    const struct meta_array *texts;
    *tokens = (struct back_tokens){ .model = back_key_string(catalog, KEYS "model"),
        .pre = back_key_string(catalog, KEYS "pre") };
    if (!find_array(&texts, catalog, KEYS "tokens", META_STRING, UINT64_MAX, err)
        || !find_array(&tokens->merges, catalog, KEYS "merges", META_STRING, UINT64_MAX, err)
        || !find_array(&tokens->map, catalog, KEYS "precompiled_charsmap", META_U8, UINT64_MAX, err))
        return false;
    if (!texts || texts->count == 0)
        return true;
    if (!read_list(tokens, catalog, texts, err))
        return false;
    read_roles(tokens, catalog);
    read_flags(tokens, catalog);
    return true;
}

void
back_tokens_clear(struct back_tokens *tokens)
{
    table_clear(&tokens->texts);
    hf_chars_clear(&tokens->chars);
    free(tokens->list);
    *tokens = (struct back_tokens){ 0 };
}
