/* Recognised schemes whose codes are named qweight, or are packed like the codes of AWQ and its variants. Schemes with common
 * names differ in their shapes. Names come from the projects' own loaders, for example of QServe (omniserve, SGLang
 * qoq.py), nunchaku and deepcompressor, BitBLAS (GPTQModel), FP-Quant, Four Over Six. */
#include "base/num.h"
#include "scheme/dim.h"
#include "scheme/table.h"

/* Companions of qweight I32: scales, qzeros. */
enum { SCALES, QZEROS };

#define GPTQ_PARTS COMPANION(".scales", FLOAT, EVIDENCE, SCALE), \
    COMPANION(".qzeros", IS(I32), OPTIONAL, ZERO_POINT, .left = LEFT_SCALES), \
    COMPANION(".g_idx", IS(I32), OPTIONAL, G_IDX, .left = LEFT_SCALES)

const struct scheme paroquant_schemes[] = {
    DECLARED("paroquant", "ParoQuant", WORDS({ WORD_METHOD, "paroquant" }, { WORD_FORMAT, "paroquant" }), {
        .codes = ".qweight", .dtypes = IS(I32), .becomes = ".weight", .left = LEFT_PACKED, WITH(COMPANION(".theta", ANY, EVIDENCE, STATE), COMPANION(".pairs", ANY, EVIDENCE, G_IDX)),
        ALSO(BELONGS(".channel_scales", SCALE), BELONGS(".scales", SCALE), BELONGS(".qzeros", ZERO_POINT),
            BELONGS(".g_idx", G_IDX)) }),
    { 0 },
};

const struct scheme word_schemes[] = {
    DECLARED("svdquant", "SVDQuant", WORDS({ WORD_METHOD, "svdquant" }, { WORD_METHOD, "nunchaku" }), {
        .codes = ".qweight", .dtypes = DTYPE_SET(HAS(I8), HAS(I32)), .becomes = ".weight",
        WITH(COMPANION(".wscales", ANY, EVIDENCE, SCALE)),
        ALSO(BELONGS(".wzeros", ZERO_POINT), BELONGS(".wcscales", SCALE), BELONGS(".wtscale", SCALE),
            BELONGS(".smooth_factor", SCALE), BELONGS(".smooth_factor_orig", SCALE), BELONGS(".smooth", SCALE),
            BELONGS(".smooth_orig", SCALE), BELONGS(".proj_down", STATE), BELONGS(".proj_up", STATE),
            BELONGS(".lora_down", STATE), BELONGS(".lora_up", STATE)) }),
    RECOGNISED(NULL, "GPTQ or AWQ", {
        .codes = ".qweight", .dtypes = IS(I32), .becomes = ".weight", .fits = table_never,
        .shapes = "the shape of one of them", WITH(GPTQ_PARTS) }),
    DECLARED("qserve", "QServe", WORDS({ WORD_METHOD, "qoq" }, { WORD_METHOD, "qserve" }), {
        .codes = ".qweight", .dtypes = IS(I8), .becomes = ".weight", .fits = table_row_scales,
        .shapes = "[out, in/2], s1_scales [out]", WITH(COMPANION(".s1_scales", FLOAT, EVIDENCE, SCALE)),
        ALSO(BELONGS(".s1_szeros", ZERO_POINT), BELONGS(".s2_scales", SCALE), BELONGS(".s2_zeros", ZERO_POINT)) }),
    DECLARED("bitblas", "BitBLAS",
        WORDS({ WORD_METHOD, "bitblas" }, { WORD_METHOD, "gptq_bitblas" }, { WORD_FORMAT, "bitblas" }), {
        .codes = ".qweight", .dtypes = IS(I8), .becomes = ".weight",
        WITH(COMPANION(".scales", FLOAT, EVIDENCE, SCALE)),
        ALSO(BELONGS(".zeros", ZERO_POINT), BELONGS(".qzeros", ZERO_POINT), BELONGS(".g_idx", G_IDX)) }),
    DECLARED("fp-quant", "FP-Quant", WORDS({ WORD_METHOD, "fp_quant" }), {
        .codes = ".qweight", .dtypes = IS(U8), .becomes = ".weight",
        WITH(COMPANION(".scales", ANY, EVIDENCE, SCALE)),
        ALSO(BELONGS(".forward_hadamard_matrix", STATE), BELONGS(".backward_hadamard_matrix", STATE),
            BELONGS(".weight_global_scale", SCALE), BELONGS(".act_global_scale", ACTIVATION),
            BELONGS(".global_scale", SCALE)) }),
    DECLARED("four-over-six", "Four Over Six", WORDS({ WORD_METHOD, "fouroversix" }), {
        .codes = ".quantized_weight_values", .dtypes = IS(U8), .becomes = ".weight",
        WITH(COMPANION(".quantized_weight_scale_factors", ANY, REQUIRED, SCALE)),
        ALSO(BELONGS(".quantized_weight_amax", SCALE), BELONGS(".quantized_weight_metadata", STATE)) }, {
        .codes = ".weight_e2m1", .dtypes = IS(U8), .becomes = ".weight",
        WITH(COMPANION(".weight_sf", ANY, REQUIRED, SCALE)),
        ALSO(BELONGS(".weight_amax", SCALE), BELONGS(".weight_normconst", SCALE)) }),
    { 0 },
};
