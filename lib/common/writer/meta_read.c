/* The inverse of meta_text.c: text is encoded as GGUF stores the value (catalog/metadata.c), and then decoded as if it came
 * from a file. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "writer/meta_text.h"
#include "writer/put.h"

struct meta_reading {
    struct pull *json;
    struct str *out;
    struct str text;            /* of the current string; owned */
    const char *why;
};

static bool
no(struct meta_reading *r, const char *why)
{
    r->why = why;
    return false;
}

/* --- types */

/* Returns the type that the word at p names, or META_TYPES; *n: its length. */
static enum meta_type
word(const char *p, size_t *n, bool *odd)
{
    *n = strcspn(p, "[],");
    *odd = str_is(p, *n, "strx");
    for (unsigned type = 0; type < META_TYPES; type++) {
        const char *name = meta_type_name((enum meta_type)type);
        if (type != META_ARRAY && strlen(name) == *n - *odd && memcmp(p, name, *n - *odd) == 0)
            return (enum meta_type)type;
    }
    return META_TYPES;
}

/* Returns the position after a type, or NULL if it is not valid. */
static const char *
past_type(const char *p, uint64_t depth)
{
    size_t n;
    bool odd;
    if (*p != '[')
        return word(p, &n, &odd) != META_TYPES ? p + n : NULL;
    if (depth == 0 || p[1] == ']')
        return depth == 0 ? NULL : p + 2;
    do {
        bool array = p[1] == '[';
        p = past_type(p + 1, depth - 1);
        if (!p || (*p == ',' && (!array || p[1] != '[')))
            return NULL;
    } while (*p == ',');
    if (*p == ']')
        return p + 1;
    return NULL;
}

/* --- numbers */

static bool
put_integer(struct meta_reading *r, enum meta_type type)
{
    bool is_signed = type == META_I8 || type == META_I16 || type == META_I32 || type == META_I64;
    struct pull digits = *r->json;
    bool negative = digits.token.n != 0 && *digits.token.p == '-';
    size_t size = meta_type_size(type);
    uint64_t n, max = UINT64_MAX >> (64 - 8 * size) >> is_signed;
    digits.token.p += negative;
    digits.token.n -= negative;
    if (!pull_as_u64(&digits, &n))
        return no(r, "a number is not an integer, or does not fit in 64 bits");
    if (n > max + (is_signed && negative) || (negative && !is_signed && n != 0))
        return no(r, "a number is out of range for the type");
    put(r->out, negative ? 0 - n : n, size);
    return true;
}

static bool
put_float(struct meta_reading *r, enum meta_type type)
{
    char text[64];
    struct meta_value v = { .type = type };
    const struct pull_text *t = &r->json->token;
    if (t->n >= sizeof text)
        return no(r, "a number exceeds the limit of 63 characters");
    memcpy(text, t->p, t->n);
    text[t->n] = '\0';
    if (type == META_F32)
        v.as.f = (double)strtof(text, NULL);
    else
        v.as.f = strtod(text, NULL);
    if (isinf(v.as.f) && text[strspn(text, "-")] != 'I')
        return no(r, "a number is out of range for the type");
    if (isnan(v.as.f))
        put(r->out, type == META_F32 ? UINT64_C(0x7FC00000) : UINT64_C(0x7FF8) << 48, meta_type_size(type));
    else
        put(r->out, meta_float_bits(&v), meta_type_size(type));
    return true;
}

/* Appends a NaN with its bits: "NaN(ffc00000)". */
static bool
put_nan(struct meta_reading *r, enum meta_type type)
{
    size_t size = meta_type_size(type);
    const struct pull_text *t = &r->json->token;
    uint64_t bits = 0, magnitude = UINT64_MAX >> (65 - 8 * size);
    if (t->n != 5 + 2 * size || memcmp(t->p, "NaN(", 4) != 0 || t->p[t->n - 1] != ')')
        return no(r, "found a string, expected a number");
    for (const char *p = t->p + 4; *p != ')'; p++) {
        static const char hex[] = "0123456789abcdef";
        const char *digit = NULL;
        if (*p)
            digit = strchr(hex, *p);
        if (!digit)
            return no(r, "the bits of a NaN are not hexadecimal");
        bits = bits << 4 | (uint64_t)(digit - hex);
    }
    if ((bits & magnitude) <= (size == 4 ? UINT64_C(0x7F800000) : UINT64_C(0x7FF) << 52))
        return no(r, "the bits of a NaN encode a number");
    put(r->out, bits, size);
    return true;
}

/* --- strings */

/* Decodes \xHH and \\ in place. */
static bool
take_bytes(struct meta_reading *r)
{
    char *to = r->text.p;
    for (const char *p = to, *end = p + r->text.len; p < end;) {
        char hex[3] = "", *last;
        if (*p != '\\') {
            *to++ = *p++;
        } else if (end - p >= 2 && p[1] == '\\') {
            *to++ = '\\';
            p += 2;
        } else if (end - p >= 4 && p[1] == 'x' && memcpy(hex, p + 2, 2) && strspn(hex, "0123456789abcdef") == 2) {
            *to++ = (char)strtoul(hex, &last, 16);
            p += 4;
        } else {
            return no(r, "a backslash is not followed by another one or by xHH");
        }
    }
    r->text.len = (size_t)(to - r->text.p);
    return true;
}

