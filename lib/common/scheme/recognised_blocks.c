/* Recognised integer schemes that name their scale weight_scale (compressed-tensors, ModelOpt, Quark, Gemma), and
 * transformers' NVFP4. */
#include "scheme/dim.h"
#include "scheme/table.h"

/* Matches eight codes in three bytes. */
static bool
is_int3(const struct table_match *f)
{
    const struct tensor *scale = f->with[0];
    return dim_same_rows(scale, f->codes) && !dim_is_one(scale) && dim_cols(f->codes) % 3 == 0 && dim_cols(scale) != 0
        && dim_cols(f->codes) / 3 <= UINT64_MAX / 8 && dim_cols(f->codes) / 3 * 8 % dim_cols(scale) == 0;
}

/* Matches one scale per row, with codes of any width. */
static bool
is_by_rows(const struct table_match *f)
{
    return f->codes->shape.rank == 2 && dim_same_rows(f->with[0], f->codes) && dim_cols(f->with[0]) == 1
        && dim_rows(f->codes) > 1;
}

/* Matches one scale per row, or per group along either dimension, with zero points of the same shape. */
static bool
is_uint8(const struct table_match *f)
{
    const struct tensor *scale = f->with[0], *zero = f->with[3];
    uint64_t rows = dim_rows(f->codes), cols = dim_cols(f->codes), n = dim_rows(scale), m = dim_cols(scale);
    return zero && f->codes->shape.rank == 2 && dim_same_shape(zero, scale) && n != 0 && m != 0
        && ((scale->shape.rank == 1 && m == rows) || (n == rows && cols % m == 0) || (m == cols && rows % n == 0));
}

#define INT4_PARTS COMPANION(".weight_scale", FLOAT, EVIDENCE, SCALE), COMPANION(".weight_scale_2", FLOAT, OPTIONAL, SCALE), \
    COMPANION(".pre_quant_scale", FLOAT, OPTIONAL, SCALE), COMPANION(".weight_zero_point", ANY, OPTIONAL, ZERO_POINT)

const struct scheme block_schemes[] = {
    DECLARED("ct-marlin-24", "compressed-tensors marlin-24",
        WORDS({ WORD_FORMAT, "marlin-24" }, { WORD_METHOD, "gptq_marlin_24" }), {
        .codes = ".weight_packed", .dtypes = IS(I32), .becomes = ".weight", .left = LEFT_PACKED,
        WITH(COMPANION(".scale_packed", ANY, EVIDENCE, SCALE), COMPANION(".meta", ANY, EVIDENCE, STATE)) }),
    DECLARED("nvfp4-transformers", "transformers NVFP4", WORDS({ WORD_METHOD, "nvfp4" }), {
        .codes = ".weight", .dtypes = FP4, .becomes = ".weight",
        WITH(COMPANION(".weight_sf", ANY, EVIDENCE, SCALE)),
        ALSO(BELONGS(".weight_sf_rowmajor", SCALE), BELONGS(".weight_global_scale", SCALE)) }),
    RECOGNISED("gemma-or-int3", "Gemma INT4 or INT2, or Quark INT3 or UINT8", {
        .codes = ".weight", .dtypes = IS(U8), .becomes = ".weight", .is = is_by_rows, WITH(INT4_PARTS) }),
    RECOGNISED("int3-quark", "Quark INT3", {
        .codes = ".weight", .dtypes = IS(U8), .becomes = ".weight", .is = is_int3, WITH(INT4_PARTS) }),
    RECOGNISED("uint8-quark", "Quark UINT8", {
        .codes = ".weight", .dtypes = IS(U8), .becomes = ".weight", .is = is_uint8, WITH(INT4_PARTS) }),
    RECOGNISED(NULL, "ModelOpt INT4, Quark INT3 or BitNet", {
        .codes = ".weight", .dtypes = IS(U8), .becomes = ".weight", .fits = table_never,
        .shapes = "the shapes of one of them", WITH(INT4_PARTS) }),
    ONLY_DECLARED("weights of ModelSlim that are rotated or have factors", { WORD_DESCRIPTION, "*FLATQUANT*" },
        { WORD_DESCRIPTION, "*SVD*" }),
    ONLY_DECLARED("sparse, compressed or other weights of ModelSlim", { WORD_DESCRIPTION, "W8A8S" },
        { WORD_DESCRIPTION, "W8A8SC" }, { WORD_DESCRIPTION, "W16A16SC" }, { WORD_DESCRIPTION, "W8A8_TIMESTEP" }, { WORD_DESCRIPTION, "W8A8_STATIC" },
        { WORD_DESCRIPTION, "W4A8_MXFP8" }, { WORD_DESCRIPTION, "NF4" }),
    ONLY_DECLARED("MixFP4", { WORD_FORMAT, "mixfp4-pack-quantized" }),
    ONLY_DECLARED("MXINT8 or another MX integer", { WORD_DATA_TYPE, "mx_int8" }, { WORD_DATA_TYPE, "mx_int2" },
        { WORD_DATA_TYPE, "mx_uint" }),
    ONLY_DECLARED("MXFP6 of AutoRound", { WORD_DATA_TYPE, "mx_fp6" }, { WORD_DATA_TYPE, "mx_fp6e3m2" },
        { WORD_DATA_TYPE, "mx_fp6e2m3" }),
    { 0 },
};
