/* Recognised schemes of integers that call their scale weight_scale, and transformers' NVFP4: compressed-tensors,
 * ModelOpt, Quark, Gemma. */
#include "scheme/dim.h"
#include "scheme/table.h"

/* weight_shape, weight_scale, weight_zero_point, weight_g_idx. */
static bool
packed_fits(const struct found *f)
{
    const struct tensor *shape = f->with[0], *scale = f->with[1], *zero = f->with[2], *g_idx = f->with[3];
    uint64_t out = dim_rows(f->codes), groups = scale->shape.rank >= 2 ? dim_cols(scale) : 1;
    if (f->codes->shape.rank < 2 || dim_cols(shape) < 2 || !dim_scales_rows(scale, f->codes, out))
        return false;
    if (zero && zero->dtype == DTYPE_I8 && !dim_is_one(zero) && !dim_same_shape(zero, scale))
        return false;
    if (zero && zero->dtype == DTYPE_I32 && !dim_is_one(scale) && (dim_cols(zero) != groups || dim_rows(zero) > out))
        return false;
    return !g_idx || g_idx->shape.rank == 1;
}

/* Two rows of codes in a byte. */
static bool
is_int4(const struct found *f)
{
    const struct tensor *scale = f->with[0];
    return dim_same_experts(scale, f->codes) && dim_rows(scale) != 0 && dim_rows(scale) % 2 == 0
        && dim_rows(scale) / 2 == dim_rows(f->codes);
}

static bool
int4_fits(const struct found *f)
{
    return dim_covers(dim_cols(f->codes), dim_cols(f->with[0]));
}

/* Eight codes in three bytes. */
static bool
is_int3(const struct found *f)
{
    const struct tensor *scale = f->with[0];
    return dim_same_rows(scale, f->codes) && !dim_is_one(scale) && dim_cols(f->codes) % 3 == 0 && dim_cols(scale) != 0
        && dim_cols(f->codes) / 3 <= UINT64_MAX / 8 && dim_cols(f->codes) / 3 * 8 % dim_cols(scale) == 0;
}

/* One scale a row, beside codes of any width. */
static bool
is_by_rows(const struct found *f)
{
    return f->codes->shape.rank == 2 && dim_same_rows(f->with[0], f->codes) && dim_cols(f->with[0]) == 1
        && dim_rows(f->codes) > 1;
}

#define INT4_PARTS BESIDE(".weight_scale", FLOAT, EVIDENCE, SCALE), BESIDE(".weight_scale_2", FLOAT, OPTIONAL, SCALE), \
    BESIDE(".pre_quant_scale", FLOAT, OPTIONAL, SCALE), BESIDE(".weight_zero_point", ANY, OPTIONAL, ZERO_POINT)

const struct scheme block_schemes[] = {
    RECOGNISED("ct-marlin-24", "compressed-tensors marlin-24", {
        .codes = ".weight_packed", .dtypes = IS(I32), .becomes = ".weight", .left = LEFT_PACKED,
        .beside = { BESIDE(".scale_packed", ANY, EVIDENCE, SCALE), BESIDE(".meta", ANY, EVIDENCE, STATE) } }),
    RECOGNISED("ct-packed", "compressed-tensors pack-quantized", {
        .codes = ".weight_packed", .dtypes = IS(I32), .becomes = ".weight", .fits = packed_fits,
        .shapes = "[out, words], weight_scale of out rows, weight_zero_point of as many groups", .beside = {
            BESIDE(".weight_shape", IS(I64) | IS(I32), REQUIRED, SHAPE),
            BESIDE(".weight_scale", FLOAT, REQUIRED, SCALE),
            BESIDE(".weight_zero_point", IS(I32) | IS(I8), OPTIONAL, ZERO_POINT, .left = LEFT_SCALES),
            BESIDE(".weight_g_idx", IS(I32), OPTIONAL, G_IDX, .left = LEFT_SCALES) } }),
    RECOGNISED("nvfp4-transformers", "transformers NVFP4", {
        .codes = ".weight", .dtypes = FP4, .becomes = ".weight",
        .beside = { BESIDE(".weight_sf", ANY, EVIDENCE, SCALE) },
        ALSO(BELONGS(".weight_sf_rowmajor", SCALE), BELONGS(".weight_global_scale", SCALE)) }),
    RECOGNISED("gemma", "Gemma INT8, INT4 or INT2", {
        .codes = ".weight", .dtypes = IS(U8) | IS(I8), .becomes = ".weight", .beside = {
            BESIDE(".weight_scale", FLOAT, EVIDENCE, SCALE),
            BESIDE(".input_activation_scale", FLOAT, EVIDENCE, ACTIVATION),
            BESIDE(".output_activation_scale", FLOAT, OPTIONAL, ACTIVATION) } }, {
        .codes = ".embedding_quantized", .dtypes = IS(U8) | IS(I8), .becomes = ".weight",
        .beside = { BESIDE(".embedding_scale", FLOAT, EVIDENCE, SCALE) } }),
    RECOGNISED("gemma-or-int3", "Gemma INT4 or INT2, or Quark INT3", {
        .codes = ".weight", .dtypes = IS(U8), .becomes = ".weight", .is = is_by_rows, .beside = { INT4_PARTS } }),
    RECOGNISED("int4-modelopt", "ModelOpt INT4", {
        .codes = ".weight", .dtypes = IS(U8), .becomes = ".weight", .is = is_int4, .fits = int4_fits,
        .shapes = "[out/2, in], weight_scale [out, in/group]", .beside = { INT4_PARTS } }),
    RECOGNISED("int3-quark", "Quark INT3", {
        .codes = ".weight", .dtypes = IS(U8), .becomes = ".weight", .is = is_int3, .beside = { INT4_PARTS } }),
    RECOGNISED(NULL, "ModelOpt INT4, Quark INT3 or BitNet", {
        .codes = ".weight", .dtypes = IS(U8), .becomes = ".weight", .fits = table_never,
        .shapes = "the shapes of one of them", .beside = { INT4_PARTS } }),
    RECOGNISED("int4-quark", "Quark INT4 (reorder)", {
        .codes = ".weight", .dtypes = IS(I32), .becomes = ".weight", .beside = {
            BESIDE(".weight_scale", FLOAT, EVIDENCE, SCALE),
            BESIDE(".weight_zero_point", ANY, OPTIONAL, ZERO_POINT) } }),
    { 0 },
};
