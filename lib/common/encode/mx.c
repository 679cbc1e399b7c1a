/* Small floats with a scale for each block of columns, of compressed-tensors (ct) and ModelOpt; the weight is [out, in]:
 *
 *                     codes                           P.weight_scale          of the tensor
 *     mxfp4           P.weight_packed U8 [out, in/2]  U8 [out, in/32]
 *     modelopt-mxfp4  P.weight U8 [out, in/2]         U8 [out, in/32]
 *     mxfp8           P.weight F8_E4M3 [out, in]      U8 [out, in/32]
 *     nvfp4           P.weight_packed U8 [out, in/2]  F8_E4M3 [out, in/16]    P.weight_global_scale F32 [1]
 *     modelopt-nvfp4  P.weight U8 [out, in/2]         F8_E4M3 [out, in/16]    P.weight_scale_2 F32 []
 *
 * The even column is in the low nibble. A is the largest magnitude of the block, T that of the tensor, D the weight's type:
 *
 *     MXFP4, MXFP8    the scale is a power of two: kernel/encode_mx.h
 *     NVFP4, ct       g = RN_D(RN_D(1/T) * 2688), 1 if that is infinite; s = E4M3(g * RN_D(A/6)), 0.125 if that is 0;
 *                     code of x / RN32(s/g)
 *     NVFP4, ModelOpt s2 = T/2688; s = E4M3(A/(6 s2)), 1 if A/(6 s2) is 0, at least 2^-9; code of x / (s s2)
 *
 * Sources: compressed-tensors quantization/utils/helpers.py, generate_gparam and calculate_qparams; ModelOpt
 * torch/quantization/qtensor/nvfp4_tensor.py and mxfp4_tensor.py.
 */
#include "encode/mx.h"

#include <math.h>

#include "base/bytes.h"
#include "dtype/float8.h"
#include "encode/groups.h"
#include "kernel/encode_mx.h"
#include "kernel/rounded.h"

enum mx_kind { MXFP4, MXFP8, NVFP4 };

/* Parameters of an encoder. */
struct mx_numbers {
    enum mx_kind kind;
    bool modelopt;
};

enum { BLOCK_MX = 32, BLOCK_NV = 16 };

/* Code of a block's scale, and the factor of its codes. */
struct mx_block {
    uint8_t code;
    float scale;
};

static const struct mx_numbers *
numbers_of(const struct encoding *e)
{
    return e->encoder->numbers;
}

static uint32_t
block_of(const struct encoding *e)
{
    return numbers_of(e)->kind == NVFP4 ? BLOCK_NV : BLOCK_MX;
}

static bool
add_parts(struct encoding *e, struct err *err)
{
    const struct mx_numbers *n = numbers_of(e);
    uint32_t block = block_of(e), elems = groups_elems(e, block);
    const uint64_t one = 1, scale[2] = { e->rows, e->cols / block }, bytes[2] = { e->rows, e->cols / 2 },
        codes[2] = { e->rows, e->cols };
    if (n->kind == NVFP4 && !groups_part(e, n->modelopt ? ".weight_scale_2" : ".weight_global_scale", DTYPE_F32, &one,
        n->modelopt ? 0 : 1, 0, 4, err))
        return false;
    return groups_part(e, ".weight_scale", n->kind == NVFP4 ? DTYPE_F8_E4M3 : DTYPE_U8, scale, 2, block, 1, err)
        && (n->kind == MXFP8 ? groups_part(e, ".weight", DTYPE_F8_E4M3, codes, 2, elems, elems, err)
            : groups_part(e, n->modelopt ? ".weight" : ".weight_packed", DTYPE_U8, bytes, 2, elems, elems / 2, err));
}

static enum encode_fit
fit(struct encoding *e, const struct encode_options *options, struct err *err)
{
    const struct groups_choice choice = { .group = block_of(e), .symmetric = true };
    uint32_t block;
    enum encode_fit fit = groups_fit(e, options, &choice, &block, err);
    if (fit != ENCODE_YES)
        return fit;
    if (groups_elems(e, block) > ENCODE_FLOATS) {
        e->why = "rows longer than 131072 elements";
        return ENCODE_NO;
    }
    if (numbers_of(e)->kind == NVFP4)
        groups_absmax_fit(e);
    return add_parts(e, err) ? ENCODE_YES : ENCODE_FAIL;
}

/* --- NVFP4 */

static float
ct_global(enum dtype d, float most)
{
    float tiny = rounded_tiny(d), g = rounded(d, rounded(d, 1.0f / (most > tiny ? most : tiny)) * 2688.0f);
    return isfinite(g) ? g : 1.0f;
}

/* Returns the value of weight_global_scale or weight_scale_2. */
static float
tensor_scale(const struct encoding *e, const float *facts)
{
    return numbers_of(e)->modelopt ? facts[0] / 2688.0f : ct_global(groups_dtype(e), facts[0]);
}

