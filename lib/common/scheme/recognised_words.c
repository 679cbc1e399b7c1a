/* Recognised schemes whose codes are called qweight, or are packed like those: AWQ and its kin. The shapes tell
 * apart what shares names. Names that schemes.md does not have are those of the projects' own loaders: QServe
 * (omniserve, SGLang qoq.py), nunchaku and deepcompressor, BitBLAS (GPTQModel), FP-Quant, Four Over Six. */
#include "base/num.h"
#include "scheme/dim.h"
#include "scheme/table.h"

/* qweight I32; scales, qzeros. */
enum { SCALES, QZEROS };

#define GPTQ_PARTS BESIDE(".scales", FLOAT, EVIDENCE, SCALE), \
    BESIDE(".qzeros", IS(I32), OPTIONAL, ZERO_POINT, .left = LEFT_SCALES), \
    BESIDE(".g_idx", IS(I32), OPTIONAL, G_IDX, .left = LEFT_SCALES)

static bool
is_awq_gemm(const struct found *f)
{
    const struct tensor *scales = f->with[SCALES];
    return f->codes->shape.rank == 2 && dim_cols(scales) % 8 == 0 && dim_cols(f->codes) == dim_cols(scales) / 8;
}

static bool
awq_gemm_fits(const struct found *f)
{
    const struct tensor *scales = f->with[SCALES], *zeros = f->with[QZEROS];
    return scales->shape.rank == 2 && dim_rows(scales) != 0 && dim_rows(f->codes) % dim_rows(scales) == 0
        && (!zeros || (zeros->shape.rank == 2 && dim_rows(zeros) == dim_rows(scales)
            && dim_cols(zeros) == dim_cols(f->codes)));
}

static bool
is_awq_gemv(const struct found *f)
{
    return f->codes->shape.rank == 2 && f->with[SCALES]->shape.rank == 2 && f->with[QZEROS]
        && dim_rows(f->codes) == dim_rows(f->with[SCALES]);
}

static bool
awq_gemv_fits(const struct found *f)
{
    const struct tensor *scales = f->with[SCALES], *zeros = f->with[QZEROS];
    return dim_same_rows(zeros, scales) && dim_cols(scales) % 8 == 0 && dim_cols(zeros) == dim_cols(scales) / 8;
}

/* scales; zeros like them. */
static bool
gemv_fast_fits(const struct found *f)
{
    const struct tensor *scales = f->with[0], *zeros = f->with[1];
    return f->codes->shape.rank == 2 && scales->shape.rank == 2 && dim_same_shape(zeros, scales)
        && dim_cols(scales) % 4 == 0 && dim_cols(scales) / 4 == dim_rows(f->codes);
}

/* A scale for each row of the codes. */
static bool
row_scales_fit(const struct found *f)
{
    const struct shape *scale = &f->with[0]->shape;
    return f->codes->shape.rank == 2 && scale->rank == 1 && shape_dim(scale, 0) == dim_rows(f->codes);
}

const struct scheme paroquant_schemes[] = {
    RECOGNISED("paroquant", "ParoQuant", {
        .codes = ".qweight", .dtypes = IS(I32), .becomes = ".weight", .left = LEFT_PACKED, .beside = {
            BESIDE(".theta", ANY, EVIDENCE, STATE), BESIDE(".pairs", ANY, EVIDENCE, G_IDX) },
        ALSO(BELONGS(".channel_scales", SCALE), BELONGS(".scales", SCALE), BELONGS(".qzeros", ZERO_POINT),
            BELONGS(".g_idx", G_IDX)) }),
    { 0 },
};

