/* The other recognised schemes: variants of INT8, EXL3, codebooks, lattices and layouts of single kernels. Names come from
 * the projects' own loaders, for example of HIGGS (FLUTE), QQQ, LUT-GEMM, gemma_pytorch, QTIP, DeepSpeed FP6. */
#include "scheme/dim.h"
#include "scheme/table.h"

static bool
is_rank_3(const struct table_match *f)
{
    return f->codes->shape.rank == 3;
}

const struct scheme other_schemes[] = {
    RECOGNISED("int8-gemma", "gemma_pytorch INT8", {
        .codes = ".weight", .dtypes = IS(I8), .becomes = ".weight", .fits = table_row_scales,
        .shapes = "[out, in], weight_scaler [out]", WITH(COMPANION(".weight_scaler", FLOAT, EVIDENCE, SCALE)) }),
    DECLARED("higgs", "HIGGS", WORDS({ WORD_METHOD, "higgs" }), {
        .codes = ".weight", .dtypes = IS(I16), .becomes = ".weight", WITH(COMPANION(".tables", ANY, EVIDENCE, CODEBOOK), COMPANION(".scales", ANY, REQUIRED, SCALE),
            COMPANION(".tables2", ANY, OPTIONAL, CODEBOOK)) }),

    DECLARED("exl3", "EXL3", WORDS({ WORD_METHOD, "exl3" }, { WORD_FORMAT, "exl3" }), {
        .codes = ".trellis", .dtypes = IS(I16), .becomes = ".weight", .is = is_rank_3,
        ALSO(BELONGS(".suh", SCALE), BELONGS(".svh", SCALE), BELONGS(".su", SCALE), BELONGS(".sv", SCALE),
            BELONGS(".mcg", STATE), BELONGS(".mul1", STATE)) }),
    RECOGNISED("qtip", "QTIP", {
        .codes = ".trellis", .dtypes = IS(I16), .becomes = ".weight", WITH(COMPANION(".SU", ANY, EVIDENCE, SCALE), COMPANION(".SV", ANY, EVIDENCE, SCALE)),
        ALSO(BELONGS(".rcp", STATE), BELONGS(".tp_rank", STATE), BELONGS(".tlut", CODEBOOK)) }),
    DECLARED("spqr", "SpQR", WORDS({ WORD_METHOD, "spqr" }), {
        .codes = ".dense_weights", .dtypes = IS(I64), .becomes = ".weight", WITH(COMPANION(".row_offsets", ANY, EVIDENCE, STATE), COMPANION(".col_vals", ANY, EVIDENCE, STATE),
            COMPANION(".in_perm", ANY, OPTIONAL, G_IDX)) }),
    DECLARED("quip", "QuIP#", WORDS({ WORD_METHOD, "quip" }, { WORD_METHOD, "quip#" }), {
        .codes = ".Qidxs", .dtypes = SCALARS, .becomes = ".weight", WITH(COMPANION(".SU", ANY, EVIDENCE, SCALE), COMPANION(".SV", ANY, EVIDENCE, SCALE)),
        ALSO(BELONGS(".Wscale", SCALE), BELONGS(".codebook_id", STATE)) }),
    DECLARED("sparse-bitmask", "sparse bitmask",
        WORDS({ WORD_FORMAT, "sparse-bitmask" }, { WORD_FORMAT, "sparse-24-bitmask" }), {
        .codes = ".compressed", .dtypes = SCALARS, .becomes = "", WITH(COMPANION(".bitmask", IS(U8), EVIDENCE, STATE), COMPANION(".shape", ANY, REQUIRED, SHAPE)),
        ALSO(BELONGS(".row_offsets", STATE), BELONGS(".weight_scale", SCALE), BELONGS("_scale", SCALE)) }),
    DECLARED("qqq", "QQQ", WORDS({ WORD_METHOD, "qqq" }, { WORD_FORMAT, "qqq" }), {
        .codes = ".B", .dtypes = IS(I32), .becomes = ".weight",
        WITH(COMPANION(".s_channel", ANY, EVIDENCE, SCALE)),
        ALSO(BELONGS(".s_group", SCALE), BELONGS(".workspace", STATE), BELONGS(".reduce_buffer", STATE)) }),
    DECLARED("marlin", "Marlin", WORDS({ WORD_METHOD, "marlin" }, { WORD_FORMAT, "marlin" }), {
        .codes = ".B", .dtypes = IS(I32), .becomes = ".weight",
        WITH(COMPANION(".s", FLOAT, EVIDENCE, SCALE), COMPANION(".workspace", ANY, OPTIONAL, STATE)) }),
    RECOGNISED("lut-gemm", "LUT-GEMM", {
        .codes = ".binary", .dtypes = IS(I32), .becomes = ".weight", WITH(COMPANION(".alpha", ANY, EVIDENCE, SCALE), COMPANION(".q_bias", ANY, OPTIONAL, ZERO_POINT)) }, {
        .codes = ".binaryWeight", .dtypes = IS(I32), .becomes = ".weight", WITH(COMPANION(".alpha", ANY, EVIDENCE, SCALE), COMPANION(".q_bias", ANY, OPTIONAL, ZERO_POINT)) }),
    DECLARED("fp6-deepspeed", "DeepSpeed FP6", WORDS({ WORD_METHOD, "deepspeedfp" }), {
        .codes = ".weights_4bit", .dtypes = SCALARS, .becomes = ".weight", WITH(COMPANION(".weights_2bit", ANY, EVIDENCE, STATE), COMPANION(".scales", ANY, OPTIONAL, SCALE)) }),
    DECLARED("trtllm-int4", "TensorRT-LLM INT4", WORDS({ WORD_ALGO, "W4A16" }, { WORD_ALGO, "W4A16_GPTQ" },
        { WORD_ENGINE, "W4A16_AWQ" }, { WORD_ENGINE, "W4A8_AWQ" }), {
        .codes = ".weight", .dtypes = DTYPE_SET(HAS(F16), HAS(BF16)), .becomes = ".weight",    /* bytes of codes */
        WITH(COMPANION(".weights_scaling_factor", FLOAT, EVIDENCE, SCALE)),
        ALSO(BELONGS(".prequant_scaling_factor", SCALE), BELONGS(".zero", ZERO_POINT), BELONGS(".alpha", SCALE),
            BELONGS(".activation_scaling_factor", ACTIVATION)) }),
    RECOGNISED("paddle", "PaddlePaddle INT8 or INT4", {
        .codes = ".quant_weight", .dtypes = IS(I8), .becomes = ".weight",
        WITH(COMPANION(".weight_scale", ANY, EVIDENCE, SCALE)) }),
    RECOGNISED("uqff", "UQFF of mistral.rs", {
        .codes = ".weight", .dtypes = IS(U8), .becomes = ".weight", WITH(COMPANION(".weight.format", ANY, EVIDENCE, STATE)) }),
    RECOGNISED("dfloat11", "DFloat11", {
        .codes = ".encoded_exponent", .dtypes = IS(U8), .becomes = ".weight", WITH(COMPANION(".sign_mantissa", IS(U8), EVIDENCE, STATE), COMPANION(".luts", ANY, OPTIONAL, CODEBOOK)),
        ALSO(BELONGS(".output_positions", STATE), BELONGS(".gaps", STATE), BELONGS(".split_positions", STATE)) }),
    { 0 },
};
