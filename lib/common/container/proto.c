#include "container/proto.h"

#include "base/num.h"
#include "base/str.h"

enum { FIELDS_MAX = 64 };

/* The bytes of a message that are in view: [at, n) of `nbytes`. */
struct proto_view {
    const uint8_t *p;
    size_t at, n;
    uint64_t nbytes;
};

enum { WIRE_VARINT = 0, WIRE_LENGTH = 2, WIRE_FIXED = 5 };

static const uint8_t wires[] = { [PROTO_NUMBER] = WIRE_VARINT, [PROTO_FIXED] = WIRE_FIXED, [PROTO_TEXT] = WIRE_LENGTH,
    [PROTO_BYTES] = WIRE_LENGTH, [PROTO_MESSAGE] = WIRE_LENGTH };

/* Reads a varint. Sets *cut if the view ends in it. Returns false if it has more than ten bytes. */
static bool
read_varint(struct proto_view *v, uint64_t *out, bool *cut)
{
    *out = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        *cut = v->at == v->n;
        if (*cut)
            return true;
        uint8_t byte = v->p[v->at++];
        if (shift < 64)
            *out |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

/* The text may be cut off in its last character. */
static bool
is_text(const uint8_t *p, size_t n, bool whole)
{
    uint32_t code;
    for (size_t i = 0, len; i < n; i += len) {
        len = str_utf8_char((const char *)p + i, n - i, &code);
        if (len == 0)
            return !whole && n - i < 4 && p[i] >= 0xC2;
        if ((code < 0x20 && code != '\t' && code != '\n' && code != '\r') || code == 0x7F)
            return false;
    }
    return true;
}

static bool is_message(struct proto_view v, const struct proto_field *fields, bool outermost);

/* Checks a value with a length, and moves past it. */
static bool
check_value(struct proto_view *v, const struct proto_field *f, uint64_t nbytes)
{
    if (nbytes > v->nbytes - v->at)
        return false;
    size_t n = (size_t)num_min(nbytes, v->n - v->at);
    const struct proto_view inner = { .p = v->p + v->at, .n = n, .nbytes = nbytes };
    v->at += n;
    if (f->kind == PROTO_MESSAGE)
        return is_message(inner, f->of, false);
    return f->kind != PROTO_TEXT || is_text(inner.p, n, n == nbytes);
}

/* Reads one field, and marks it in *seen. */
static bool
check_field(struct proto_view *v, const struct proto_field *fields, uint64_t *seen)
{
    uint64_t tag, value;
    bool cut;
    size_t i = 0;
    if (!read_varint(v, &tag, &cut) || cut)
        return cut;
    while (i < FIELDS_MAX && fields[i].kind != PROTO_END && fields[i].number != tag >> 3)
        i++;
    const struct proto_field *f = &fields[i];
    if (i == FIELDS_MAX || f->kind == PROTO_END || wires[f->kind] != (tag & 7))
        return false;
    *seen |= UINT64_C(1) << i;
    if (f->kind == PROTO_FIXED) {
        v->at += num_min(4, v->n - v->at);
        return true;
    }
    return read_varint(v, &value, &cut) && (cut || f->kind == PROTO_NUMBER || check_value(v, f, value));
}

static bool
is_message(struct proto_view v, const struct proto_field *fields, bool outermost)
{
    uint64_t seen = 0;
    while (v.at < v.n)
        if (!check_field(&v, fields, &seen))
            return false;
    for (size_t i = 0; fields[i].kind != PROTO_END; i++)
        if (fields[i].needed && (outermost || v.n == v.nbytes) && !(seen >> i & 1))
            return false;
    return true;
}

bool
proto_is(const uint8_t *p, size_t n, const struct proto_field *fields)
{
    const struct proto_view v = { .p = p, .n = n, .nbytes = INT32_MAX };        /* no message is larger */
    return is_message(v, fields, true);
}
