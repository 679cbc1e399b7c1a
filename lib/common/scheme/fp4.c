/* NVFP4 and MXFP4: 4-bit floats with a scale for each block, decoded by fp4_decode.c. The tensors of a module P:
 *
 *     NVFP4 of compressed-tensors    P.weight_packed [out, in/2], P.weight_scale E4M3 [out, in/16],
 *                                    P.weight_global_scale F32 one, a divisor
 *     NVFP4 of ModelOpt              P.weight, P.weight_scale, also [out, in/32], P.weight_scale_2, a factor; optional
 *                                    P.pre_quant_scale [in]. Stacked experts are called X, X_weight_scale ..., and may
 *                                    be transposed: [E, in/2, out], scales [E, in/16, out]
 *     NVFP4 of ComfyUI               the same names, but the high nibble first and scales in tiles (swizzle.h)
 *     stacked experts                X.weight_packed or X_packed [E, out, in/2], scale [E, out, in/16], global scale F32 one,
 *                                    [E] or [E, 1]
 *     NVFP4 of Inkling               X [E, out, in/2], X.scale E4M3 [E, out, in/16], X.scale2 F32 [E], a factor
 *     NVFP4-E5M3 (AutoRound)         P.weight_packed, P.weight_scale U8, unsigned E5M3, [out, in/16] or [out, in/32], or these
 *                                    in one column. Only config.json declares it
 *     MXFP4                          P.weight_packed or P.weight [out, in/2], P.weight_scale E8M0 [out, in/32]
 *     MXINT4 (AutoRound)             the tensors of MXFP4, but a code is a sign and k, of 3 bits: k/4. Only config.json
 *                                    declares it
 *     MXFP4 of ModelSlim             P.weight [out, in/2], P.weight_scale E8M0 [out, in/32], P.weight_dual_scale F32
 *                                    [out, ceil(in/512), 1], a factor
 *     gpt-oss                        X_blocks [E, out, in/32, 16], X_scales [E, out, in/32]; the model computes with
 *                                    X [E, in, out]. In the original release X.blocks and X.scales, and X [E, out, in]
 *     DeepSeek                       P.weight I8 [out, in/2], P.scale E8M0 [out, in/16], [out, in/32] or [out, in/128]
 *
 * Codes are U8, or F4, whose shape counts elements. Code 8 is -0, but +0 in the tables of ModelOpt's NVFP4 and of DeepSeek.
 * Sources: compressed-tensors compressors/nvfp4 and mxfp4; ModelOpt torch/quantization/qtensor and
 * torch/export/unified_export_hf.py; comfy-kitchen backends/eager; transformers integrations/mxfp4.py,
 * convert_moe_packed_tensors; gpt-oss torch/weights.py; DeepSeek-V3.2 and V4 inference/convert.py.
 */
#include "scheme/fp4.h"

#include <stdio.h>

#include "base/num.h"
#include "base/str.h"
#include "scheme/declared.h"
#include "scheme/dim.h"
#include "scheme/smooth.h"
#include "scheme/swizzle.h"

/* --- weights */

static bool
set_own(struct claims *c, struct weight *w, const struct fp4 *form, struct err *err)
{
    struct fp4 *own = claims_alloc(c, sizeof *own, err);
    if (own)
        *own = *form;
    w->own = own;
    return own != NULL;
}

/* Checks that pre_quant_scale has one value for each input. */
static bool
check_smooth(const struct weight *w, const struct fp4 *f, struct err *err)
{
    const struct tensor *t = w->part[FP4_SMOOTH];
    bool flat = !t || t->shape.rank == 1 || (t->shape.rank == 2 && shape_dim(&t->shape, 0) == 1);
    return !t || (flat && dim_cols(t) == (f->lanes ? f->rows : f->cols))
        || table_wrong(t, w->part[FP4_CODES], err, "one value for each input");
}

/* Compares the groups of n codes with those that config.json declares. */
static bool
check_declared(struct table_match *f, const struct weight *w, const struct fp4 *form, uint64_t n, struct err *err)
{
    uint64_t ignored;
    return (form->scale == DTYPE_F8_E8M0 && !declared_by_module(f->claims))
        || declared_groups(&ignored, &f->doubt, f->claims, &f->base, w->part[FP4_SCALE], n, n / form->group, err);
}

