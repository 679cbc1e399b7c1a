/* bitsandbytes INT8, in the layout that scheme/bnb8.c reads:
 *
 *     P.weight          [R, C] I8     rint(x * (127 / SCB)), x as F16
 *     P.SCB             [R] F32       the largest magnitude of the row
 *     P.weight_format   [] U8         0: row-major
 *
 * The formula is in kernel/encode_bnb.h. Sources: bitsandbytes backends/default/ops.py, int8_vectorwise_quant;
 * nn/modules.py, Linear8bitLt.
 */
#include "encode/table.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "dtype/half.h"

enum { CODES, SCB };

static enum encode_fit
bnb8_fit(struct encoding *e, const struct encode_options *options, struct err *err)
{
    static const uint8_t row_major[] = { 0 };
    size_t module = encode_module(e);
    if (!encode_plain(e, options, false, err))
        return ENCODE_FAIL;
    if (e->weight.shape.rank != 2 || module == e->weight.name_len) {
        e->why = "not the weight of a linear layer";
        return ENCODE_NO;
    }
    if (e->cols > ENCODE_FLOATS) {
        e->why = "rows longer than 131072 elements";
        return ENCODE_NO;
    }
    e->part[e->nparts++] = (struct encode_part){ .name = e->weight.name, .name_len = e->weight.name_len, .dtype = DTYPE_I8,
        .shape = e->weight.shape, .grain = (uint32_t)e->cols, .elems = (uint32_t)e->cols, .codes = true };
    struct encode_part *scb = encode_add_part(e, module, ".SCB", DTYPE_F32, &e->rows, 1, err);
    struct encode_part *format = NULL;
    if (scb)
        format = encode_add_part(e, module, ".weight_format", DTYPE_U8, NULL, 0, err);
    if (!format)
        return ENCODE_FAIL;
    scb->elems = scb->most = (uint32_t)e->cols;
    format->bytes = row_major;
    return ENCODE_YES;
}

/* Fails if a row of finite values, of which `most` is the largest, has an infinite absmax in F16, because all its codes would be 0. A row
 * with infinite values is encoded as in the reference. */
static bool
bnb8_check(const struct encoding *e, uint64_t row, float most, float absmax, struct err *err)
{
    char name[STR_SHOWN];
    return !isinf(absmax) || !isfinite(most) || err_set(err, ERR_UNSUPPORTED, "tensor %s: %g in row %" PRIu64 " exceeds 65504, "
        "the F16 limit of bitsandbytes INT8; skip the tensor with --exclude", str_shown(name, e->weight.name,
        e->weight.name_len), (double)most, row);
}

static bool
encode_codes(const struct encoding *e, const struct encode_run *run, uint64_t first, uint64_t count, uint8_t *y,
    struct err *err)
{
    size_t cols = (size_t)e->cols;
    for (size_t r = 0; r < count; r++) {
        const float *x = run->x + r * cols;
        uint8_t *codes = y + r * cols;
        float absmax = run->kernels->encode_int8_row((int8_t *)codes, x, cols);
        float most = absmax;
        if (isinf(absmax))
            run->kernels->encode_absmax(&most, x, cols, cols);
        if (!bnb8_check(e, first + r, most, absmax, err))
            return false;
        if (run->compare)
            run->kernels->int8_row_f32(run->back + r * cols, codes, cols, absmax);
    }
    if (run->compare)
        run->compare(run->of, first * cols, run->x, run->back, run->n);
    return true;
}

static bool
bnb8_encode(const struct encoding *e, const struct encode_run *run, unsigned part, uint64_t first, uint64_t count, uint8_t *y,
    struct err *err)
{
    if (part == CODES)
        return encode_codes(e, run, first, count, y, err);
    for (uint64_t i = 0; i < count; i++, y += sizeof(float)) {
        float absmax = half_to_float(half_of_float(run->most[i]));
        if (!bnb8_check(e, first + i, run->most[i], absmax, err))
            return false;
        memcpy(y, &absmax, sizeof absmax);
    }
    return true;
}

#define BNB8(code) { .name = code, .label = "bitsandbytes INT8", .held = KEEPS_CODES, .type = DTYPE_UNKNOWN, \
    .fit = bnb8_fit, .encode = bnb8_encode }

const struct encoder encode_bnb8[] = { BNB8("int8"), BNB8("bnb-int8"), { .name = NULL } };