/* Appends r->text as a GGUF string. */
static bool
put_text(struct meta_reading *r, bool odd)
{
    if (odd && r->text.len != 0 && !take_bytes(r))
        return false;
    put(r->out, r->text.len, 8);
    str_add(r->out, str_or(r->text.p, ""), r->text.len);
    return !r->text.failed || no(r, NULL);
}

static bool
put_string(struct meta_reading *r, bool odd)
{
    r->text.len = 0;
    str_add(&r->text, r->json->token.p, r->json->token.n);
    if (r->text.failed)
        return no(r, NULL);
    if (r->json->token.n != 0)
        r->text.len = pull_unescape(r->text.p, &r->json->token);
    return put_text(r, odd);
}

/* --- values */

static bool put_value(struct meta_reading *r, const char *type, enum pull_token token);

static bool
put_array(struct meta_reading *r, const char *type)
{
    size_t n;
    bool odd;
    const char *of = type + 1;          /* the type of the next element; NULL: no further element */
    enum meta_type is;
    if (*of == '[' || *of == ']')
        is = META_ARRAY;
    else
        is = word(of, &n, &odd);
    if (*of == ']')
        of = NULL;
    bool list = of && *past_type(of, PULL_DEPTH_MAX) == ',';
    enum pull_token token;
    uint64_t count = 0;
    put(r->out, is, 4);
    size_t at = r->out->len;
    put(r->out, 0, 8);
    for (; (token = pull_next(r->json)) != PULL_ARRAY_END; count++) {
        if (!of)
            return no(r, "an array has more elements than types");
        if (!put_value(r, of, token))
            return false;
        if (!list)
            continue;
        const char *past = past_type(of, PULL_DEPTH_MAX);
        of = *past == ',' ? past + 1 : NULL;
    }
    if (list && of)
        return no(r, "an array has fewer elements than types");
    if (count > META_ARRAY_MAX)
        return no(r, "an array exceeds GGUF's limit on elements");
    if (!r->out->failed)
        store_le64((uint8_t *)r->out->p + at, count);
    return !r->out->failed || no(r, NULL);
}

static bool
put_scalar(struct meta_reading *r, enum meta_type type, bool odd, enum pull_token token)
{
    bool is_float = type == META_F32 || type == META_F64;
    if (type == META_STRING)
        return token == PULL_STRING ? put_string(r, odd) : no(r, "not a string");
    if (type == META_BOOL) {
        put(r->out, token == PULL_TRUE, 1);
        return token == PULL_TRUE || token == PULL_FALSE || no(r, "neither true nor false");
    }
    if (is_float && token == PULL_STRING)
        return put_nan(r, type);
    if (token != PULL_NUMBER)
        return no(r, "not a number");
    if (is_float)
        return put_float(r, type);
    return put_integer(r, type);
}

/* Appends the value that begins with this token; the type must be valid. */
static bool
put_value(struct meta_reading *r, const char *type, enum pull_token token)
{
    size_t n;
    bool odd;
    if (token == PULL_BAD)
        return no(r, "not valid JSON");
    if (*type == '[')
        return token == PULL_ARRAY ? put_array(r, type) : no(r, "not an array");
    enum meta_type of = word(type, &n, &odd);
    return put_scalar(r, of, odd, token);
}

static bool
is_type(const char *type)
{
    const char *past = past_type(type, META_DEPTH_MAX);
    return past && *past == '\0';
}

/* Decodes the bytes appended so far into a value. */
static bool
meta_read_decode(struct meta_value *value, struct meta_reading *r, const char *type)
{
    size_t n;
    bool odd;
    uint64_t used;
    enum meta_type of = META_ARRAY;
    if (*type != '[')
        of = word(type, &n, &odd);
    return !r->out->failed && meta_decode(value, of, (const uint8_t *)r->out->p, r->out->len, false,
        (unsigned)META_DEPTH_MAX, &used);
}

static bool
meta_read_finish(struct meta_value *value, struct meta_reading *r, const char *type, bool ok, const char **why)
{
    ok = ok && meta_read_decode(value, r, type);
    *why = r->why;
    str_clear(&r->text);
    return ok;
}

bool
meta_read_json(struct meta_value *value, struct str *bytes, const char *type, struct pull *json, const char **why)
{
    struct meta_reading r = { .json = json, .out = bytes, .text.max = bytes->max };
    bool ok;
    if (is_type(type))
        ok = put_value(&r, type, pull_next(json));
    else
        ok = no(&r, "unknown type");
    return meta_read_finish(value, &r, type, ok, why);
}

bool
meta_read_text(struct meta_value *value, struct str *bytes, const char *type, const char *text, size_t n, const char **why)
{
    struct pull json;
    if (str_begins(type, "str") && is_type(type)) {
        struct meta_reading r = { .out = bytes, .text.max = bytes->max };
        str_add(&r.text, text, n);
        return meta_read_finish(value, &r, type, put_text(&r, type[3] == 'x'), why);
    }
    pull_init(&json, text, n, 0);
    json.words = true;
    if (!meta_read_json(value, bytes, type, &json, why))
        return false;
    *why = "trailing data after the value";
    return pull_next(&json) == PULL_END;
}