/* Completes `form` and the shape for a weight that stores two codes of a row, or of a column, in a byte. */
static bool
define(struct table_match *f, struct weight *w, struct fp4 form, struct err *err)
{
    struct claims *c = f->claims;
    const struct tensor *codes = w->part[FP4_CODES];
    uint64_t dim[2] = { dim_rows(codes), dim_cols(codes) }, *packed = &dim[form.lanes ? 0 : 1];
    if ((codes->dtype != DTYPE_F4 && !num_mul(packed, *packed, 2)) || *packed % form.group != 0)
        return table_wrong(codes, codes, err, "whole groups of %u codes, two per byte", form.group);
    form.rows = dim[0];
    form.cols = dim[1];
    return check_smooth(w, &form, err) && claims_shape(c, w, codes->shape.rank - 2, dim, 2, err)
        && check_declared(f, w, &form, *packed, err) && set_own(c, w, &form, err);
}

static bool
fit_nvfp4_ct(struct table_match *f, struct weight *w, struct err *err)
{
    return define(f, w, (struct fp4){ .group = 16, .scale = DTYPE_F8_E4M3, .divides = true }, err);
}

/* Returns the number of codes that share a scale, the first companion: 16, 32 or 128; 0: none of these. */
static uint32_t
group_of(const struct table_match *f)
{
    static const uint8_t bytes[] = { 8, 16, 64 };
    for (size_t i = 0; i < sizeof bytes; i++)
        if (dim_scale_each(f->codes, f->with[0], bytes[i]))
            return 2U * bytes[i];
    return 0;
}

/* The group follows from the number of scales, whatever their shape. */
static bool
fit_e5m3(struct table_match *f, struct weight *w, struct err *err)
{
    uint32_t group = (uint32_t)(f->codes->extent.nbytes / num_max(w->part[FP4_SCALE]->extent.nbytes, 1) * 2);
    return define(f, w, (struct fp4){ .group = group, .scale = DTYPE_F8_E4M3, .e5m3 = true }, err);
}

static bool
fit_mxint4(struct table_match *f, struct weight *w, struct err *err)
{
    return define(f, w, (struct fp4){ .group = 32, .scale = DTYPE_F8_E8M0, .integers = true }, err);
}

static bool
fit_nvfp4_modelopt(struct table_match *f, struct weight *w, struct err *err)
{
    return define(f, w, (struct fp4){ .group = group_of(f), .scale = DTYPE_F8_E4M3, .plus_zero = true }, err);
}

static bool
fit_nvfp4_transposed(struct table_match *f, struct weight *w, struct err *err)
{
    return define(f, w, (struct fp4){ .group = 16, .scale = DTYPE_F8_E4M3, .plus_zero = true, .lanes = true },
        err);
}

bool
fp4_fit_comfy(struct table_match *f, struct weight *w, struct err *err)
{
    struct fp4 form = { .group = 16, .scale = DTYPE_F8_E4M3, .high_first = true };
    form.tiles = dim_cols(w->part[FP4_SCALE]) / TILE_BLOCKS;
    return define(f, w, form, err);
}

static bool
fit_mxfp4(struct table_match *f, struct weight *w, struct err *err)
{
    return define(f, w, (struct fp4){ .group = 32, .scale = DTYPE_F8_E8M0 }, err);
}

static bool
fit_deepseek(struct table_match *f, struct weight *w, struct err *err)
{
    return define(f, w, (struct fp4){ .group = group_of(f), .scale = DTYPE_F8_E8M0, .plus_zero = true }, err);
}

enum { BLOCK = 32 };            /* codes of gpt-oss that share a scale: 16 bytes, the last dimension */

/* Decodes X_blocks [E, out, in/32, 16] to X [E, in, out], the order in which transformers computes. */
static bool
fit_gptoss(struct table_match *f, struct weight *w, struct err *err)
{
    const struct shape *s = &f->codes->shape;
    struct fp4 form = { .group = BLOCK, .scale = DTYPE_F8_E8M0, .lanes = true };
    w->vague = s->rank != 4;            /* other ranks: unknown what is transposed */
    if (w->vague)
        return set_own(f->claims, w, &form, err);
    form.cols = shape_dim(s, 1);
    if (!num_mul(&form.rows, shape_dim(s, 2), BLOCK))
        return table_wrong(f->codes, f->codes, err, "fewer than 2^59 blocks");
    return claims_shape(f->claims, w, 1, (const uint64_t[]){ form.rows, form.cols }, 2, err)
        && set_own(f->claims, w, &form, err);
}

