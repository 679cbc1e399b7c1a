/* The other recognised schemes: kin of INT8, MLX, quanto, HQQ, torchao, the ExLlama formats, codebooks, lattices
 * and layouts of single kernels. Names that schemes.md does not have are those of the projects' own loaders: HIGGS
 * (FLUTE), QQQ, LUT-GEMM, gemma_pytorch, QTIP, DeepSpeed FP6. */
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
eetq_fits(const struct found *f)
{
    uint64_t n;
    return f->codes->shape.rank == 2 && shape_numel(&f->with[0]->shape, &n) && n == dim_cols(f->codes);
}

/* Groups of 16 or 32, two codes a byte. */
static bool
deepseek_fp4_fits(const struct found *f)
{
    return dim_scale_each(f->codes, f->with[0], 8) || dim_scale_each(f->codes, f->with[0], 16);
}

/* scales, biases: 32-bit words of 2 to 8 bits in groups of 16 to 128. */
static bool
mlx_fits(const struct found *f)
{
    const struct tensor *scales = f->with[0], *biases = f->with[1];
    if (!dim_same_rows(f->codes, scales) || (biases && !dim_same_shape(biases, scales))
        || dim_cols(f->codes) > UINT64_MAX / 32 || dim_cols(scales) > UINT64_MAX / 1024)
        return false;
    for (uint64_t group = 16; group <= 128; group *= 2)
        for (uint64_t bits = 2; bits <= 8; bits++)
            if (dim_cols(scales) * group * bits == dim_cols(f->codes) * 32)
                return true;
    return false;
}

/* scale, zero; scale_q, zero_q: W_q of an integer type is sure, W_q of a float type may be a plain matrix. */
static bool
is_hqq(const struct found *f)
{
    return !dtype_is_float(f->codes->dtype) || f->with[0] || f->with[2];
}

static bool
hqq_fits(const struct found *f)
{
    return (f->with[0] || f->with[2]) && (f->with[1] || f->with[3]);
}

static bool
is_rank_3(const struct found *f)
{
    return f->codes->shape.rank == 3;
}

static const struct companion hqq_fields[] = {
    BELONGS(".scale", SCALE), BELONGS(".zero", ZERO_POINT), BELONGS(".shape", SHAPE), BELONGS(".nbits", STATE),
    BELONGS(".group_size", STATE), BELONGS(".axis", STATE), BELONGS(".packing", STATE),
    BELONGS(".unpack_view_dtype", STATE), BELONGS(".view_as_float", STATE), BELONGS(".compute_dtype", STATE),
    BELONGS(".channel_wise", STATE), BELONGS(".optimize", STATE), BELONGS(".round_zero", STATE),
    BELONGS(".quant_scale", STATE), BELONGS(".quant_zero", STATE), BELONGS(".offload_meta", STATE),
    BELONGS(".encoded_state_dict", STATE), BELONGS(".stores_quant_config", STATE), { 0 },
};

