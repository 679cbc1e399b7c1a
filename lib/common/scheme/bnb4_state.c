/* quant_state: a U8 tensor that holds a JSON object as text, written by Python's json.dumps:
 *
 *     {"quant_type": "nf4", "blocksize": 64, "dtype": "bfloat16", "shape": [4096, 11008],
 *      "nested_blocksize": 256, "nested_dtype": "float32", "nested_offset": 0.0805719643831253}
 *
 * The second line is present if absmax is quantized. nested_offset is an F32 value, printed with the digits of a double.
 * Python writes the words NaN and Infinity for these values. Source: bitsandbytes functional.py, QuantState.as_dict and
 * from_dict.
 */
#include "scheme/bnb4_state.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/num.h"
#include "base/pull.h"
#include "base/str.h"

enum {
    BLOB_MAX = 64 << 10,        /* real ones have fewer than 300 bytes */
    BLOCK_MIN = 32, BLOCK_MAX = 4096
};

enum { QUANT_TYPE, BLOCKSIZE, DTYPE, SHAPE, NESTED_BLOCKSIZE, NESTED_DTYPE, NESTED_OFFSET, KEYS };
static const char *const keys[KEYS] = {
    "quant_type", "blocksize", "dtype", "shape", "nested_blocksize", "nested_dtype", "nested_offset",
};

/* A blob while it is parsed. */
struct bnb4_reading {
    const struct tensor *blob;
    struct { const char *p; size_t n; } value[KEYS];        /* the raw JSON text; NULL: missing */
    struct err *err;
};

static bool
bnb4_state_wrong(const struct bnb4_reading *r, int key, const char *expected)
{
    char name[STR_SHOWN], value[STR_SHOWN] = "missing";
    if (r->value[key].p)
        str_shown(value, r->value[key].p, r->value[key].n);
    return err_at(r->err, ERR_MALFORMED, r->blob->extent.at, "tensor %s: %s is %s, expected %s",
        str_shown(name, r->blob->name, r->blob->name_len), keys[key], value, expected);
}

/* Returns true if the value is this text, quotes included. */
static bool
bnb4_state_is(const struct bnb4_reading *r, int key, const char *text)
{
    size_t n = strlen(text);
    return r->value[key].p && r->value[key].n == n && memcmp(r->value[key].p, text, n) == 0;
}

/* Starts reading the tokens of a value, and returns the first. */
static enum pull_token
open_value(struct pull *json, const struct bnb4_reading *r, int key)
{
    const char *p = r->value[key].p;
    pull_init(json, str_or(p, ""), p ? r->value[key].n : 0, 0);
    json->words = true;
    return pull_next(json);
}

static bool
read_type(struct bnb4_state *s, const struct bnb4_reading *r, const char *type)
{
    s->fp4 = bnb4_state_is(r, QUANT_TYPE, "\"fp4\"");
    if (!s->fp4 && !bnb4_state_is(r, QUANT_TYPE, "\"nf4\""))
        return bnb4_state_wrong(r, QUANT_TYPE, "\"nf4\" or \"fp4\"");
    if (type && s->fp4 != (strcmp(type, "fp4") == 0))
        return bnb4_state_wrong(r, QUANT_TYPE, s->fp4 ? "\"nf4\", as in the tensor's name" : "\"fp4\", as in the tensor's name");
    return true;
}

/* Checks the dtype of the original weight. It does not affect the output, whose dtype the user chooses. */
static bool
check_dtype(const struct bnb4_reading *r)
{
    return bnb4_state_is(r, DTYPE, "\"bfloat16\"") || bnb4_state_is(r, DTYPE, "\"float16\"") || bnb4_state_is(r, DTYPE, "\"float32\"")
        || bnb4_state_wrong(r, DTYPE, "\"bfloat16\", \"float16\" or \"float32\"");
}

static bool
read_blocksize(uint64_t *blocksize, const struct bnb4_reading *r, int key)
{
    struct pull json;
    uint64_t n;
    if (open_value(&json, r, key) != PULL_NUMBER || !pull_as_u64(&json, &n) || n < BLOCK_MIN || n > BLOCK_MAX
        || (n & (n - 1)) != 0)
        return bnb4_state_wrong(r, key, "a power of two from 32 to 4096");
    *blocksize = n;
    return true;
}

