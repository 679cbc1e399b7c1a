/* The other recognised schemes: variants of INT8, EXL3, codebooks, lattices and layouts of single kernels. Names are those
 * of the projects' own loaders, for example of HIGGS (FLUTE), QQQ, LUT-GEMM, gemma_pytorch, QTIP, DeepSpeed FP6. */
#include "scheme/dim.h"
#include "scheme/table.h"

static bool
is_rank_3(const struct table_match *f)
{
    return f->codes->shape.rank == 3;
}

const struct scheme other_schemes[] = {
    RECOGNISED("w4afp8", "W4AFP8", {
        .codes = ".weight", .dtypes = DTYPE_SET(HAS(I8), HAS(U8)), .becomes = ".weight",
        .companions = { COMPANION(".weight_scale_inv", FLOAT, EVIDENCE, SCALE) } }),
    RECOGNISED("int8-gemma", "gemma_pytorch INT8", {
        .codes = ".weight", .dtypes = IS(I8), .becomes = ".weight", .fits = table_row_scales,
        .shapes = "[out, in], weight_scaler [out]", .companions = { COMPANION(".weight_scaler", FLOAT, EVIDENCE, SCALE) } }),
    RECOGNISED("higgs", "HIGGS", {
        .codes = ".weight", .dtypes = IS(I16), .becomes = ".weight", .companions = {
            COMPANION(".tables", ANY, EVIDENCE, CODEBOOK), COMPANION(".scales", ANY, REQUIRED, SCALE),
            COMPANION(".tables2", ANY, OPTIONAL, CODEBOOK) } }),

    RECOGNISED("exl3", "EXL3", {
        .codes = ".trellis", .dtypes = IS(I16), .becomes = ".weight", .is = is_rank_3,
        ALSO(BELONGS(".suh", SCALE), BELONGS(".svh", SCALE), BELONGS(".su", SCALE), BELONGS(".sv", SCALE),
            BELONGS(".mcg", STATE), BELONGS(".mul1", STATE)) }),
    RECOGNISED("qtip", "QTIP", {
        .codes = ".trellis", .dtypes = IS(I16), .becomes = ".weight", .companions = {
            COMPANION(".SU", ANY, EVIDENCE, SCALE), COMPANION(".SV", ANY, EVIDENCE, SCALE) },
        ALSO(BELONGS(".rcp", STATE), BELONGS(".tp_rank", STATE), BELONGS(".tlut", CODEBOOK)) }),
    RECOGNISED("spqr", "SpQR", {
        .codes = ".dense_weights", .dtypes = IS(I64), .becomes = ".weight", .companions = {
            COMPANION(".row_offsets", ANY, EVIDENCE, STATE), COMPANION(".col_vals", ANY, EVIDENCE, STATE),
            COMPANION(".in_perm", ANY, OPTIONAL, G_IDX) } }),
    RECOGNISED("quip", "QuIP#", {
        .codes = ".Qidxs", .dtypes = SCALARS, .becomes = ".weight", .companions = {
            COMPANION(".SU", ANY, EVIDENCE, SCALE), COMPANION(".SV", ANY, EVIDENCE, SCALE) },
        ALSO(BELONGS(".Wscale", SCALE), BELONGS(".codebook_id", STATE)) }),
    RECOGNISED("sparse-bitmask", "sparse bitmask", {
        .codes = ".compressed", .dtypes = SCALARS, .becomes = "", .companions = {
            COMPANION(".bitmask", IS(U8), EVIDENCE, STATE), COMPANION(".shape", ANY, REQUIRED, SHAPE) },
        ALSO(BELONGS(".row_offsets", STATE), BELONGS(".weight_scale", SCALE), BELONGS("_scale", SCALE)) }),
    RECOGNISED("qqq", "QQQ", {
        .codes = ".B", .dtypes = IS(I32), .becomes = ".weight",
        .companions = { COMPANION(".s_channel", ANY, EVIDENCE, SCALE) },
        ALSO(BELONGS(".s_group", SCALE), BELONGS(".workspace", STATE), BELONGS(".reduce_buffer", STATE)) }),
    RECOGNISED("marlin", "Marlin", {
        .codes = ".B", .dtypes = IS(I32), .becomes = ".weight",
        .companions = { COMPANION(".s", FLOAT, EVIDENCE, SCALE), COMPANION(".workspace", ANY, OPTIONAL, STATE) } }),
    RECOGNISED("lut-gemm", "LUT-GEMM", {
        .codes = ".binary", .dtypes = IS(I32), .becomes = ".weight", .companions = {
            COMPANION(".alpha", ANY, EVIDENCE, SCALE), COMPANION(".q_bias", ANY, OPTIONAL, ZERO_POINT) } }, {
        .codes = ".binaryWeight", .dtypes = IS(I32), .becomes = ".weight", .companions = {
            COMPANION(".alpha", ANY, EVIDENCE, SCALE), COMPANION(".q_bias", ANY, OPTIONAL, ZERO_POINT) } }),
    RECOGNISED("fp6-deepspeed", "DeepSpeed FP6", {
        .codes = ".weights_4bit", .dtypes = SCALARS, .becomes = ".weight", .companions = {
            COMPANION(".weights_2bit", ANY, EVIDENCE, STATE), COMPANION(".scales", ANY, OPTIONAL, SCALE) } }),
    { 0 },
};