const struct scheme other_schemes[] = {
    RECOGNISED("w4afp8", "W4AFP8", {
        .codes = ".weight", .dtypes = IS(I8) | IS(U8), .becomes = ".weight",
        .beside = { BESIDE(".weight_scale_inv", FLOAT, EVIDENCE, SCALE) } }),
    RECOGNISED("eetq", "EETQ", {
        .codes = ".weight", .dtypes = IS(I8), .becomes = ".weight", .fits = eetq_fits,
        .shapes = "[in, out], weight_scales [out]", .beside = { BESIDE(".weight_scales", FLOAT, EVIDENCE, SCALE) } }),
    RECOGNISED("int8-gemma", "gemma_pytorch INT8", {
        .codes = ".weight", .dtypes = IS(I8), .becomes = ".weight", .fits = row_scales_fit,
        .shapes = "[out, in], weight_scaler [out]", .beside = { BESIDE(".weight_scaler", FLOAT, EVIDENCE, SCALE) } }),
    RECOGNISED("fp4-deepseek", "DeepSeek FP4", {
        .codes = ".weight", .dtypes = IS(I8) | IS(F4), .becomes = ".weight", .fits = deepseek_fp4_fits,
        .shapes = "16 or 32 codes, two a byte, for each scale",
        .beside = { BESIDE(".scale", IS(F8_E8M0), EVIDENCE, SCALE) } }),
    RECOGNISED("higgs", "HIGGS", {
        .codes = ".weight", .dtypes = IS(I16), .becomes = ".weight", .beside = {
            BESIDE(".tables", ANY, EVIDENCE, CODEBOOK), BESIDE(".scales", ANY, REQUIRED, SCALE),
            BESIDE(".tables2", ANY, OPTIONAL, CODEBOOK) } }),

    RECOGNISED("mlx", "MLX", {
        .codes = ".weight", .dtypes = IS(U32), .becomes = ".weight", .fits = mlx_fits,
        .shapes = "[out, words], scales [out, groups] of 16 to 128 codes, biases like them", .beside = {
            BESIDE(".scales", ANY, EVIDENCE, SCALE), BESIDE(".biases", FLOAT, OPTIONAL, ZERO_POINT),
            BESIDE(".qbiases", FLOAT, OPTIONAL, ZERO_POINT) } }),
    RECOGNISED("mlx-incomplete", "MLX without scales", {
        .codes = ".weight", .dtypes = IS(U32), .becomes = ".weight",
        .beside = { BESIDE(".biases", FLOAT, EVIDENCE, ZERO_POINT) } }),
    RECOGNISED("quanto", "quanto", {
        .codes = "._data", .dtypes = SCALARS, .becomes = "", .beside = {
            BESIDE("._scale", FLOAT, EVIDENCE, SCALE), BESIDE("._shift", ANY, OPTIONAL, ZERO_POINT) } }, {
        .codes = "._data._data", .dtypes = SCALARS, .becomes = "", .beside = {
            BESIDE("._scale", FLOAT, EVIDENCE, SCALE), BESIDE("._shift", ANY, OPTIONAL, ZERO_POINT) } }),
    RECOGNISED("sinq", "SINQ", {
        .codes = ".W_q", .dtypes = SCALARS, .becomes = ".weight",
        .beside = { BESIDE(".scale2", ANY, EVIDENCE, SCALE), OR(".scale_2") }, .also = hqq_fields }),
    RECOGNISED("hqq", "HQQ", {
        .codes = ".W_q", .dtypes = SCALARS, .becomes = ".weight", .is = is_hqq, .fits = hqq_fits,
        .shapes = "scale and zero beside it", .beside = {
            BESIDE(".scale", FLOAT, OPTIONAL, SCALE), BESIDE(".zero", FLOAT, OPTIONAL, ZERO_POINT),
            BESIDE(".scale_q", ANY, OPTIONAL, SCALE), BESIDE(".zero_q", ANY, OPTIONAL, ZERO_POINT) },
        .also = hqq_fields }),
    RECOGNISED("torchao", "torchao", {
        .codes = "._weight_qdata", .dtypes = SCALARS, .becomes = ".weight",
        ALSO(BELONGS("._weight_scale", SCALE), BELONGS("._weight_zero_point", ZERO_POINT),
            BELONGS("._weight_per_tensor_scale", SCALE), BELONGS("._weight_act_per_tensor_scale", ACTIVATION)) }),
    RECOGNISED("exl2", "EXL2", {
        .codes = ".q_weight", .dtypes = IS(I32), .becomes = ".weight", .beside = {
            BESIDE(".q_scale", ANY, EVIDENCE, SCALE), BESIDE(".q_groups", ANY, EVIDENCE, STATE) },
        ALSO(BELONGS(".q_scale_max", SCALE), BELONGS(".q_invperm", G_IDX), BELONGS(".q_perm", G_IDX),
            BELONGS(".q_group_map", G_IDX)) }),
    RECOGNISED("exl3", "EXL3", {
        .codes = ".trellis", .dtypes = IS(I16), .becomes = ".weight", .is = is_rank_3,
        ALSO(BELONGS(".suh", SCALE), BELONGS(".svh", SCALE), BELONGS(".su", SCALE), BELONGS(".sv", SCALE),
            BELONGS(".mcg", STATE), BELONGS(".mul1", STATE)) }),
    RECOGNISED("qtip", "QTIP", {
        .codes = ".trellis", .dtypes = IS(I16), .becomes = ".weight", .beside = {
            BESIDE(".SU", ANY, EVIDENCE, SCALE), BESIDE(".SV", ANY, EVIDENCE, SCALE) },
        ALSO(BELONGS(".rcp", STATE), BELONGS(".tp_rank", STATE), BELONGS(".tlut", CODEBOOK)) }),
    RECOGNISED("aqlm", "AQLM", {
        .codes = ".codes", .dtypes = SCALARS, .becomes = ".weight", .beside = {
            BESIDE(".codebooks", ANY, EVIDENCE, CODEBOOK), BESIDE(".scales", ANY, EVIDENCE, SCALE) } }),
    RECOGNISED("vptq", "VPTQ", {
        .codes = ".indices", .dtypes = SCALARS, .becomes = ".weight",
        .beside = { BESIDE(".centroids.weight", ANY, EVIDENCE, CODEBOOK) },
        ALSO(BELONGS(".res_indices", STATE), BELONGS(".res_centroids.weight", CODEBOOK),
            BELONGS(".outlier_indices", STATE), BELONGS(".outlier_centroids.weight", CODEBOOK), BELONGS(".perm", G_IDX),
            BELONGS(".weight_scale", SCALE), BELONGS(".weight_bias", ZERO_POINT)) }),
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
