/* metadata: values in the encoding of GGUF, read in place.
 *
 *      u8 .. f64   1, 2, 4 or 8 bytes; bool is one byte
 *      string      | length u64 | that many bytes |
 *      array       | type of its elements u32 | count u64 | the elements back to back |
 *
 * An array of arrays repeats the whole array form for each element. Source: ggml, docs/gguf.md.
 */
#include "catalog/metadata.h"

#include <string.h>

#include "base/cursor.h"
#include "base/num.h"

/* The array was walked once before, to find its end, with a stricter limit on depth. */
enum { CHECKED_DEPTH = 64 };

static const struct { const char *name; size_t size; } types[META_TYPES] = {
    [META_U8] = { "u8", 1 },      [META_I8] = { "i8", 1 },      [META_U16] = { "u16", 2 },
    [META_I16] = { "i16", 2 },    [META_U32] = { "u32", 4 },    [META_I32] = { "i32", 4 },
    [META_F32] = { "f32", 4 },    [META_BOOL] = { "bool", 1 },  [META_STRING] = { "str", 0 },
    [META_ARRAY] = { "arr", 0 },  [META_U64] = { "u64", 8 },    [META_I64] = { "i64", 8 },
    [META_F64] = { "f64", 8 },
};

size_t
meta_type_size(enum meta_type type)
{
    if ((unsigned)type < META_TYPES)
        return types[type].size;
    return 0;
}

const char *
meta_type_name(enum meta_type type)
{
    if ((unsigned)type < META_TYPES)
        return types[type].name;
    return "unknown";
}

const void *
meta_bytes(const struct meta_value *value, size_t *n)
{
    if (value->type == META_STRING) {
        *n = value->as.s.n;
        return value->as.s.p;
    }
    if (value->type == META_ARRAY) {
        *n = (size_t)value->as.a.nbytes;
        return value->as.a.p;
    }
    *n = 0;
    return NULL;
}

void
meta_move(struct meta_value *value, const void *p)
{
    if (value->type == META_STRING)
        value->as.s.p = p;
    else if (value->type == META_ARRAY)
        value->as.a.p = p;
}

bool
meta_as_u64(const struct meta_value *value, uint64_t *out)
{
    switch (value->type) {
    case META_U8:
    case META_U16:
    case META_U32:
    case META_U64:
        *out = value->as.u;
        return true;
    case META_I8:
    case META_I16:
    case META_I32:
    case META_I64:
        if (value->as.i < 0)
            return false;
        *out = (uint64_t)value->as.i;
        return true;
    default:
        return false;
    }
}

/* Reads the type and number of an array's elements. */
static bool
take_array_head(struct cursor *c, enum meta_type *type, uint64_t *count)
{
    uint32_t id = cursor_u32(c);
    *count = cursor_u64(c);
    *type = (enum meta_type)id;
    return !c->bad && id < META_TYPES;
}

/* Skips `count` elements. `depth` is the number of further array levels allowed. */
static bool
skip_elements(struct cursor *c, enum meta_type type, uint64_t count, unsigned depth)
{
    size_t size = meta_type_size(type);
    uint64_t nbytes;
    if (size != 0)
        return num_mul(&nbytes, count, size) && cursor_take(c, nbytes);
    if (type == META_STRING) {
        while (count != 0 && cursor_take(c, cursor_u64(c)))
            count--;
        return count == 0;
    }
    for (; count != 0; count--) {
        enum meta_type inner;
        uint64_t n;
        if (depth == 0 || !take_array_head(c, &inner, &n) || !skip_elements(c, inner, n, depth - 1))
            return false;
    }
    return true;
}

static bool
take_array(struct meta_array *a, struct cursor *c, unsigned depth)
{
    *a = (struct meta_array){ .big_endian = c->big };
    if (depth == 0 || !take_array_head(c, &a->type, &a->count))
        return false;
    a->p = c->p;
    uint64_t before = c->left;
    if (!skip_elements(c, a->type, a->count, depth - 1))
        return false;
    a->nbytes = before - c->left;
    return true;
}

static double
double_of_bits(uint64_t u)
{
    double d;
    memcpy(&d, &u, sizeof d);
    return d;
}

/* Copies bits, because a conversion would make a signalling NaN quiet. */
static double
double_of_f32(uint32_t u)
{
    if ((u & 0x7FFFFFFF) <= 0x7F800000)
        return (double)float_of_bits(u);
    return double_of_bits((uint64_t)(u >> 31) << 63 | UINT64_C(0x7FF) << 52 | (uint64_t)(u & 0x7FFFFF) << 29);
}

uint64_t
meta_float_bits(const struct meta_value *value)
{
    uint64_t u;
    memcpy(&u, &value->as.f, sizeof u);
    if (value->type == META_F64)
        return u;
    if ((u << 1) <= UINT64_C(0x7FF) << 53)
        return bits_of_float((float)value->as.f);
    return (u >> 63) << 31 | UINT64_C(0x7F800000) | (u >> 29 & 0x7FFFFF);
}

bool
meta_decode(struct meta_value *value, enum meta_type type, const uint8_t *p, uint64_t n, bool big_endian,
    unsigned depth, uint64_t *used)
{
    struct cursor c = { .p = p, .left = n, .big = big_endian };
    *value = (struct meta_value){ .type = type };
    switch (type) {
    case META_U8:   value->as.u = cursor_u8(&c); break;
    case META_I8:   value->as.i = (int8_t)cursor_u8(&c); break;
    case META_U16:  value->as.u = cursor_u16(&c); break;
    case META_I16:  value->as.i = (int16_t)cursor_u16(&c); break;
    case META_U32:  value->as.u = cursor_u32(&c); break;
    case META_I32:  value->as.i = (int32_t)cursor_u32(&c); break;
    case META_F32:  value->as.f = double_of_f32(cursor_u32(&c)); break;
    case META_BOOL: value->as.u = cursor_u8(&c) != 0; break;
    case META_U64:  value->as.u = cursor_u64(&c); break;
    case META_I64:  value->as.i = (int64_t)cursor_u64(&c); break;
    case META_F64:  value->as.f = double_of_bits(cursor_u64(&c)); break;
    case META_STRING:
        value->as.s.n = cursor_u64(&c);
        value->as.s.p = (const char *)cursor_take(&c, value->as.s.n);
        break;
    case META_ARRAY:
        if (!take_array(&value->as.a, &c, depth))
            return false;
        break;
    default:
        return false;
    }
    *used = n - c.left;
    return !c.bad;
}

struct meta_iter
meta_first(const struct meta_array *array)
{
    return (struct meta_iter){
        .p = array->p,
        .left = array->count,
        .nbytes = array->nbytes,
        .type = array->type,
        .big_endian = array->big_endian,
    };
}

bool
meta_next(struct meta_iter *it, struct meta_value *value)
{
    uint64_t used;
    if (it->left == 0
        || !meta_decode(value, it->type, it->p, it->nbytes, it->big_endian, CHECKED_DEPTH, &used))
        return false;
    it->p += used;
    it->nbytes -= used;
    it->left--;
    return true;
}

void
meta_add_type(struct str *s, const struct meta_value *value)
{
    if (value->type != META_ARRAY) {
        str_text(s, meta_type_name(value->type));
        return;
    }
    struct meta_iter it = meta_first(&value->as.a);
    struct meta_value item;
    str_text(s, "[");
    if (value->as.a.type != META_ARRAY)
        str_text(s, meta_type_name(value->as.a.type));
    else if (meta_next(&it, &item))
        meta_add_type(s, &item);
    str_text(s, "]");
}
