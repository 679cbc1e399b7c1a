/* quant_state: a U8 tensor with the text of a JSON object, as Python's json.dumps writes it:
 *
 *     {"quant_type": "nf4", "blocksize": 64, "dtype": "bfloat16", "shape": [4096, 11008],
 *      "nested_blocksize": 256, "nested_dtype": "float32", "nested_offset": 0.0805719643831253}
 *
 * The second line is there when absmax is quantized. nested_offset is an F32 value in the decimals of a double.
 * Source: bitsandbytes functional.py, QuantState.as_dict and from_dict.
 */
#include "scheme/bnb4_state.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/num.h"
#include "base/str.h"
#include "base/tree.h"

enum {
    BLOB_MAX = 64 << 10,        /* real ones have less than 300 bytes */
    BLOCK_MIN = 32, BLOCK_MAX = 4096
};

/* A blob while it is read. */
struct reading {
    const struct tensor *blob;
    json_t *root;               /* owned */
    struct err *err;
};

static bool
wrong(const struct reading *r, const char *key, const char *expected)
{
    char name[STR_SHOWN], value[STR_SHOWN] = "missing";
    const json_t *found = json_object_get(r->root, key);
    char text[STR_SHOWN];
    size_t n = found ? json_dumpb(found, text, sizeof text, JSON_ENCODE_ANY | JSON_COMPACT) : 0;
    if (n != 0)
        str_shown(value, text, num_min(n, sizeof text));
    return err_set(r->err, ERR_MALFORMED, r->blob->extent.at, "tensor %s: %s is %s, expected %s",
        str_shown(name, r->blob->name, r->blob->name_len), key, value, expected);
}

static bool
is_text(const struct reading *r, const char *key, const char *text)
{
    const char *found = json_string_value(json_object_get(r->root, key));
    return found && strcmp(found, text) == 0;
}

static bool
read_type(struct bnb4_state *s, const struct reading *r, const char *type)
{
    s->fp4 = is_text(r, "quant_type", "fp4");
    if (type && !is_text(r, "quant_type", type))
        return wrong(r, "quant_type", strcmp(type, "fp4") == 0 ? "\"fp4\", as in the tensor's name"
            : "\"nf4\", as in the tensor's name");
    return s->fp4 || is_text(r, "quant_type", "nf4") || wrong(r, "quant_type", "\"nf4\" or \"fp4\"");
}

/* The dtype that the weight had; the output's is the user's choice. */
static bool
check_dtype(const struct reading *r)
{
    return is_text(r, "dtype", "bfloat16") || is_text(r, "dtype", "float16") || is_text(r, "dtype", "float32")
        || wrong(r, "dtype", "\"bfloat16\", \"float16\" or \"float32\"");
}

static bool
read_blocksize(uint64_t *blocksize, const struct reading *r, const char *key)
{
    json_int_t n = json_integer_value(json_object_get(r->root, key));      /* 0 when it is no integer */
    if (n < BLOCK_MIN || n > BLOCK_MAX || (n & (n - 1)) != 0)
        return wrong(r, key, "a power of two from 32 to 4096");
    *blocksize = (uint64_t)n;
    return true;
}

static bool
read_shape(struct bnb4_state *s, const struct reading *r, struct claims *c, const struct tensor *codes)
{
    const json_t *list = json_object_get(r->root, "shape");
    size_t rank = json_array_size(list);
    if (!json_is_array(list))
        return wrong(r, "shape", "an array");
    if (!limits_check(rank, limits_default.rank, "dimensions of a quant_state", r->err))
        return false;
    uint8_t *packed = claims_alloc(c, rank * SHAPE_DIM, r->err), *end = packed;
    if (!packed)
        return false;
    for (size_t i = 0; i < rank; i++) {
        const json_t *item = json_array_get(list, i);
        if (!json_is_integer(item) || json_integer_value(item) < 0)
            return wrong(r, "shape", "integers from 0 on");
        uint64_t dim = (uint64_t)json_integer_value(item);
        end += shape_pack(end, &dim, 1);
    }
    s->shape = (struct shape){ .rank = (uint32_t)rank, .packed = packed };
    if (shape_numel(&s->shape, &s->numel) && num_ceil_div(s->numel, 2) == codes->extent.nbytes)
        return true;
    char expected[STR_SHOWN + 64], name[STR_SHOWN];
    snprintf(expected, sizeof expected, "two elements for each of the %" PRIu64 " bytes of %s", codes->extent.nbytes,
        str_shown(name, codes->name, codes->name_len));
    return wrong(r, "shape", expected);
}

static bool
read_nested(struct bnb4_state *s, const struct reading *r)
{
    static const char *const keys[] = { "nested_blocksize", "nested_dtype", "nested_offset" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        s->nested = s->nested || json_object_get(r->root, keys[i]);
    if (!s->nested)
        return true;
    if (!read_blocksize(&s->nested_blocksize, r, "nested_blocksize"))
        return false;
    if (!is_text(r, "nested_dtype", "float32"))
        return wrong(r, "nested_dtype", "\"float32\"");
    const json_t *offset = json_object_get(r->root, "nested_offset");
    s->nested_offset = (float)json_number_value(offset);        /* rounded to nearest, as torch does */
    return (json_is_number(offset) && isfinite(s->nested_offset)) || wrong(r, "nested_offset", "an F32 number");
}

/* The JSON object in text[0..n). */
static bool
parse(struct reading *r, const char *text, size_t n)
{
    char name[STR_SHOWN], what[STR_SHOWN + 16];
    snprintf(what, sizeof what, "tensor %s", str_shown(name, r->blob->name, r->blob->name_len));
    return tree_read(&r->root, text, n, what, r->err);
}

bool
bnb4_state_read(struct bnb4_state *s, struct claims *c, const struct tensor *blob, const char *type,
    const struct tensor *codes, struct err *err)
{
    struct reading r = { .blob = blob, .err = err };
    const struct contents *contents = claims_contents(c);
    uint64_t n = blob->extent.nbytes;
    *s = (struct bnb4_state){ 0 };
    if (!limits_check(n, BLOB_MAX, "bytes of a quant_state", err))
        return false;
    char *text = malloc(n + 1);
    bool ok = (text ? true : err_memory(err, n)) && contents->read(contents->of, blob, text, err)
        && parse(&r, text, (size_t)n) && read_type(s, &r, type) && read_blocksize(&s->blocksize, &r, "blocksize")
        && check_dtype(&r) && read_shape(s, &r, c, codes) && read_nested(s, &r);
    json_decref(r.root);
    free(text);
    return ok;
}