static struct mx_block
nvfp4_ct(enum dtype d, float most, float global)
{
    float s = global * rounded(d, most / 6.0f);
    uint8_t code = e4m3_of_float(s > 448 ? 448 : s);
    struct mx_block b = { code != 0 ? code : 0x20, 0 };
    b.scale = float8_to_float(DTYPE_F8_E4M3, b.code) / global;
    return b;
}

/* For a tensor of zeros the product is 0, whatever the scale of the block. */
static struct mx_block
nvfp4_modelopt(float most, float scale_2)
{
    float s = scale_2 > 0 ? most / (6.0f * scale_2) : 0.0f;
    s = s == 0 ? 1.0f : s;
    struct mx_block b = { e4m3_of_float(s > 448 ? 448 : s < 0x1p-9f ? 0x1p-9f : s), 0 };
    b.scale = float8_to_float(DTYPE_F8_E4M3, b.code) * scale_2;
    return b;
}

/* --- all */

static struct mx_block
find(const struct encoding *e, const struct encode_run *run, const float *x)
{
    const struct mx_numbers *n = numbers_of(e);
    enum dtype d = groups_dtype(e);
    float most = run->kernels->encode_most(x, block_of(e));
    struct mx_block b = { 0 };
    if (n->kind == NVFP4)
        return n->modelopt ? nvfp4_modelopt(most, tensor_scale(e, run->facts))
            : nvfp4_ct(d, most, tensor_scale(e, run->facts));
    b.code = n->modelopt ? encode_mx_ceil(most / 6.0f) : encode_mx_nearest(most, n->kind == MXFP8 ? 8 : 2, d);
    b.scale = float8_e8m0(b.code);
    return b;
}

/* Encodes one block of MXFP8. */
static void
put_e4m3(const struct encode_run *run, uint8_t *y, float *back, const float *x, const struct mx_block *b, enum dtype d)
{
    run->kernels->encode_e4m3(y, x, BLOCK_MX, &(const struct encode_fp8){ .scale = b->scale, .adds_zero = true,
        .quotient = d });
    if (back)
        run->kernels->fp8_f32(back, BLOCK_MX, &(const struct fp8_rows){ .dtype = DTYPE_F8_E4M3, .rows = 1,
            .cols = BLOCK_MX, .x = y, .scales = &b->scale, .scale_cols = BLOCK_MX });
}

static void
put_codes(const struct encoding *e, const struct encode_run *run, uint64_t first, uint8_t *y)
{
    const struct mx_numbers *n = numbers_of(e);
    const enum dtype d = groups_dtype(e);
    uint32_t block = block_of(e);
    struct encode_e2m1 how = { .quotient = n->kind == MXFP4 && !n->modelopt ? d : DTYPE_F32,
        .rule = n->kind == MXFP4 && n->modelopt ? E2M1_DOWN : E2M1_PLAIN, .plus_zero = n->kind == NVFP4 && n->modelopt };
    for (size_t i = 0; i < run->n; i += block) {
        struct mx_block b = find(e, run, run->x + i);
        float *back = run->compare ? run->back + i : NULL;
        how.scale = b.scale;
        if (n->kind == MXFP8)
            put_e4m3(run, y, back, run->x + i, &b, d);
        else
            run->kernels->encode_e2m1(y, back, run->x + i, block, &how);
        y += n->kind == MXFP8 ? block : block / 2;
    }
    if (run->compare)
        run->compare(run->of, first, run->x, run->back, run->n);
}

static bool
encode(const struct encoding *e, const struct encode_run *run, unsigned part, uint64_t first, uint64_t count,
    uint8_t *y, struct err *err)
{
    (void)err;
    if (part + 1 == e->nparts) {
        put_codes(e, run, first * e->part[part].elems, y);
        return true;
    }
    if (part + 2 != e->nparts) {
        groups_store(y, DTYPE_F32, tensor_scale(e, run->facts));
        return true;
    }
    for (uint64_t i = 0; i < count; i++)
        y[i] = find(e, run, run->x + i * block_of(e)).code;
    return true;
}

static const struct mx_numbers mxfp4 = { MXFP4, false }, mxfp8 = { MXFP8, false }, nvfp4 = { NVFP4, false },
    mxfp4_modelopt = { MXFP4, true }, nvfp4_modelopt_row = { NVFP4, true };

#define MX(code, label_, numbers_) .name = code, .label = label_, .type = DTYPE_UNKNOWN, .numbers = &numbers_, .fit = fit, \
    .encode = encode
#define OF_TENSOR .survey = groups_absmax, .settle = groups_absmax_settle, .fuses = true

const struct encoder encode_mx[] = {
    { MX("mxfp4", "compressed-tensors MXFP4", mxfp4) },
    { MX("mxfp8", "compressed-tensors MXFP8", mxfp8) },
    { MX("nvfp4", "compressed-tensors NVFP4", nvfp4), OF_TENSOR },
    { MX("modelopt-mxfp4", "ModelOpt MXFP4", mxfp4_modelopt) },
    { MX("modelopt-nvfp4", "ModelOpt NVFP4", nvfp4_modelopt_row), OF_TENSOR },
    { .name = NULL },
};
