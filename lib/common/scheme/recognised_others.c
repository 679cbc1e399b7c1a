/* The other recognised schemes: INT8 and its kin, EXL3, codebooks, lattices and layouts of single
 * kernels. Names that schemes.md does not have are those of the projects' own loaders: HIGGS (FLUTE), QQQ, LUT-GEMM,
 * gemma_pytorch, QTIP, DeepSpeed FP6. */
#include "scheme/dim.h"
#include "scheme/table.h"

/* A scale for each row of the codes. */
static bool
row_scales_fit(const struct found *f)
{
    const struct shape *scale = &f->with[0]->shape;
    return f->codes->shape.rank == 2 && scale->rank == 1 && shape_dim(scale, 0) == dim_rows(f->codes);
}

static bool
is_rank_3(const struct found *f)
{
    return f->codes->shape.rank == 3;
}

const struct scheme other_schemes[] = {
    RECOGNISED("w4afp8", "W4AFP8", {
        .codes = ".weight", .dtypes = IS(I8) | IS(U8), .becomes = ".weight",
        .beside = { BESIDE(".weight_scale_inv", FLOAT, EVIDENCE, SCALE) } }),
    RECOGNISED("int8-gemma", "gemma_pytorch INT8", {
        .codes = ".weight", .dtypes = IS(I8), .becomes = ".weight", .fits = row_scales_fit,
        .shapes = "[out, in], weight_scaler [out]", .beside = { BESIDE(".weight_scaler", FLOAT, EVIDENCE, SCALE) } }),
    RECOGNISED("higgs", "HIGGS", {
        .codes = ".weight", .dtypes = IS(I16), .becomes = ".weight", .beside = {
            BESIDE(".tables", ANY, EVIDENCE, CODEBOOK), BESIDE(".scales", ANY, REQUIRED, SCALE),
            BESIDE(".tables2", ANY, OPTIONAL, CODEBOOK) } }),

    RECOGNISED("exl3", "EXL3", {
        .codes = ".trellis", .dtypes = IS(I16), .becomes = ".weight", .is = is_rank_3,
        ALSO(BELONGS(".suh", SCALE), BELONGS(".svh", SCALE), BELONGS(".su", SCALE), BELONGS(".sv", SCALE),
            BELONGS(".mcg", STATE), BELONGS(".mul1", STATE)) }),
    RECOGNISED("qtip", "QTIP", {
        .codes = ".trellis", .dtypes = IS(I16), .becomes = ".weight", .beside = {
            BESIDE(".SU", ANY, EVIDENCE, SCALE), BESIDE(".SV", ANY, EVIDENCE, SCALE) },
        ALSO(BELONGS(".rcp", STATE), BELONGS(".tp_rank", STATE), BELONGS(".tlut", CODEBOOK)) }),
    RECOGNISED("spqr", "SpQR", {
        .codes = ".dense_weights", .dtypes = IS(I64), .becomes = ".weight", .beside = {
            BESIDE(".row_offsets", ANY, EVIDENCE, STATE), BESIDE(".col_vals", ANY, EVIDENCE, STATE),
            BESIDE(".in_perm", ANY, OPTIONAL, G_IDX) } }),
    RECOGNISED("quip", "QuIP#", {
        .codes = ".Qidxs", .dtypes = SCALARS, .becomes = ".weight", .beside = {
            BESIDE(".SU", ANY, EVIDENCE, SCALE), BESIDE(".SV", ANY, EVIDENCE, SCALE) },
        ALSO(BELONGS(".Wscale", SCALE), BELONGS(".codebook_id", STATE)) }),
    RECOGNISED("sparse-bitmask", "sparse bitmask", {
        .codes = ".compressed", .dtypes = SCALARS, .becomes = "", .beside = {
            BESIDE(".bitmask", IS(U8), EVIDENCE, STATE), BESIDE(".shape", ANY, REQUIRED, SHAPE) },
        ALSO(BELONGS(".row_offsets", STATE), BELONGS(".weight_scale", SCALE), BELONGS("_scale", SCALE)) }),
    RECOGNISED("qqq", "QQQ", {
        .codes = ".B", .dtypes = IS(I32), .becomes = ".weight",
        .beside = { BESIDE(".s_channel", ANY, EVIDENCE, SCALE) },
        ALSO(BELONGS(".s_group", SCALE), BELONGS(".workspace", STATE), BELONGS(".reduce_buffer", STATE)) }),
    RECOGNISED("marlin", "Marlin", {
        .codes = ".B", .dtypes = IS(I32), .becomes = ".weight",
        .beside = { BESIDE(".s", FLOAT, EVIDENCE, SCALE), BESIDE(".workspace", ANY, OPTIONAL, STATE) } }),
    RECOGNISED("lut-gemm", "LUT-GEMM", {
        .codes = ".binary", .dtypes = IS(I32), .becomes = ".weight", .beside = {
            BESIDE(".alpha", ANY, EVIDENCE, SCALE), BESIDE(".q_bias", ANY, OPTIONAL, ZERO_POINT) } }, {
        .codes = ".binaryWeight", .dtypes = IS(I32), .becomes = ".weight", .beside = {
            BESIDE(".alpha", ANY, EVIDENCE, SCALE), BESIDE(".q_bias", ANY, OPTIONAL, ZERO_POINT) } }),
    RECOGNISED("fp6-deepspeed", "DeepSpeed FP6", {
        .codes = ".weights_4bit", .dtypes = SCALARS, .becomes = ".weight", .beside = {
            BESIDE(".weights_2bit", ANY, EVIDENCE, STATE), BESIDE(".scales", ANY, OPTIONAL, SCALE) } }),
    { 0 },
};
