/* The bytes of tokenizer.model, a protobuf message, for SentencePiece tokenizers ("llama"). Source:
 * sentencepiece_model.proto. */
#include "tokenizer/back_priv.h"

#include <string.h>

#include "base/bytes.h"
#include "tokenizer/sentencepiece.h"

/* Fields of the messages. */
enum {
    MODEL_PIECE = 1, MODEL_TRAINER = 2, MODEL_NORMALIZER = 3,
    PIECE_TEXT = 1, PIECE_SCORE = 2, PIECE_TYPE = 3,
    TRAINER_TYPE = 3, TRAINER_SIZE = 4, TRAINER_BYTE_FALLBACK = 35, TRAINER_UNK_ID = 40, TRAINER_BOS_ID = 41, TRAINER_EOS_ID = 42,
    TRAINER_PAD_ID = 43, TRAINER_UNK = 45, TRAINER_BOS = 46, TRAINER_EOS = 47, TRAINER_PAD = 48,
    NORMALIZER_NAME = 1, NORMALIZER_PREFIX = 3, NORMALIZER_EXTRA = 4, NORMALIZER_ESCAPE = 5
};

enum { TYPE_BPE = 2, BYTES = 256 };

static void
put_varint(struct str *out, uint64_t n)
{
    for (; n >= 0x80; n >>= 7)
        str_add(out, (const char[]){ (char)(n | 0x80) }, 1);
    str_add(out, (const char[]){ (char)n }, 1);
}

static void
put_number(struct str *out, unsigned field, uint64_t n)
{
    put_varint(out, (uint64_t)field << 3);
    put_varint(out, n);
}

static void
put_bytes(struct str *out, unsigned field, const char *p, size_t n)
{
    put_varint(out, (uint64_t)field << 3 | 2);
    put_varint(out, n);
    str_add(out, p, n);
}

void
back_piece_text(struct str *out, const struct back_token *t)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->type == TOKEN_USER_DEFINED && t->p[i] == ' ')
            str_text(out, "\xE2\x96\x81");
        else
            str_add(out, t->p + i, 1);
}

/* Appends a piece. `piece` and `text` are scratch memory. */
static void
put_piece(struct str *out, const struct back_token *t, enum token_type type, struct str *piece, struct str *text)
{
    uint8_t score[4];
    uint32_t bits;
    memcpy(&bits, &t->score, sizeof bits);
    for (unsigned i = 0; i < 4; i++)
        score[i] = (uint8_t)(bits >> 8 * i);
    piece->len = text->len = 0;
    back_piece_text(text, t);
    put_bytes(piece, PIECE_TEXT, str_or(text->p, ""), text->len);
    put_varint(piece, PIECE_SCORE << 3 | 5);
    str_add(piece, (const char *)score, sizeof score);
    if (type != TOKEN_NORMAL)
        put_number(piece, PIECE_TYPE, type);
    put_bytes(out, MODEL_PIECE, str_or(piece->p, ""), piece->len);
    out->failed = out->failed || piece->failed || text->failed;
}

/* Returns the id of the one token that SentencePiece requires for unknown text. */
static uint64_t
unknown_id(const struct back_tokens *tokens)
{
    if (tokens->role[BACK_UNK].n != 0)
        return tokens->id[BACK_UNK];
    uint64_t named = 0;
    for (size_t i = 0; i < tokens->n; i++) {
        const struct back_token *t = &tokens->list[i];
        if (t->type == TOKEN_UNKNOWN)
            return i;
        if (named == 0 && str_is(t->p, t->n, "<unk>"))
            named = i;
    }
    return named;
}

static void
put_role(struct str *out, const struct back_tokens *tokens, enum back_role role, unsigned id, unsigned text)
{
    const struct hf_string *s = &tokens->role[role];
    put_number(out, id, s->n != 0 ? tokens->id[role] : UINT64_MAX);     /* -1: none */
    if (s->n != 0)
        put_bytes(out, text, s->p, s->n);
}

/* Appends both specifications. */
static void
put_specs(struct str *out, const struct back_tokens *tokens, size_t n, uint64_t unknown, bool byte_fallback)
{
    struct str spec = { 0 };
    const struct back_token *t = &tokens->list[unknown];
    put_number(&spec, TRAINER_TYPE, TYPE_BPE);
    put_number(&spec, TRAINER_SIZE, n);
    put_number(&spec, TRAINER_BYTE_FALLBACK, byte_fallback);
    put_number(&spec, TRAINER_UNK_ID, unknown);
    put_role(&spec, tokens, BACK_BOS, TRAINER_BOS_ID, TRAINER_BOS);
    put_role(&spec, tokens, BACK_EOS, TRAINER_EOS_ID, TRAINER_EOS);
    put_role(&spec, tokens, BACK_PAD, TRAINER_PAD_ID, TRAINER_PAD);
    put_bytes(&spec, TRAINER_UNK, t->p, t->n);
    put_bytes(out, MODEL_TRAINER, str_or(spec.p, ""), spec.len);
    out->failed = out->failed || spec.failed;
    spec.len = 0;
    put_bytes(&spec, NORMALIZER_NAME, "identity", 8);
    put_number(&spec, NORMALIZER_PREFIX, tokens->has_space_prefix ? tokens->space_prefix : true);
    put_number(&spec, NORMALIZER_EXTRA, false);
    put_number(&spec, NORMALIZER_ESCAPE, true);
    put_bytes(out, MODEL_NORMALIZER, str_or(spec.p, ""), spec.len);
    out->failed = out->failed || spec.failed;
    str_clear(&spec);
}

/* Fails if the scores do not order the merges. */
static bool
check_scores(const struct back_tokens *tokens, struct err *err)
{
    const struct back_token *first = NULL;
    for (size_t i = 0; i < tokens->n; i++) {
        const struct back_token *t = &tokens->list[i];
        if (t->type != TOKEN_NORMAL)
            continue;
        if (first && t->score != first->score)
            return true;
        if (!first)
            first = t;
    }
    return err_set(err, ERR_UNSUPPORTED, "tokenizer.ggml.scores has one value for all tokens, so the order of merges is "
        "lost; --no-tokenizer writes the model without it");
}

bool
back_pieces_model(struct str *out, const struct back_tokens *tokens, struct err *err)
{
    struct str piece = { 0 }, text = { 0 };
    uint64_t unknown = unknown_id(tokens);
    size_t n = tokens->n, bytes = 0;
    if (!check_scores(tokens, err))
        return false;
    while (n > 0 && tokens->list[n - 1].type == TOKEN_UNUSED)
        n--;
    for (size_t i = 0; i < n; i++) {
        const struct back_token *t = &tokens->list[i];
        enum token_type type;
        if (i == unknown)
            type = TOKEN_UNKNOWN;
        else if (t->type == TOKEN_UNKNOWN)
            type = TOKEN_CONTROL;
        else
            type = t->type;
        bytes += type == TOKEN_BYTE;
        put_piece(out, t, type, &piece, &text);
    }
    put_specs(out, tokens, n, unknown, bytes == BYTES);
    str_clear(&piece);
    str_clear(&text);
    return true;
}
