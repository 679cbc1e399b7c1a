#include "writer/meta_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { F32_NAN = 0x7FC00000 };
#define F64_NAN (UINT64_C(0x7FF8) << 48)

static void
add_nan(struct str *s, const struct meta_value *v)
{
    uint64_t bits = meta_float_bits(v);
    if (bits == (v->type == META_F32 ? F32_NAN : F64_NAN))
        str_text(s, "NaN");
    else
        str_format(s, "\"NaN(%0*" PRIx64 ")\"", v->type == META_F32 ? 8 : 16, bits);
}

/* Appends a short decimal form that reads back as the same value. */
static void
add_float(struct str *s, const struct meta_value *v)
{
    double f = v->as.f;
    bool single = v->type == META_F32;
    char text[40];
    if (isnan(f)) {
        add_nan(s, v);
        return;
    }
    if (isinf(f)) {
        str_text(s, f < 0 ? "-Infinity" : "Infinity");
        return;
    }
    /* Token scores are mostly whole numbers, which need no search. */
    if (fabs(f) < 1e6 && f == (double)(int)f && !(f == 0 && signbit(f))) {
        str_format(s, "%d", (int)f);
        return;
    }
    for (int digits = single ? 6 : 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, f);
        if (single ? strtof(text, NULL) == (float)f : strtod(text, NULL) == f)
            break;
    }
    str_text(s, text);
}

/* Appends a string of type strx. */
static void
add_bytes(struct str *s, const char *p, size_t n)
{
    uint32_t code;
    for (size_t len; n != 0; p += len, n -= len) {
        len = str_utf8_char(p, n, &code);
        if (len == 0) {
            str_format(s, "\\x%02x", (unsigned)(uint8_t)*p);
            len = 1;
        } else if (*p == '\\') {
            str_text(s, "\\\\");
        } else {
            str_add(s, p, len);
        }
    }
}

/* Returns true if some string is not valid text; then all are of type strx. */
static bool
is_odd(const struct meta_array *a)
{
    struct meta_iter it = meta_first(a);
    struct meta_value item;
    while (a->type == META_STRING && meta_next(&it, &item))
        if (!str_is_utf8(item.as.s.p, item.as.s.n))
            return true;
    return false;
}

static void
add_quoted(struct str *s, const struct meta_value *v, bool odd)
{
    struct str text = { .max = s->max };
    if (odd)
        add_bytes(&text, v->as.s.p, v->as.s.n);
    str_text(s, "\"");
    str_add_json(s, odd ? text.p : v->as.s.p, odd ? text.len : v->as.s.n, false);
    str_text(s, "\"");
    s->failed = s->failed || text.failed;
    str_clear(&text);
}

static void
meta_text_add_value(struct str *s, const struct meta_value *v, bool odd)
{
    switch (v->type) {
    case META_U8: case META_U16: case META_U32: case META_U64:
        str_format(s, "%" PRIu64, v->as.u);
        break;
    case META_I8: case META_I16: case META_I32: case META_I64:
        str_format(s, "%" PRId64, v->as.i);
        break;
    case META_F32: case META_F64:
        add_float(s, v);
        break;
    case META_BOOL:
        str_text(s, v->as.u ? "true" : "false");
        break;
    case META_STRING:
        add_quoted(s, v, odd);
        break;
    default: {
        struct meta_iter it = meta_first(&v->as.a);
        struct meta_value item;
        odd = is_odd(&v->as.a);
        str_text(s, "[");
        for (uint64_t i = 0; !s->failed && meta_next(&it, &item); i++) {
            if (i != 0)
                str_text(s, ",");
            meta_text_add_value(s, &item, odd);
        }
        str_text(s, "]");
    }
    }
}

void
meta_text(struct str *s, const struct meta_value *value)
{
    if (value->type != META_STRING)
        meta_text_add_value(s, value, false);
    else if (str_is_utf8(value->as.s.p, value->as.s.n))
        str_add(s, value->as.s.p, value->as.s.n);
    else
        add_bytes(s, value->as.s.p, value->as.s.n);
}

/* --- types */

/* Returns true if all arrays in an array have the type of the first one, which is in `type`. */
static bool
is_uniform(const struct meta_array *a, struct str *type)
{
    struct meta_iter it = meta_first(a);
    struct meta_value item;
    struct str other = { 0 };
    bool same = true;
    if (meta_next(&it, &item))
        meta_text_type(type, &item);
    while (same && meta_next(&it, &item)) {
        other.len = 0;
        meta_text_type(&other, &item);
        same = str_compare(type->p, type->len, other.p, other.len) == 0;
        type->failed = type->failed || other.failed;
    }
    str_clear(&other);
    return same;
}

static void
add_types(struct str *s, const struct meta_array *a)
{
    struct str type = { .max = s->max };
    if (is_uniform(a, &type)) {
        str_add(s, type.p, type.len);
        s->failed = s->failed || type.failed;
    } else {
        struct meta_iter it = meta_first(a);
        struct meta_value item;
        for (uint64_t i = 0; !s->failed && meta_next(&it, &item); i++) {
            str_text(s, i != 0 ? "," : "");
            meta_text_type(s, &item);
        }
    }
    str_clear(&type);
}

void
meta_text_type(struct str *s, const struct meta_value *value)
{
    enum meta_type type;
    if (value->type == META_ARRAY)
        type = value->as.a.type;
    else
        type = value->type;
    bool odd;
    if (value->type == META_ARRAY)
        odd = is_odd(&value->as.a);
    else
        odd = type == META_STRING && !str_is_utf8(value->as.s.p, value->as.s.n);
    str_text(s, value->type == META_ARRAY ? "[" : "");
    if (type == META_ARRAY)
        add_types(s, &value->as.a);
    else
        str_format(s, "%s%s", meta_type_name(type), odd ? "x" : "");
    str_text(s, value->type == META_ARRAY ? "]" : "");
}