const struct scheme word_schemes[] = {
    RECOGNISED("awq-gemm", "AWQ GEMM", {
        .codes = ".qweight", .dtypes = IS(I32), .becomes = ".weight", .is = is_awq_gemm, .fits = awq_gemm_fits,
        .shapes = "[in, out/8], scales [G, out], qzeros [G, out/8]", .beside = { GPTQ_PARTS } }),
    RECOGNISED("awq-gemv", "AWQ GEMV", {
        .codes = ".qweight", .dtypes = IS(I32), .becomes = ".weight", .is = is_awq_gemv, .fits = awq_gemv_fits,
        .shapes = "[out, in/8], scales [out, 8*n], qzeros [out, n]", .beside = { GPTQ_PARTS } }),
    RECOGNISED("svdquant", "SVDQuant", {
        .codes = ".qweight", .dtypes = IS(I8) | IS(I32), .becomes = ".weight",
        .beside = { BESIDE(".wscales", ANY, EVIDENCE, SCALE) },
        ALSO(BELONGS(".wzeros", ZERO_POINT), BELONGS(".wcscales", SCALE), BELONGS(".wtscale", SCALE),
            BELONGS(".smooth_factor", SCALE), BELONGS(".smooth_factor_orig", SCALE), BELONGS(".smooth", SCALE),
            BELONGS(".smooth_orig", SCALE), BELONGS(".proj_down", STATE), BELONGS(".proj_up", STATE),
            BELONGS(".lora_down", STATE), BELONGS(".lora_up", STATE)) }),
    RECOGNISED(NULL, "GPTQ or AWQ", {
        .codes = ".qweight", .dtypes = IS(I32), .becomes = ".weight", .fits = table_never,
        .shapes = "the shape of one of them", .beside = { GPTQ_PARTS } }),
    RECOGNISED("awq-gemv-fast", "AWQ GEMV_FAST", {
        .codes = ".qweight", .dtypes = IS(I16), .becomes = ".weight", .fits = gemv_fast_fits,
        .shapes = "[out/4, in], scales [groups, out] and zeros like them",
        .beside = { BESIDE(".scales", FLOAT, EVIDENCE, SCALE), BESIDE(".qzeros", FLOAT, REQUIRED, ZERO_POINT),
            OR(".scaled_zeros", .left = LEFT_SCALES) } }),
    RECOGNISED("qserve", "QServe", {
        .codes = ".qweight", .dtypes = IS(I8), .becomes = ".weight", .fits = row_scales_fit,
        .shapes = "[out, in/2], s1_scales [out]", .beside = { BESIDE(".s1_scales", FLOAT, EVIDENCE, SCALE) },
        ALSO(BELONGS(".s1_szeros", ZERO_POINT), BELONGS(".s2_scales", SCALE), BELONGS(".s2_zeros", ZERO_POINT)) }),
    RECOGNISED("bitblas", "BitBLAS", {
        .codes = ".qweight", .dtypes = IS(I8), .becomes = ".weight",
        .beside = { BESIDE(".scales", FLOAT, EVIDENCE, SCALE) },
        ALSO(BELONGS(".zeros", ZERO_POINT), BELONGS(".qzeros", ZERO_POINT), BELONGS(".g_idx", G_IDX)) }),
    RECOGNISED("fp-quant", "FP-Quant", {
        .codes = ".qweight", .dtypes = IS(U8), .becomes = ".weight",
        .beside = { BESIDE(".scales", ANY, EVIDENCE, SCALE) },
        ALSO(BELONGS(".forward_hadamard_matrix", STATE), BELONGS(".backward_hadamard_matrix", STATE),
            BELONGS(".weight_global_scale", SCALE), BELONGS(".act_global_scale", ACTIVATION),
            BELONGS(".global_scale", SCALE)) }),
    RECOGNISED("four-over-six", "Four Over Six", {
        .codes = ".quantized_weight_values", .dtypes = IS(U8), .becomes = ".weight",
        .beside = { BESIDE(".quantized_weight_scale_factors", ANY, REQUIRED, SCALE) },
        ALSO(BELONGS(".quantized_weight_amax", SCALE), BELONGS(".quantized_weight_metadata", STATE)) }, {
        .codes = ".weight_e2m1", .dtypes = IS(U8), .becomes = ".weight",
        .beside = { BESIDE(".weight_sf", ANY, REQUIRED, SCALE) },
        ALSO(BELONGS(".weight_amax", SCALE), BELONGS(".weight_normconst", SCALE)) }),
    { 0 },
};