/* Decodes X.blocks [..., in/32, 16] to X [..., in]. */
static bool
fit_gptoss_original(struct table_match *f, struct weight *w, struct err *err)
{
    const struct shape *s = &f->codes->shape;
    struct fp4 form = { .group = BLOCK, .scale = DTYPE_F8_E8M0, .rows = s->rank > 2 ? shape_dim(s, s->rank - 3) : 1 };
    if (!num_mul(&form.cols, shape_dim(s, s->rank - 2), BLOCK))
        return table_wrong(f->codes, f->codes, err, "fewer than 2^59 blocks");
    return claims_shape(f->claims, w, s->rank - 2, &form.cols, 1, err) && set_own(f->claims, w, &form, err);
}

/* The scheme of a view that keeps the order in which the tensors are stored. */
static const struct scheme by_rows_gptoss = { .code = "mxfp4-gpt-oss", .name = "gpt-oss MXFP4", FP4_BY_ROWS };

/* A byte of codes covers two output rows, a scale 32 of them. */
static void
strip_gptoss(struct strip *strip, const struct weight *w, unsigned part)
{
    const struct fp4 *f = w->own;
    uint32_t unit_rows = BLOCK;
    if (part == FP4_CODES)
        unit_rows = 2;
    *strip = (struct strip){ .matrices = shape_dim(&w->shape, 0), .rows = f->cols, .units = f->rows / unit_rows,
        .unit_rows = unit_rows, .unit_bytes = 1 };
}

/* Views X [E, in, out] as it is stored: [E, out, in]. */
static const struct weight *
upright_gptoss(const struct weight *w, struct catalog *memory, struct err *err)
{
    const struct fp4 *f = w->own;
    const uint64_t dim[3] = { w->shape.rank == 3 ? shape_dim(&w->shape, 0) : 0, f->cols, f->rows };
    struct { struct weight weight; struct fp4 form; uint8_t dim[3 * SHAPE_DIM]; } *all = catalog_alloc(memory, sizeof *all, err);
    if (!all)
        return NULL;
    shape_pack(all->dim, dim, 3);
    all->form = *f;
    all->form.rows = f->cols;
    all->form.cols = f->rows;
    all->form.lanes = false;
    all->weight = *w;
    all->weight.scheme = &by_rows_gptoss;
    all->weight.shape = (struct shape){ 3, all->dim };
    all->weight.own = &all->form;
    return &all->weight;
}

/* --- the rows: tests of shapes */

/* weight_scale, and the scale of the whole tensor */
static bool
nvfp4_fits(const struct table_match *f)
{
    return dim_scale_each(f->codes, f->with[0], 8) && dim_is_one_each(f->with[1], f->codes);
}

/* Groups of 16 or 32. */
static bool
experts_fit(const struct table_match *f)
{
    uint32_t group = group_of(f);
    return (group == 16 || group == 32) && dim_is_one_each(f->with[1], f->codes);
}

/* Groups of 16 or 32, in rows or in one column. */
static bool
e5m3_fits(const struct table_match *f)
{
    const struct tensor *scale = f->with[0];
    uint64_t codes = f->codes->extent.nbytes, scales = scale->extent.nbytes;
    uint64_t each = 0;
    if (scales != 0 && codes % scales == 0)
        each = codes / scales;
    bool column = scale->shape.rank == 2 && dim_cols(scale) == 1 && f->codes->shape.rank == 2;
    return (each == 8 || each == 16) && dim_cols(f->codes) % each == 0 && (column || dim_scale_each(f->codes, scale, each));
}

/* Returns true if the scales are one for 16 codes, which MXFP4 does not have. */
static bool
is_in_16(const struct table_match *f)
{
    return dim_scale_each(f->codes, f->with[0], 8);
}

static bool
is_mxfp4(const struct table_match *f)
{
    return dim_scale_each(f->codes, f->with[0], 16);
}

