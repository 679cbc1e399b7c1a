/* ModelProto { 1: SentencePiece { 1: string piece, 2: float score = 0, 3: enum type = NORMAL }, repeated; 2 .. : settings }
 *
 * A field is a tag, varint of number << 3 | wire type, and a value: wire type 0 a varint, 1 eight bytes, 2 a varint length
 * and that many bytes, 5 four bytes. A varint has 7 bits per byte, low ones first; bit 7 is set in all bytes but the last,
 * and there are at most 10.
 */
#include "tokenizer/sentencepiece.h"

#include <inttypes.h>

#include "base/bytes.h"
#include "base/str.h"

enum wire { WIRE_VARINT, WIRE_8, WIRE_BYTES, WIRE_4 = 5 };
enum { MODEL_PIECE = 1, MODEL_TRAINER, MODEL_NORMALIZER, PIECE_TEXT = 1, PIECE_SCORE, PIECE_TYPE };
enum { TRAINER_TYPE = 3, TYPE_UNIGRAM = 1, NORMALIZER_MAP = 2, NORMALIZER_PREFIX, NORMALIZER_EXTRA };

/* Range of a message in the file. */
struct message {
    const struct hf_text *file;
    uint64_t at, end;
};

struct protobuf_field {
    uint64_t number, value;     /* value: of a varint or 4 bytes; the length of bytes */
    enum wire wire;
    uint64_t at;                /* offset of the bytes, or of the tag */
};

static bool
sentencepiece_bad(const struct message *m, uint64_t at, const char *what, struct err *err)
{
    return err_at(err, ERR_MALFORMED, at, "%s is not a SentencePiece model: %s", m->file->name, what);
}

static bool
read_varint(struct message *m, uint64_t *out, struct err *err)
{
    *out = 0;
    for (unsigned shift = 0; shift < 70 && m->at < m->end; shift += 7) {
        uint8_t byte = (uint8_t)m->file->p[m->at++];
        if (shift == 63 && byte > 1)
            return sentencepiece_bad(m, m->at - 1, "a number overflows 64 bits", err);
        *out |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return true;
    }
    return sentencepiece_bad(m, m->at, "truncated number", err);
}

static bool
read_field(struct message *m, struct protobuf_field *f, struct err *err)
{
    uint64_t tag, begin = m->at;
    if (!read_varint(m, &tag, err))
        return false;
    *f = (struct protobuf_field){ .number = tag >> 3, .wire = (enum wire)(tag & 7), .at = begin };
    if (f->number == 0 || f->number >= 1 << 29)
        return sentencepiece_bad(m, begin, "invalid field number", err);
    if (f->wire == WIRE_VARINT)
        return read_varint(m, &f->value, err);
    if (f->wire == WIRE_BYTES && !read_varint(m, &f->value, err))
        return false;
    uint64_t n = 4;
    if (f->wire == WIRE_BYTES)
        n = f->value;
    else if (f->wire == WIRE_8)
        n = 8;
    if (f->wire != WIRE_BYTES && f->wire != WIRE_8 && f->wire != WIRE_4)
        return sentencepiece_bad(m, begin, "unknown wire type", err);
    if (n > m->end - m->at)
        return sentencepiece_bad(m, begin, "a field extends past the end", err);
    f->at = m->at;
    if (f->wire == WIRE_4)
        f->value = load_le32((const uint8_t *)m->file->p + m->at);
    m->at += n;
    return true;
}

static bool
sentencepiece_take(struct sentencepiece *piece, struct message *m, const struct protobuf_field *f, struct err *err)
{
    static const enum wire wires[] = { [PIECE_TEXT] = WIRE_BYTES, [PIECE_SCORE] = WIRE_4, [PIECE_TYPE] = WIRE_VARINT };
    if (f->number > PIECE_TYPE)
        return true;
    if (f->wire != wires[f->number])
        return sentencepiece_bad(m, f->at, "a field of a piece has the wrong wire type", err);
    if (f->number == PIECE_TEXT) {
        piece->text = m->file->p + f->at;
        piece->n = (size_t)f->value;
    } else if (f->number == PIECE_SCORE)
        piece->score = float_of_bits((uint32_t)f->value);
    else if (f->value >= TOKEN_NORMAL && f->value <= TOKEN_BYTE)
        piece->type = (enum token_type)f->value;
    else
        return sentencepiece_bad(m, f->at, "a piece has an unknown type", err);
    return true;
}

static bool
read_piece(struct sentencepiece *piece, struct message m, struct err *err)
{
    struct protobuf_field f;
    *piece = (struct sentencepiece){ .type = TOKEN_NORMAL, .at = m.at };
    while (m.at < m.end)
        if (!read_field(&m, &f, err) || !sentencepiece_take(piece, &m, &f, err))
            return false;
    if (piece->n == 0)
        return sentencepiece_bad(&m, piece->at, "a piece has no text", err);
    return str_is_utf8(piece->text, piece->n) || sentencepiece_bad(&m, piece->at, "a piece is not UTF-8", err);
}

bool
sentencepiece_next(struct sentencepieces *pieces, struct sentencepiece *piece, bool *end, struct err *err)
{
    struct message all = { pieces->file, pieces->at, pieces->file->n };
    struct protobuf_field f = { 0 };
    while (all.at < all.end) {
        if (!read_field(&all, &f, err))
            return false;
        if (f.number != MODEL_PIECE)
            continue;
        pieces->at = all.at;
        *end = false;
        if (f.wire != WIRE_BYTES)
            return sentencepiece_bad(&all, f.at, "a piece is not a message", err);
        return read_piece(piece, (struct message){ pieces->file, f.at, f.at + f.value }, err);
    }
    *end = true;
    return true;
}

static bool
take_setting(struct sentencepiece_settings *settings, const struct message *m, const struct protobuf_field *f, bool trainer,
    struct err *err)
{
    bool map = !trainer && f->number == NORMALIZER_MAP, type = trainer && f->number == TRAINER_TYPE;
    bool flag = !trainer && (f->number == NORMALIZER_PREFIX || f->number == NORMALIZER_EXTRA);
    if ((map && f->wire != WIRE_BYTES) || ((type || flag) && f->wire != WIRE_VARINT))
        return sentencepiece_bad(m, f->at, "a setting has the wrong wire type", err);
    if (map) {
        settings->map = f->value != 0 ? m->file->p + f->at : NULL;
        settings->nmap = (size_t)f->value;
    } else if (type)
        settings->unigram = f->value == TYPE_UNIGRAM;
    else if (flag && f->number == NORMALIZER_PREFIX)
        settings->adds_prefix = f->value != 0;
    else if (flag)
        settings->removes_spaces = f->value != 0;
    return true;
}

bool
sentencepiece_settings(struct sentencepiece_settings *settings, const struct hf_text *file, struct err *err)
{
    struct message all = { file, 0, file->n };
    struct protobuf_field f = { 0 }, inner = { 0 };
    *settings = (struct sentencepiece_settings){ .unigram = true, .adds_prefix = true, .removes_spaces = true };
    while (all.at < all.end) {
        if (!read_field(&all, &f, err))
            return false;
        if ((f.number != MODEL_TRAINER && f.number != MODEL_NORMALIZER) || f.wire != WIRE_BYTES)
            continue;
        struct message m = { file, f.at, f.at + f.value };
        while (m.at < m.end)
            if (!read_field(&m, &inner, err) || !take_setting(settings, &m, &inner, f.number == MODEL_TRAINER, err))
                return false;
    }
    return true;
}
