/* "wordpiece": a vocabulary of beginnings of words and, marked by "##", of their continuations. llama.cpp marks the beginnings
 * instead, with U+2581. Source: BertModel of convert_hf_to_gguf.py. */
#include "tokenizer/vocabulary_priv.h"

#include <stdio.h>
#include <string.h>

/* Marks the beginning of a word; padding is marked too. */
static bool
mark(struct vocab_token *t, size_t id, struct hf_chars *chars, struct err *err)
{
    char pad[32];
    size_t n;
    if (t->p)
        n = t->n;
    else
        n = (size_t)snprintf(pad, sizeof pad, "[PAD%zu]", id);
    char *text = hf_chars_room(chars, 3 + n, err);
    if (!text)
        return false;
    memcpy(text, "\xE2\x96\x81", 3);
    memcpy(text + 3, t->p ? t->p : pad, n);
    t->p = text;
    t->n = (uint32_t)(3 + n);
    return true;
}

static bool
mark_all(struct vocab *v, struct err *err)
{
    for (size_t i = 0; i < v->n; i++) {
        struct vocab_token *t = &v->token[i];
        if (t->type == TOKEN_CONTROL)
            continue;
        if (t->p && str_prefixed(t->p, t->n, "##")) {
            t->p += 2;
            t->n -= 2;
        } else if (!mark(t, i, &v->chars, err))
            return false;
    }
    return true;
}

/* Warns about added tokens that are not special: llama.cpp looks for them with the mark in front. */
static void
warn_of_marked(const struct vocab *v)
{
    size_t count = 0, first = 0;
    char shown[STR_SHOWN];
    for (size_t i = 0; i < v->n; i++)
        if (v->token[i].type == TOKEN_USER_DEFINED)
            first = count++ == 0 ? i : first;
    if (count != 0 && v->options->warnings)
        catalog_warn(v->options->warnings, "%s: llama.cpp does not find %zu added tokens in a text, because they are not special "
            "(first: \"%s\")", v->json.file, count, str_shown(shown, v->token[first].p, v->token[first].n));
}

bool
wordpiece_put(struct keys *keys, struct vocab *v, struct err *err)
{
    struct bpe b;
    if (!bpe_read(&b, v, "WordPiece", true, err) || !bpe_settle(&b, err))
        return false;
    warn_of_marked(v);
    return mark_all(v, err)
        && tokens_put(keys, v, "bert", pre_named(v, "bert-bge"), false, err)
        && special_put(keys, v, v->n, err);
}
