/* The tokens of a vocabulary by id, and their arrays in GGUF. */
#include "tokenizer/vocabulary_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "writer/put.h"

static const char ggml[] = "tokenizer.ggml";

static const char *
text_of(const void *owner, uint32_t id, size_t *n)
{
    const struct vocab *v = owner;
    *n = v->token[id].n;
    return v->token[id].p;
}

bool
tokens_resize(struct vocab *v, uint64_t n, struct err *err)
{
    if (n > TOKENS_MAX)
        return err_set(err, ERR_LIMIT, "%" PRIu64 " tokens exceed the limit of %d", n,
            TOKENS_MAX);
    size_t room = n != 0 ? (size_t)n : 1;
    struct vocab_token *token = realloc(v->token, room * sizeof *token);
    if (!token)
        return err_memory(err, room * sizeof *token);
    v->token = token;
    for (; v->n < n; v->n++)
        token[v->n] = (struct vocab_token){ .score = TOKEN_SCORE_PAD, .type = TOKEN_UNUSED };
    v->n = (size_t)n;
    return true;
}

bool
tokens_register(struct vocab *v, const char *file, const struct hf_string *text, size_t id, uint64_t at,
    struct err *err)
{
    uint32_t number = (uint32_t)id;
    bool again;
    char shown[STR_SHOWN];
    if (!table_add(&v->ids, text_of, v, text->p, text->n, &number, &again, err))
        return false;
    return !again || err_at(err, ERR_MALFORMED, at, "%s: duplicate token \"%s\"", file,
        str_shown(shown, text->p, text->n));
}

bool
tokens_find(const struct vocab *v, const struct hf_string *text, size_t *id)
{
    uint32_t number;
    if (!table_find(&v->ids, text_of, v, text->p, text->n, &number))
        return false;
    *id = number;
    return true;
}

static bool
put_tokens(struct keys *keys, const struct vocab *v, struct err *err)
{
    struct str s = { .max = keys->max };
    char pad[32];
    for (size_t i = 0; i < v->n; i++) {
        const struct vocab_token *t = &v->token[i];
        int npad = 0;
        if (!t->p)
            npad = snprintf(pad, sizeof pad, "[PAD%zu]", i);
        put_counted(&s, t->p ? t->p : pad, t->p ? t->n : (size_t)npad);
    }
    return keys_put_array(keys, ggml, "tokens", META_STRING, v->n, &s, err);
}

bool
tokens_put(struct keys *keys, const struct vocab *v, const char *model, const char *pre, bool scores,
    struct err *err)
{
    struct str types = { .max = keys->max }, all = { .max = keys->max };
    for (size_t i = 0; i < v->n; i++) {
        put(&types, v->token[i].type, 4);
        if (scores)
            put(&all, bits_of_float(v->token[i].score), 4);
    }
    bool ok = keys_put_text(keys, ggml, "model", model, strlen(model), err)
        && (!pre || keys_put_text(keys, ggml, "pre", pre, strlen(pre), err))
        && put_tokens(keys, v, err)
        && (!scores || keys_put_array(keys, ggml, "scores", META_F32, v->n, &all, err))
        && keys_put_array(keys, ggml, "token_type", META_I32, v->n, &types, err);
    str_clear(&types);
    str_clear(&all);
    return ok;
}
