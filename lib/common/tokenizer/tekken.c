/* tekken.json: Mistral's tokenizer, a byte-level BPE in the style of tiktoken.
 *
 * { "config": { "default_vocab_size", "default_num_special_tokens", "version" }, "vocab": [{ "rank", "token_bytes": base64
 * }], "special_tokens": [{ "rank", "token_str" }] }
 *
 * Special tokens have the first ids; files of an early version do not list them. The tokens of the vocabulary follow in the
 * order of ranks, up to default_vocab_size. All pairs that form a token are merges, in the order of ranks. Sources:
 * mistral_common's Tekkenizer; MistralVocab of gguf-py.
 */
#include "tokenizer/vocabulary_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/num.h"
#include "writer/put.h"

static const char ggml[] = "tokenizer.ggml";

enum { BYTES = 256 };

struct tekken {
    struct vocab *v;
    const char *file;
    uint64_t size, nspecial;
    struct hf_string version;
};

static bool
tekken_bad(const struct tekken *t, uint64_t at, const char *what, struct err *err)
{
    return err_at(err, ERR_MALFORMED, at, "%s: %s", t->file, what);
}

/* --- special tokens */

static void
set_special(struct vocab *v, size_t id, const char *p, size_t n)
{
    v->token[id] = (struct vocab_token){ .p = p, .n = (uint32_t)n, .type = TOKEN_CONTROL };
}

static bool
fill_special(struct tekken *t, size_t first, struct err *err)
{
    for (size_t id = first; id < t->nspecial; id++) {
        char *p = hf_chars_room(&t->v->chars, 32, err);
        if (!p)
            return false;
        set_special(t->v, id, p, (size_t)snprintf(p, 32, "<SPECIAL_%zu>", id));
    }
    return true;
}

static bool
read_special(struct tekken *t, const struct hf_value *list, struct err *err)
{
    static const char *const early[] = { "<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]",
        "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]", "[PREFIX]",
        "[MIDDLE]", "[SUFFIX]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]" };
    static const char *const names[] = { "token_str" };
    struct pull json;
    struct hf_value one, m;
    bool end;
    size_t n = 0, nearly = sizeof early / sizeof *early;
    if (!list->p || hf_value_kind(list) == PULL_NULL) {
        for (; n < nearly && n < t->nspecial; n++)
            set_special(t->v, n, early[n], strlen(early[n]));
        if (n == nearly)
            return fill_special(t, n, err);
        return tekken_bad(t, 0, "default_num_special_tokens is too small", err);
    }
    if (!hf_array_begin(&json, list, err))
        return false;
    while (hf_array_next(&one, &end, &json, list, err) && !end) {
        struct hf_string text;
        if (n == t->nspecial)
            return tekken_bad(t, one.at, "more special_tokens than default_num_special_tokens", err);
        if (!hf_value_members(&m, names, 1, &one, err) || !hf_value_string(&text, &t->v->chars, &m, err))
            return false;
        if (text.n == 0 || text.n > UINT32_MAX)
            return tekken_bad(t, one.at, "a special token has no text", err);
        set_special(t->v, n++, text.p, text.n);
    }
    return err->kind == ERR_NONE && fill_special(t, n, err);
}

/* --- the vocabulary */

static bool
read_vocab(struct tekken *t, const struct hf_value *list, struct err *err)
{
    static const char *const names[] = { "rank", "token_bytes" };
    struct pull json;
    struct hf_value one, m[2];
    bool end = false;
    uint64_t rank, id = t->nspecial;
    if (!hf_array_begin(&json, list, err))
        return false;
    for (; id < t->size && hf_array_next(&one, &end, &json, list, err) && !end; id++) {
        struct hf_string base64, text;
        if (!hf_value_members(m, names, 2, &one, err) || !hf_value_u64(&rank, &m[0], err)
            || !hf_value_string(&base64, &t->v->chars, &m[1], err)
            || !bytes_of_base64(&text, &t->v->chars, base64.p, base64.n, err))
            return false;
        if (text.n == 0)
            return tekken_bad(t, one.at, base64.n == 0 ? "a token has no bytes" : "token_bytes is not base64", err);
        if (rank != id - t->nspecial)
            return tekken_bad(t, one.at, "the ranks in vocab are not consecutive from 0", err);
        t->v->token[id] = (struct vocab_token){ .p = text.p, .n = (uint32_t)text.n, .type = TOKEN_NORMAL };
        if (text.n > TOKEN_SPLIT_MAX)
            return err_at(err, ERR_LIMIT, one.at, "%s: a token is longer than %d bytes", t->file, TOKEN_SPLIT_MAX);
        if (!tokens_register(t->v, t->file, &text, (size_t)id, one.at, err))
            return false;
    }
    return err->kind == ERR_NONE && (id == t->size || tekken_bad(t, list->at, "vocab has fewer tokens than config declares", err));
}

/* --- merges */

struct token_pair {
    uint32_t a, b;              /* ids; read_config() limits them to the file size */
};

static int
by_left(const void *x, const void *y)
{
    const struct token_pair *p = x, *q = y;
    return (p->a > q->a) - (p->a < q->a);
}

