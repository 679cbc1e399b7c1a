/* SentencePiece: tokenizer.model, with the added tokens of the files beside it. */
#include "tokenizer/vocabulary_priv.h"

#include <inttypes.h>

#include "base/num.h"

static void
set_token(struct vocab *v, size_t id, const struct hf_string *text, float score, enum token_type type)
{
    v->token[id] = (struct vocab_token){ .p = text->p, .n = (uint32_t)text->n, .score = score, .type = (uint8_t)type };
}

bool
spm_read_pieces(struct vocab *v, const struct hf_text *file, bool fits, struct err *err)
{
    struct sentencepieces pieces = { .file = file };
    struct sentencepiece piece;
    size_t room = 0, n = 0, unknown = 0;
    for (bool end = false;; n++) {
        if (!sentencepiece_next(&pieces, &piece, &end, err))
            return false;
        if (end)
            break;
        if (n == room && !tokens_resize(v, room = num_min(room == 0 ? 1024 : 2 * room, TOKENS_MAX + 1), err))
            return false;
        struct hf_string text = { piece.text, piece.n };
        if (v->internlm && text.n == 1 && text.p[0] == '\0')        /* a C string in llama.cpp */
            text = (struct hf_string){ "\xf0\x9f\x90\x89", 4 };
        enum token_type type = TOKEN_NORMAL;
        if (piece.type != TOKEN_USER_DEFINED)
            type = piece.type;
        set_token(v, n, &text, piece.score, type);
        unknown += type == TOKEN_UNKNOWN;
        if (!tokens_register(v, file->name, &text, n, piece.at, err))
            return false;
    }
    if (unknown != 1)
        return err_set(err, ERR_MALFORMED, "%s: expected one piece for unknown text, found %zu", file->name,
            unknown);
    uint64_t size = v->options->size;
    if (fits && size != 0 && n > size)
        return err_set(err, ERR_MALFORMED, "%s has %zu pieces, but config.json declares vocab_size %" PRIu64,
            file->name, n, size);
    v->n = n;
    return tokens_resize(v, size != 0 ? size : n, err);
}

bool
spm_add_texts(struct vocab *v, struct err *err)
{
    struct hf_value all;
    struct added_walk walk;
    struct added_token a;
    bool end;
    if (!hf_value_file(&all, &v->folder->file[HF_ADDED_TOKENS], err) || !added_begin(&walk, &all, HF_ADDED_IDS, err))
        return false;
    while (added_next(&walk, v, &a, &end, err) && !end) {
        if (a.id >= v->n)
            continue;
        if (v->token[a.id].added)
            return err_at(err, ERR_MALFORMED, a.at, "%s: duplicate id %" PRIu64 "", all.file, a.id);
        set_token(v, (size_t)a.id, &a.text, TOKEN_SCORE_ADDED, TOKEN_USER_DEFINED);
        v->token[a.id].added = true;
    }
    return err->kind == ERR_NONE;
}

/* Reads tokens described by objects; they replace the token with the same id. */
static bool
add_described(struct vocab *v, const struct hf_value *list, enum added_form form, struct err *err)
{
    struct added_walk walk;
    struct added_token a;
    bool end;
    if (!added_begin(&walk, list, form, err))
        return false;
    while (added_next(&walk, v, &a, &end, err) && !end) {
        if (a.id >= v->n && v->phi3)
            return err_at(err, ERR_MALFORMED, a.at, "%s: %s: id %" PRIu64 " is out of range for vocab_size %zu",
                list->file, list->name, a.id, v->n);
        if (a.id >= v->n)
            continue;
        bool special = a.special || (!v->phi3 && added_looks_special(&a.text));
        if (!special && !v->phi3 && !added_plain_spaces(&a.text, &v->chars, err))
            return false;
        set_token(v, (size_t)a.id, &a.text, TOKEN_SCORE_ADDED, special ? TOKEN_CONTROL : TOKEN_USER_DEFINED);
    }
    return err->kind == ERR_NONE;
}

bool
spm_put(struct keys *keys, struct vocab *v, struct err *err)
{
    static const char *const name[] = { "added_tokens_decoder" };
    struct hf_value decoder;
    return spm_read_pieces(v, &v->folder->file[HF_SENTENCEPIECE], v->phi3, err)
        && spm_add_texts(v, err)
        && hf_value_members(&decoder, name, 1, &v->config, err)
        && add_described(v, &decoder, HF_ADDED_BY_ID, err)
        && (!v->phi3 || add_described(v, &v->part[HF_ADDED], HF_ADDED_ARRAY, err))
        && tokens_put(keys, v, "llama", "default", true, err)
        && special_put(keys, v, v->n, err);
}