static bool
bnb4_state_read_shape(struct bnb4_state *s, const struct bnb4_reading *r, struct claims *c, const struct tensor *codes)
{
    struct pull json;
    enum pull_token token;
    if (open_value(&json, r, SHAPE) != PULL_ARRAY)
        return bnb4_state_wrong(r, SHAPE, "an array");
    uint64_t rank = 0, dim;
    uint8_t *packed = claims_alloc(c, LAYOUT_RANK * SHAPE_DIM, r->err), *end = packed;
    if (!packed)
        return false;
    for (; (token = pull_next(&json)) != PULL_ARRAY_END; rank++) {
        if (!limits_check(rank + 1, LAYOUT_RANK, "dimensions of a quant_state", r->err))
            return false;
        if (token != PULL_NUMBER || !pull_as_u64(&json, &dim))
            return bnb4_state_wrong(r, SHAPE, "non-negative integers");
        end += shape_pack(end, &dim, 1);
    }
    s->shape = (struct shape){ .rank = (uint32_t)rank, .packed = packed };
    if (shape_numel(&s->shape, &s->numel) && num_ceil_div(s->numel, 2) == codes->extent.nbytes)
        return true;
    char expected[STR_SHOWN + 64], name[STR_SHOWN];
    snprintf(expected, sizeof expected, "two elements for each of the %" PRIu64 " bytes of %s", codes->extent.nbytes,
        str_shown(name, codes->name, codes->name_len));
    return bnb4_state_wrong(r, SHAPE, expected);
}

static bool
read_nested(struct bnb4_state *s, const struct bnb4_reading *r)
{
    struct pull json;
    double offset;
    s->nested = r->value[NESTED_BLOCKSIZE].p || r->value[NESTED_DTYPE].p || r->value[NESTED_OFFSET].p;
    if (!s->nested)
        return true;
    if (!read_blocksize(&s->nested_blocksize, r, NESTED_BLOCKSIZE))
        return false;
    if (!bnb4_state_is(r, NESTED_DTYPE, "\"float32\""))
        return bnb4_state_wrong(r, NESTED_DTYPE, "\"float32\"");
    if (open_value(&json, r, NESTED_OFFSET) != PULL_NUMBER || !pull_as_double(&json, &offset))
        return bnb4_state_wrong(r, NESTED_OFFSET, "an F32 number");
    s->nested_offset = (float)offset;           /* rounded to nearest, as torch does */
    if (isinf(s->nested_offset) && isfinite(offset))
        return bnb4_state_wrong(r, NESTED_OFFSET, "an F32 number");
    return true;
}

static bool
not_an_object(const struct bnb4_reading *r, const struct pull *json)
{
    char name[STR_SHOWN], why[PULL_EXPLAIN];
    str_shown(name, r->blob->name, r->blob->name_len);
    if (json->fault == PULL_OK)
        return err_at(r->err, ERR_MALFORMED, r->blob->extent.at, "tensor %s: not a JSON object", name);
    return err_at(r->err, ERR_MALFORMED, r->blob->extent.at, "tensor %s: not valid JSON: %s", name,
        pull_explain(why, json));
}

/* Finds the values of the JSON object in text[0..n). */
static bool
parse(struct bnb4_reading *r, const char *text, size_t n)
{
    struct pull json;
    enum pull_token token;
    pull_init(&json, text, n, r->blob->extent.at);
    json.words = true;
    if (pull_next(&json) != PULL_OBJECT)
        return not_an_object(r, &json);
    while ((token = pull_next(&json)) == PULL_KEY) {
        int key = 0;
        while (key < KEYS && !pull_text_is(&json.token, keys[key]))
            key++;
        if (key < KEYS && r->value[key].p)
            return bnb4_state_wrong(r, key, "a single entry");
        const char *p;
        size_t len;
        if (!pull_value_text(&json, &p, &len))
            break;
        if (key < KEYS) {
            r->value[key].p = p;
            r->value[key].n = len;
        }
    }
    bool whole = json.fault == PULL_OK && token == PULL_OBJECT_END && pull_next(&json) == PULL_END;
    return whole || not_an_object(r, &json);
}

bool
bnb4_state_read(struct bnb4_state *s, struct claims *c, const struct tensor *blob, const char *type,
    const struct tensor *codes, struct err *err)
{
    struct bnb4_reading r = { .blob = blob, .err = err };
    const struct contents *contents = c->contents;
    uint64_t n = blob->extent.nbytes;
    *s = (struct bnb4_state){ 0 };
    if (!limits_check(n, BLOB_MAX, "bytes of a quant_state", err))
        return false;
    char *text = malloc(n + 1);
    bool ok = (text ? true : err_memory(err, n)) && contents->read(contents->of, blob, text, err)
        && parse(&r, text, (size_t)n) && read_type(s, &r, type) && read_blocksize(&s->blocksize, &r, BLOCKSIZE)
        && check_dtype(&r) && bnb4_state_read_shape(s, &r, c, codes) && read_nested(s, &r);
    free(text);
    return ok;
}