/* weight_scale, and weight_dual_scale with or without its last dimension of 1 */
static bool
dual_fits(const struct table_match *f)
{
    const struct tensor *dual = f->with[1];
    uint64_t numel, want, cols = dim_cols(f->codes) * (f->codes->dtype == DTYPE_F4 ? 1 : 2);
    return is_mxfp4(f) && f->codes->shape.rank == 2 && dual->shape.rank >= 2
        && shape_dim(&dual->shape, 0) == dim_rows(f->codes) && shape_numel(&dual->shape, &numel)
        && num_mul(&want, dim_rows(f->codes), num_ceil_div(cols, FP4_DUAL_BLOCK)) && numel == want;
}

static enum claim
choose_e5m3(struct table_match *f, struct weight *w, struct err *err)
{
    const struct config *config = f->claims->config;
    const char *format, *word;
    if (!config_format(config, f->base.base, f->base.base_len, &format, err)
        || !config_data_type(config, f->base.base, f->base.base_len, &word, err))
        return CLAIM_FAIL;
    bool declared = format && str_same_word(format, "nvfp4-e5m3-pack-quantized");
    if (word)
        declared = declared || str_same_word(word, "nvfp4_v2");
    else
        declared = declared || config_says(config, "packing_format", "auto_round:llm_compressor_nvfp4_e5m3");
    if (declared)
        return table_match(f, w, err);
    return CLAIM_NO;
}

static enum claim
choose_mxint4(struct table_match *f, struct weight *w, struct err *err)
{
    const char *word;
    if (!config_data_type(f->claims->config, f->base.base, f->base.base_len, &word, err))
        return CLAIM_FAIL;
    if (word && (str_same_word(word, "mx_int") || str_same_word(word, "mx_int4")))
        return table_match(f, w, err);
    return CLAIM_NO;
}

static bool
deepseek_fits(const struct table_match *f)
{
    return group_of(f) != 0;
}

/* Returns true if the scales of P.weight are in tiles. */
static bool
is_swizzled(const struct table_match *f)
{
    return swizzle_of(f->claims, f->codes, f->with[0]) == GRID_SWIZZLED;
}

static bool
is_comfy(const struct table_match *f)
{
    return claims_is_forced(f->claims, SCHEME_NVFP4_COMFY) && is_swizzled(f);
}

static bool
is_either(const struct table_match *f)
{
    return swizzle_of(f->claims, f->codes, f->with[0]) == GRID_EITHER;
}

/* Checks that one scale covers all blocks, whatever their order. */
static bool
comfy_fits(const struct table_match *f)
{
    return dim_is_one_each(f->with[1], f->codes);
}

static bool
modelopt_fits(const struct table_match *f)
{
    return (swizzle_of(f->claims, f->codes, f->with[0]) == GRID_PLAIN || is_mxfp4(f))
        && dim_is_one_each(f->with[1], f->codes);
}

/* Codes [E, in/2, out], scales [E, in/16, out]. */
static bool
is_transposed(const struct table_match *f)
{
    const struct tensor *codes = f->codes, *scale = f->with[0];
    return codes->dtype == DTYPE_U8 && codes->shape.rank == 3 && dim_same_experts(scale, codes)
        && dim_cols(scale) == dim_cols(codes) && dim_rows(codes) % 8 == 0 && dim_rows(scale) == dim_rows(codes) / 8;
}

/* X_blocks [..., G, 16], X_scales [..., G]. */
static bool
gptoss_fits(const struct table_match *f)
{
    const struct shape *blocks = &f->codes->shape, *scales = &f->with[0]->shape;
    return blocks->rank >= 2 && scales->rank == blocks->rank - 1 && shape_dim(blocks, blocks->rank - 1) == BLOCK / 2
        && shape_same(blocks, scales, scales->rank);
}

#define SCALE(suffix_, types_, presence_, ...) COMPANION(suffix_, types_, presence_, SCALE, __VA_ARGS__)

/* The companions of a scheme that is decoded, and of one that is only recognised. */
#define NVFP4_PARTS SCALE(".weight_scale", IS(F8_E4M3), EVIDENCE, .part = FP4_SCALE), \
    SCALE(".weight_scale_2", IS(F32), REQUIRED, .part = FP4_SCALE_2, .left = LEFT_SCALES), \
    SCALE(".pre_quant_scale", FLOAT_16, OPTIONAL, .part = FP4_SMOOTH)
#define NVFP4_NAMES SCALE(".weight_scale", IS(F8_E4M3), EVIDENCE), \
    SCALE(".weight_scale_2", IS(F32), REQUIRED, .left = LEFT_SCALES), SCALE(".pre_quant_scale", FLOAT_16, OPTIONAL)

