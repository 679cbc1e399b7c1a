/* Layout: container/numpy/npy_header.c. Form: numpy/lib/format.py, _write_array_header() and _wrap_header(): a Python dict
 * with sorted keys, room for the first dimension to grow to 21 digits, at least one space and a newline, padded to a
 * multiple of 64.
 *
 *     \x93NUMPY  1 0  length of the rest (u16)  {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n
 *
 * BF16 is <V2, as ml_dtypes writes it, because NumPy has no such type. ml_dtypes gives all FP8 and smaller types one name,
 * so they are not written: their type would be lost.
 */
#include "writer/npy_priv.h"

#include <inttypes.h>
#include <string.h>

#include "writer/one_priv.h"
#include "writer/put.h"
#include "writer/writer.h"

enum { PREFIX = 10, ALIGN = 64, RANK_MAX = 64, GROWTH_DIGITS = 21 };

/* Returns the name of a type in a header, or NULL. */
static const char *
descr(enum dtype dtype)
{
    static const char *const names[DTYPE_COUNT] = {
        [DTYPE_BOOL] = "|b1", [DTYPE_U8] = "|u1", [DTYPE_I8] = "|i1", [DTYPE_I16] = "<i2", [DTYPE_U16] = "<u2",
        [DTYPE_F16] = "<f2", [DTYPE_BF16] = "<V2", [DTYPE_I32] = "<i4", [DTYPE_U32] = "<u4", [DTYPE_F32] = "<f4",
        [DTYPE_C64] = "<c8", [DTYPE_F64] = "<f8", [DTYPE_I64] = "<i8", [DTYPE_U64] = "<u8",
    };
    return names[dtype];
}

static bool
npy_measure(const struct tensor *t, uint64_t *nbytes, struct err *err)
{
    char name[STR_SHOWN], text[SHAPE_TEXT];
    bool whole;
    str_shown(name, t->name, t->name_len);
    if (!descr(t->dtype))
        return err_set(err, ERR_UNSUPPORTED, "tensor %s: NumPy has no type for %s", name, dtype_name(t->dtype));
    if (t->shape.rank > RANK_MAX)
        return err_set(err, ERR_UNSUPPORTED, "tensor %s: %" PRIu32 " dimensions exceed NumPy's limit of %d",
            name, t->shape.rank, RANK_MAX);
    return (shape_nbytes(&t->shape, t->dtype, nbytes, &whole) && whole && *nbytes <= INT64_MAX)
        || err_set(err, ERR_UNSUPPORTED, "tensor %s: shape %s is too large for a NumPy array", name,
            shape_text(text, &t->shape));
}

/* Appends the shape as a Python tuple. Returns the number of digits of its first dimension. */
static size_t
add_tuple(struct str *out, const struct shape *shape)
{
    const uint8_t *dims = shape->packed;
    size_t first = 0;
    str_text(out, "(");
    for (uint32_t i = 0; i < shape->rank; i++) {
        size_t before = out->len;
        str_format(out, "%" PRIu64, shape_next(&dims));
        if (i == 0)
            first = out->len - before;
        str_text(out, i + 1 < shape->rank ? ", " : shape->rank == 1 ? "," : "");
    }
    str_text(out, ")");
    return first;
}

bool
npy_header(struct str *out, const struct tensor *t, uint64_t *nbytes, struct err *err)
{
    static const char spaces[] = "                                                                ";
    struct str text = { 0 };
    if (!npy_measure(t, nbytes, err))
        return false;
    str_format(&text, "{'descr': '%s', 'fortran_order': False, 'shape': ", descr(t->dtype));
    size_t digits = add_tuple(&text, &t->shape);
    str_text(&text, ", }");
    if (t->shape.rank != 0 && digits < GROWTH_DIGITS)
        str_add(&text, spaces, GROWTH_DIGITS - digits);
    str_add(&text, spaces, ALIGN - (PREFIX + text.len + 1) % ALIGN);
    str_text(&text, "\n");
    str_add(out, "\x93NUMPY\x01\x00", 8);
    put(out, text.len, 2);
    str_add(out, text.p, text.len);
    out->failed = out->failed || text.failed;
    str_clear(&text);
    return true;
}

static bool
npy_lay_out(struct pieces *pieces, struct choice *choice, const struct writer_options *options, struct err *err)
{
    struct str header = { 0 };
    uint64_t nbytes;
    (void)options;
    if (!one_tensor(choice, "an NPY file", err))
        return false;
    const struct tensor t = chosen_tensor(&choice->list[0]);
    bool ok = npy_header(&header, &t, &nbytes, err)
        && (!header.failed || err_memory(err, header.len))
        && pieces_text(pieces, &header, err) && pieces_chosen(pieces, &choice->list[0], err);
    str_clear(&header);
    return ok;
}

const struct writer writer_npy = { .name = "NPY", .align = 1, .lay_out = npy_lay_out };