/* Appends the pairs that form a token, sorted by the rank of the left one. */
static bool
put_pairs(struct str *s, uint64_t *count, const struct tekken *t, size_t id, struct err *err)
{
    const struct vocab *v = t->v;
    const struct vocab_token *whole = &v->token[id];
    struct token_pair pair[TOKEN_SPLIT_MAX];
    size_t n = 0;
    for (size_t i = 1; i < whole->n; i++) {
        const struct hf_string a = { whole->p, i }, b = { whole->p + i, whole->n - i };
        size_t left, right;
        if (((uint8_t)whole->p[i] & 0xC0) != 0x80 && tokens_find(v, &a, &left) && tokens_find(v, &b, &right))
            pair[n++] = (struct token_pair){ (uint32_t)left, (uint32_t)right };
    }
    if (n == 0)
        return tekken_bad(t, ERR_NO_OFFSET, "a token in vocab is not the concatenation of two others", err);
    qsort(pair, n, sizeof *pair, by_left);
    for (size_t i = 0; i < n; i++, ++*count) {
        const struct vocab_token *a = &v->token[pair[i].a], *b = &v->token[pair[i].b];
        put(s, a->n + b->n + 1, 8);
        str_add(s, a->p, a->n);
        str_add(s, " ", 1);
        str_add(s, b->p, b->n);
    }
    return true;
}

static bool
put_merges(struct keys *keys, const struct tekken *t, struct err *err)
{
    struct str s = { .max = keys->max };
    uint64_t count = 0;
    bool ok = true;
    for (uint64_t id = t->nspecial + BYTES; ok && id < t->size; id++)
        ok = put_pairs(&s, &count, t, (size_t)id, err);
    ok = ok && (count == 0 || keys_put_array(keys, ggml, "merges", META_STRING, count, &s, err));
    str_clear(&s);
    return ok;
}

/* --- all */

static bool
put_role(struct keys *keys, const struct tekken *t, const char *text, const char *otherwise, const char *key, struct err *err)
{
    for (size_t pass = 0; pass < 2; pass++, text = otherwise)
        for (size_t id = 0; text && id < t->nspecial; id++) {
            const struct hf_string one = { t->v->token[id].p, t->v->token[id].n };
            if (hf_string_is(&one, text))
                return keys_put_u32(keys, ggml, key, (uint32_t)id, err);
        }
    return tekken_bad(t, ERR_NO_OFFSET, "missing special token: <s>, </s> or <unk>", err);
}

/* Puts llama.cpp's built-in chat template name for early versions. Later versions use the directory's own template, because
 * llama.cpp has theirs only as files. */
static bool
put_template(struct keys *keys, const struct tekken *t, struct err *err)
{
    static const char *const names[][2] = { { "v3", "mistral-v3-tekken" }, { "v7", "mistral-v7-tekken" } };
    static const char *const member[] = { "chat_template" };
    struct hf_value value;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (hf_string_is(&t->version, names[i][0]))
            return keys_put_text(keys, "tokenizer", "chat_template", names[i][1], strlen(names[i][1]), err);
    return hf_value_members(&value, member, 1, &t->v->config, err) && chat_template_put(keys, t->v, &value, err);
}

static bool
read_config(struct tekken *t, const struct hf_value *config, struct err *err)
{
    static const char *const names[] = { "default_vocab_size", "default_num_special_tokens", "version" };
    struct hf_value m[3];
    uint64_t all = t->v->options->size;
    if (!hf_value_members(m, names, 3, config, err) || !hf_value_u64(&t->size, &m[0], err)
        || !hf_value_u64(&t->nspecial, &m[1], err)
        || !hf_value_string(&t->version, &t->v->chars, &m[2], err))
        return false;
    if (t->size > t->v->folder->file[HF_TEKKEN].n || t->nspecial > t->size || t->size - t->nspecial < BYTES)
        return tekken_bad(t, config->at, "default_vocab_size or default_num_special_tokens is out of range", err);
    if (all != 0 && t->size > all)
        return err_at(err, ERR_MALFORMED, m[0].at, "%s has %" PRIu64 " tokens, but config.json declares vocab_size %" PRIu64,
            t->file, t->size, all);
    return tokens_resize(t->v, num_max(t->size, all), err);
}

bool
tekken_put(struct keys *keys, struct vocab *v, struct err *err)
{
    static const char *const names[] = { "config", "vocab", "special_tokens" };
    struct tekken t = { .v = v, .file = v->folder->file[HF_TEKKEN].name };
    struct hf_value whole, m[3];
    return hf_value_file(&whole, &v->folder->file[HF_TEKKEN], err)
        && hf_value_members(m, names, 3, &whole, err)
        && read_config(&t, &m[0], err)
        && read_special(&t, &m[2], err)
        && read_vocab(&t, &m[1], err)
        && tokens_put(keys, v, "gpt2", "tekken", true, err)
        && put_merges(keys, &t, err)
        && put_role(keys, &t, "<s>", NULL, "bos_token_id", err)
        && put_role(keys, &t, "</s>", NULL, "eos_token_id", err)
        && put_role(keys, &t, "<unk>", NULL, "unknown_token_id", err)
        && put_role(keys, &t, "<pad>", "</s>", "padding_token_id", err)
        && keys_put_bool(keys, ggml, "add_bos_token", true, err)
        && keys_put_bool(keys, ggml, "add_eos_token", false, err)
        && put_template(keys, &t, err);
}