/* The names of ModelOpt's experts. */
#define EXPERT_PARTS SCALE("_weight_scale", IS(F8_E4M3), EVIDENCE, .part = FP4_SCALE), \
    SCALE("_weight_scale_2", IS(F32), REQUIRED, .part = FP4_SCALE_2, .left = LEFT_SCALES), \
    SCALE("_pre_quant_scale", FLOAT_16, OPTIONAL, .part = FP4_SMOOTH)

#define WEIGHT .codes = ".weight", .dtypes = FP4, .becomes = ".weight"
#define PACKED .codes = ".weight_packed", .dtypes = FP4, .becomes = ".weight"
#define EXPERTS .codes = "", .dtypes = FP4, .becomes = ""

#define GPTOSS_SHAPES "[..., groups, 16], scales [..., groups]"

/* Of schemes with common names, the one that requires more evidence comes first. */
const struct scheme fp4_schemes[] = {
    { .code = "nvfp4-e5m3", .name = "NVFP4-E5M3", .fit = fit_e5m3, FP4_BY_ROWS,
        WORDS({ WORD_FORMAT, "nvfp4-e5m3-pack-quantized" }, { WORD_PACKING, "auto_round:llm_compressor_nvfp4_e5m3" },
            { WORD_DATA_TYPE, "nvfp4_v2" }), ROWS({
        PACKED, .choose = choose_e5m3, .fits = e5m3_fits,
        .shapes = "[out, in/2], weight_scale [out, in/16] or [out, in/32], or as one column", WITH(SCALE(".weight_scale", IS(U8), EVIDENCE, .part = FP4_SCALE)) }) },
    { .code = "mxint4", .name = "MXINT4", .fit = fit_mxint4, FP4_BY_ROWS,
        WORDS({ WORD_DATA_TYPE, "mx_int" }, { WORD_DATA_TYPE, "mx_int4" }), ROWS({
        PACKED, .choose = choose_mxint4, .fits = is_mxfp4, .shapes = "[out, in/2], weight_scale [out, in/32]",
        WITH(SCALE(".weight_scale", E8M0, EVIDENCE, .part = FP4_SCALE)) }) },
    { .code = "nvfp4-e5m3", .name = "4-bit floats with scales of an unknown type", .describe = table_describe,
        .ask = "config.json (--config) declares it; NVFP4-E5M3 is decoded", ROWS({
        PACKED, .is = is_in_16, WITH(SCALE(".weight_scale", IS(U8), EVIDENCE)) }) },
    { .code = "nvfp4", .name = "compressed-tensors NVFP4", .fit = fit_nvfp4_ct, FP4_BY_ROWS,
        WORDS({ WORD_FORMAT, "nvfp4-pack-quantized" }, { WORD_DATA_TYPE, "nv_fp" }, { WORD_DATA_TYPE, "nv_fp4" },
            { WORD_DATA_TYPE, "nv_fp4_with_static_gs" }, { WORD_DATA_TYPE, "nv_fp4_rtn" },
            { WORD_DATA_TYPE, "opt_rtn_nv_fp4" }, { WORD_DATA_TYPE, "rtn_nv_fp4_with_static_gs" },
            { WORD_DATA_TYPE, "nvfp4_v2_with_global_scale" }), ROWS({
        PACKED, .fits = nvfp4_fits, .shapes = "[out, in/2], weight_scale [out, in/16], one weight_global_scale",
        WITH(SCALE(".weight_scale", IS(F8_E4M3), EVIDENCE, .part = FP4_SCALE),
            SCALE(".weight_global_scale", IS(F32), REQUIRED, .part = FP4_SCALE_2, .left = LEFT_SCALES)) }, {
        .codes = "_packed", .dtypes = FP4, .becomes = "", .fits = nvfp4_fits,
        .shapes = "[E, out, in/2], scale [E, out, in/16], one global_scale for each expert",
        WITH(SCALE("_scale", IS(F8_E4M3), EVIDENCE, .part = FP4_SCALE),
            SCALE("_global_scale", IS(F32), EVIDENCE, .part = FP4_SCALE_2)) }) },
    { .code = "mxfp4", .name = "compressed-tensors MXFP4", .fit = fit_mxfp4, FP4_BY_ROWS,
        WORDS({ WORD_FORMAT, "mxfp4-pack-quantized" }, { WORD_DATA_TYPE, "mx_fp" }, { WORD_DATA_TYPE, "mx_fp4" },
            { WORD_DATA_TYPE, "mx_fp4e2m1" }, { WORD_DATA_TYPE, "mx_fp_rceil" }), ROWS({
        PACKED, .fits = is_mxfp4, .shapes = "[out, in/2], weight_scale [out, in/32]",
        WITH(SCALE(".weight_scale", E8M0, EVIDENCE, .part = FP4_SCALE)) }) },
    DECLARED("nvfp4-svd", "ModelOpt NVFP4_SVD", WORDS({ WORD_ALGO, "NVFP4_SVD" }, { WORD_ALGO, "NVFP4_SVDQUANT" }), {
        .codes = ".weight", .dtypes = DTYPE_SET(HAS(U8), HAS(F4), HAS_FLOAT8), .becomes = ".weight",
        WITH(COMPANION(".svdquant_lora_a", ANY, EVIDENCE, STATE, .left = LEFT_SCALES),
            COMPANION(".svdquant_lora_b", ANY, OPTIONAL, STATE, .left = LEFT_SCALES)),
        ALSO(BELONGS(".weight_scale", SCALE), BELONGS(".weight_scale_2", SCALE), BELONGS(".pre_quant_scale", SCALE)) }),
    { .code = SCHEME_NVFP4_COMFY, .name = "ComfyUI nvfp4", .fit = fp4_fit_comfy, FP4_BY_ROWS, ROWS({
        WEIGHT, .is = is_comfy, .fits = comfy_fits, .shapes = "one weight_scale_2", WITH(NVFP4_PARTS) }) },
    { .code = "nvfp4-swizzled", .name = "NVFP4 in ComfyUI's order, without its marker", .describe = table_describe,
        .ask = "give --input-scheme " SCHEME_NVFP4_COMFY " if it is in that order", ROWS({
        WEIGHT, .is = is_swizzled, WITH(NVFP4_NAMES) }) },
    { .code = "nvfp4-either", .name = "NVFP4 of ModelOpt or ComfyUI", .describe = table_describe,
        .ask = "give config.json (--config), or --input-scheme " SCHEME_NVFP4 " or " SCHEME_NVFP4_COMFY, ROWS({
        WEIGHT, .is = is_either, WITH(NVFP4_NAMES) }) },
    { .code = SCHEME_NVFP4, .name = "ModelOpt NVFP4", .fit = fit_nvfp4_transposed,
        .need = { NEED_AGAIN, NEED_RUN, NEED_RUN, NEED_RUN }, .run = fp4_run,
        .room = sizeof(struct fp4_room), .decode = fp4_decode,
        .describe = fp4_describe, ROWS(
        { WEIGHT, .is = is_transposed, .fits = comfy_fits, .shapes = "one weight_scale_2, or one per expert",
            WITH(NVFP4_PARTS) },
        { EXPERTS, .is = is_transposed, .fits = comfy_fits, .shapes = "one weight_scale_2, or one per expert",
            WITH(EXPERT_PARTS) }) },
    { .code = SCHEME_NVFP4, .name = "ModelOpt NVFP4", .fit = fit_nvfp4_modelopt, FP4_BY_ROWS,
        WORDS({ WORD_METHOD, "modelopt" }, { WORD_METHOD, "modelopt_fp4" }, { WORD_METHOD, "modelopt_fp8" },
            { WORD_METHOD, "modelopt_mixed" }, { WORD_METHOD, "petit_nvfp4" }, { WORD_ALGO, "NVFP4" },
            { WORD_ALGO, "W4A16_NVFP4" }, { WORD_ALGO, "NVFP4_AWQ" }, { WORD_ALGO, "W4A8_NVFP4_FP8" }), ROWS(
        { WEIGHT, .fits = modelopt_fits, .shapes = "[out, in/2], weight_scale [out, in/16] or [out, in/32], one weight_scale_2",
            WITH(NVFP4_PARTS) },
        { EXPERTS, .fits = experts_fit, .shapes = "[E, out, in/2], weight_scale [E, out, in/16] or [E, out, in/32], one "
            "weight_scale_2, or one per expert", WITH(EXPERT_PARTS) },
        { EXPERTS, .fits = nvfp4_fits, .shapes = "[E, out, in/2], scale [E, out, in/16], scale2 [E]", WITH(SCALE(".scale", IS(F8_E4M3), EVIDENCE, .part = FP4_SCALE),
            SCALE(".scale2", IS(F32), EVIDENCE, .part = FP4_SCALE_2)),
            ALSO(BELONGS(".input_amax", ACTIVATION), BELONGS(".original_shape", SHAPE)) }) },
    { .code = "mxfp4-dual-scale", .name = "ModelSlim MXFP4", .fit = fit_mxfp4, FP4_BY_ROWS,
        WORDS({ WORD_DESCRIPTION, "W4A4_MXFP4_DUALSCALE" }, { WORD_METHOD, "mxfp8_mxfp4_dualscale" }), ROWS({
        WEIGHT, .fits = dual_fits,
        .shapes = "[out, in/2], weight_scale [out, in/32], weight_dual_scale [out, in/512, 1]", WITH(SCALE(".weight_scale", E8M0, EVIDENCE, .part = FP4_SCALE),
            SCALE(".weight_dual_scale", IS(F32), EVIDENCE, .part = FP4_DUAL)) }) },
    { .code = "modelopt-mxfp4", .name = "MXFP4", .fit = fit_mxfp4, FP4_BY_ROWS,
        WORDS({ WORD_METHOD, "quark" }, { WORD_ALGO, "MXFP4" }, { WORD_ALGO, "W4A8_MXFP4_FP8" },
            { WORD_ALGO, "W4A16_MXFP4" }, { WORD_PACK_METHOD, "order" }, { WORD_PACK_METHOD, "reorder" },
            { WORD_DESCRIPTION, "W4A8_MXFP" }, { WORD_DESCRIPTION, "W4A4_MXFP4" }), ROWS(
        { WEIGHT, .is = is_mxfp4, WITH(SCALE(".weight_scale", E8M0, EVIDENCE, .part = FP4_SCALE),
            SCALE(".pre_quant_scale", FLOAT_16, OPTIONAL, .part = FP4_SMOOTH)) },
        { EXPERTS, .is = is_mxfp4, WITH(SCALE("_weight_scale", E8M0, EVIDENCE, .part = FP4_SCALE)) }) },
    RECOGNISED(NULL, "MXFP4 or MXFP6", {
        WEIGHT, .fits = table_never, .shapes = "16 or 24 bytes of codes for each weight_scale",
        WITH(SCALE(".weight_scale", E8M0, EVIDENCE)) }),
    { .code = "fp4-deepseek", .name = "DeepSeek FP4", .fit = fit_deepseek, FP4_BY_ROWS, ROWS({
        .codes = ".weight", .dtypes = DTYPE_SET(HAS(I8), HAS(F4)), .becomes = ".weight", .fits = deepseek_fits,
        .shapes = "16, 32 or 128 codes, two per byte, for each scale",
        WITH(SCALE(".scale", IS(F8_E8M0), EVIDENCE, .part = FP4_SCALE, .left = LEFT_E8M0)) }) },
    { .code = "mxfp4-gpt-oss", .name = "gpt-oss MXFP4", WORDS({ WORD_METHOD, "mxfp4" }, { WORD_METHOD, "gpt_oss_mxfp4" }),
        .fit = fit_gptoss, .need = { NEED_STRIP, NEED_STRIP },
        .strip = strip_gptoss, .room = sizeof(struct fp4_room), .decode = fp4_decode, .describe = fp4_describe,
        .grid = fp4_grid, .upright = upright_gptoss, ROWS({
        .codes = "_blocks", .dtypes = IS(U8), .becomes = "", .left = LEFT_PACKED, .fits = gptoss_fits,
        .shapes = GPTOSS_SHAPES,
        WITH(SCALE("_scales", IS(U8), EVIDENCE, .part = FP4_SCALE, .left = LEFT_GRID)) }) },
    { .code = "mxfp4-gpt-oss", .name = "gpt-oss MXFP4", .fit = fit_gptoss_original, FP4_BY_ROWS, ROWS({
        .codes = ".blocks", .dtypes = IS(U8), .becomes = "", .left = LEFT_GRID, .fits = gptoss_fits, .shapes = GPTOSS_SHAPES,
        WITH(SCALE(".scales", IS(U8), EVIDENCE, .part = FP4_SCALE, .left = LEFT_GRID)) }) },
    { 0 },
};
