/* Recognised schemes that call their scale weight_scale, and others of 4- and 6-bit floats with block scales:
 * compressed-tensors, ModelOpt, Quark, gpt-oss, BitNet, Gemma. */
#include "scheme/dim.h"
#include "scheme/swizzle.h"
#include "scheme/table.h"

static bool
nvfp4_fits(const struct found *f)
{
    return dim_scale_each(f->codes, f->with[0], 8) && dim_is_one_each(f->with[1], f->codes);
}

static bool
mxfp4_fits(const struct found *f)
{
    return dim_scale_each(f->codes, f->with[0], 16);
}

static bool
mxfp6_fits(const struct found *f)
{
    return dim_scale_each(f->codes, f->with[0], 24);
}

/* The order of the scales in weight_scale. */
static bool
is_swizzled(const struct found *f)
{
    return swizzle_of(f->claims, f->codes, f->with[0]) == GRID_SWIZZLED;
}

static bool
is_comfy(const struct found *f)
{
    return claims_told(f->claims, SCHEME_NVFP4_COMFY) && is_swizzled(f);
}

static bool
is_either(const struct found *f)
{
    return swizzle_of(f->claims, f->codes, f->with[0]) == GRID_EITHER;
}

/* Plain, or experts stored transposed: codes [E, in/2, out], scales [E, in/16, out]. */
static bool
modelopt_fits(const struct found *f)
{
    const struct tensor *scale = f->with[0];
    bool transposed = f->codes->shape.rank == 3 && dim_same_experts(scale, f->codes)
        && dim_cols(scale) == dim_cols(f->codes) && dim_rows(f->codes) % 8 == 0
        && dim_rows(scale) == dim_rows(f->codes) / 8;
    return (transposed || swizzle_of(f->claims, f->codes, scale) == GRID_PLAIN)
        && dim_is_one_each(f->with[1], f->codes);
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

static bool
is_bitnet(const struct found *f)
{
    return f->codes->shape.rank == 2 && dim_is_one(f->with[0]);
}

/* X_blocks [..., G, 16], X_scales [..., G]. */
static bool
gptoss_fits(const struct found *f)
{
    const struct shape *blocks = &f->codes->shape, *scales = &f->with[0]->shape;
    return blocks->rank >= 2 && scales->rank == blocks->rank - 1 && shape_dim(blocks, blocks->rank - 1) == 16
        && shape_same(blocks, scales, scales->rank);
}

#define NVFP4_PARTS BESIDE(".weight_scale", IS(F8_E4M3), EVIDENCE, SCALE), \
    BESIDE(".weight_scale_2", IS(F32), REQUIRED, SCALE, .left = LEFT_SCALES), \
    BESIDE(".pre_quant_scale", FLOAT, OPTIONAL, SCALE)

#define INT4_PARTS BESIDE(".weight_scale", FLOAT, EVIDENCE, SCALE), BESIDE(".weight_scale_2", FLOAT, OPTIONAL, SCALE), \
    BESIDE(".pre_quant_scale", FLOAT, OPTIONAL, SCALE), BESIDE(".weight_zero_point", ANY, OPTIONAL, ZERO_POINT)

#define E8M0_PARTS BESIDE(".weight_scale", E8M0, EVIDENCE, SCALE)

const struct scheme block_schemes[] = {
    RECOGNISED("ct-marlin-24", "compressed-tensors marlin-24", {
        .codes = ".weight_packed", .dtypes = IS(I32), .becomes = ".weight", .left = LEFT_PACKED,
        .beside = { BESIDE(".scale_packed", ANY, EVIDENCE, SCALE), BESIDE(".meta", ANY, EVIDENCE, STATE) } }),
    RECOGNISED("ct-nvfp4", "compressed-tensors NVFP4", {
        .codes = ".weight_packed", .dtypes = FP4, .becomes = ".weight", .fits = nvfp4_fits,
        .shapes = "[out, in/2], weight_scale [out, in/16], one weight_global_scale", .beside = {
            BESIDE(".weight_scale", IS(F8_E4M3), EVIDENCE, SCALE),
            BESIDE(".weight_global_scale", IS(F32), REQUIRED, SCALE, .left = LEFT_SCALES) } }),
    RECOGNISED("ct-mxfp4", "compressed-tensors MXFP4", {
        .codes = ".weight_packed", .dtypes = FP4, .becomes = ".weight", .fits = mxfp4_fits,
        .shapes = "[out, in/2], weight_scale [out, in/32]", .beside = { E8M0_PARTS } }),

    RECOGNISED("nvfp4-svd", "ModelOpt NVFP4_SVD", {
        .codes = ".weight", .dtypes = FP4 | FLOAT8, .becomes = ".weight",
        .beside = { BESIDE(".svdquant_lora_a", ANY, EVIDENCE, STATE, .left = LEFT_SCALES),
            BESIDE(".svdquant_lora_b", ANY, OPTIONAL, STATE, .left = LEFT_SCALES) },
        ALSO(BELONGS(".weight_scale", SCALE), BELONGS(".weight_scale_2", SCALE), BELONGS(".pre_quant_scale", SCALE)) }),
    RECOGNISED(SCHEME_NVFP4_COMFY, "ComfyUI nvfp4", {
        .codes = ".weight", .dtypes = FP4, .becomes = ".weight", .is = is_comfy, .beside = { NVFP4_PARTS } }),
    { .code = "nvfp4-swizzled", .name = "NVFP4 in ComfyUI's order, without its marker", .describe = table_describe,
        .ask = "--scheme " SCHEME_NVFP4_COMFY " says that it is", ROWS({
        .codes = ".weight", .dtypes = FP4, .becomes = ".weight", .is = is_swizzled, .beside = { NVFP4_PARTS } }) },
    { .code = "nvfp4-either", .name = "NVFP4 of ModelOpt or ComfyUI", .describe = table_describe,
        .ask = "config.json, or --scheme " SCHEME_NVFP4 " or " SCHEME_NVFP4_COMFY ", can tell which", ROWS({
        .codes = ".weight", .dtypes = FP4, .becomes = ".weight", .is = is_either, .beside = { NVFP4_PARTS } }) },
    RECOGNISED(SCHEME_NVFP4, "ModelOpt NVFP4", {
        .codes = ".weight", .dtypes = FP4, .becomes = ".weight", .fits = modelopt_fits,
        .shapes = "[out, in/2], weight_scale [out, in/16], one weight_scale_2", .beside = { NVFP4_PARTS } }),
    RECOGNISED("mxfp4", "MXFP4", {
        .codes = ".weight", .dtypes = FP4, .becomes = ".weight", .is = mxfp4_fits, .beside = { E8M0_PARTS } }),
    RECOGNISED("mxfp6", "Quark MXFP6", {
        .codes = ".weight", .dtypes = IS(U8), .becomes = ".weight", .is = mxfp6_fits, .beside = { E8M0_PARTS } }),
    RECOGNISED(NULL, "MXFP4 or MXFP6", {
        .codes = ".weight", .dtypes = FP4, .becomes = ".weight", .fits = table_never,
        .shapes = "16 or 24 bytes of codes for each weight_scale", .beside = { E8M0_PARTS } }),
    RECOGNISED("bitnet", "BitNet", {
        .codes = ".weight", .dtypes = IS(U8), .becomes = ".weight", .is = is_bitnet,
        .beside = { BESIDE(".weight_scale", FLOAT, EVIDENCE, SCALE) } }),
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
    RECOGNISED("int3-quark", "Quark INT3", {
        .codes = ".weight", .dtypes = IS(U8), .becomes = ".weight", .is = is_int3, .beside = { INT4_PARTS } }),
    RECOGNISED(NULL, "ModelOpt INT4, Quark INT3 or BitNet", {
        .codes = ".weight", .dtypes = IS(U8), .becomes = ".weight", .fits = table_never,
        .shapes = "the shapes of one of them", .beside = { INT4_PARTS } }),
    RECOGNISED("int4-quark", "Quark INT4 (reorder)", {
        .codes = ".weight", .dtypes = IS(I32), .becomes = ".weight", .beside = {
            BESIDE(".weight_scale", FLOAT, EVIDENCE, SCALE),
            BESIDE(".weight_zero_point", ANY, OPTIONAL, ZERO_POINT) } }),
    RECOGNISED("mxfp4-gpt-oss", "gpt-oss MXFP4", {
        .codes = "_blocks", .dtypes = IS(U8), .becomes = "", .left = LEFT_PACKED, .fits = gptoss_fits,
        .shapes = "[..., groups, 16], scales [..., groups]",
        .beside = { BESIDE("_scales", IS(U8), EVIDENCE, SCALE, .left = LEFT_GRID) } }, {
        .codes = ".blocks", .dtypes = IS(U8), .becomes = "", .fits = gptoss_fits,
        .shapes = "[..., groups, 16], scales [..., groups]",
        .beside = { BESIDE(".scales", IS(U8), EVIDENCE, SCALE) } }),
    { 0 },
};
