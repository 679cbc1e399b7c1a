/* One row a scheme: what its codes are called, what lies beside them, what the decoded weight is called.
 * The order and the evidence are those of schemes.md 1.2. */
#include "scheme/recognised.h"

#include <stdio.h>
#include <string.h>

#include "scheme/claims.h"

#define IS(type) (UINT64_C(1) << DTYPE_##type)

enum {
    ANY = 0,                    /* no condition */
    COMPANIONS = 8
};
#define INT8 (IS(U8) | IS(I8))
#define FLOAT (IS(F16) | IS(BF16) | IS(F32) | IS(F64))
#define E8M0 (IS(U8) | IS(F8_E8M0))

/* A tensor beside the codes: base + suffix. */
struct beside {
    const char *suffix;
    uint64_t dtypes;            /* a set of types, or ANY */
    bool optional;
};

struct pattern {
    const char *codes;          /* suffix of the codes' name; what is before it is the base */
    uint64_t dtypes;            /* of the codes */
    const char *becomes;        /* suffix of the decoded weight, after the base */
    struct beside beside[COMPANIONS];
};

static enum claim
claim(const struct scheme *self, struct claims *c, const struct tensor *codes, struct weight *w, struct err *err)
{
    const struct pattern *p = self->pattern;
    struct part_name name;
    if (codes->dtype >= DTYPE_SCALARS || (p->dtypes != ANY && !(p->dtypes & UINT64_C(1) << codes->dtype))
        || !name_strip(codes, p->codes, &name))
        return CLAIM_NO;
    const struct tensor *found[COMPANIONS] = { 0 };
    for (size_t i = 0; i < COMPANIONS && p->beside[i].suffix; i++) {
        found[i] = claims_find(c, name.base, name.base_len, p->beside[i].suffix);
        if (found[i] && p->beside[i].dtypes != ANY && !(p->beside[i].dtypes & UINT64_C(1) << found[i]->dtype))
            found[i] = NULL;
        if (!found[i] && !p->beside[i].optional)
            return CLAIM_NO;
    }
    for (size_t i = 0; i < COMPANIONS; i++)
        if (found[i] && !claims_take(c, found[i], codes, err))
            return CLAIM_FAIL;
    if (!claims_take_idle(c, codes, err))
        return CLAIM_FAIL;
    w->vague = true;
    return claims_rename(c, w, &name, p->becomes, err) ? CLAIM_YES : CLAIM_FAIL;
}

static void
describe(const struct weight *w, char buf[SCHEME_DETAIL])
{
    snprintf(buf, SCHEME_DETAIL, "%s", w->scheme->name);
}

#define ROW(title, ...) { .name = title, .pattern = &(const struct pattern){ __VA_ARGS__ }, .claim = claim, \
    .describe = describe }

const struct scheme recognised[] = {
    ROW("GPTQ or AWQ", ".qweight", IS(I32), ".weight", {
        { ".scales", FLOAT, false }, { ".qzeros", IS(I32), false }, { ".g_idx", IS(I32), true } }),
    ROW("AWQ GEMV_FAST", ".qweight", IS(I16), ".weight", {
        { ".scales", FLOAT, false }, { ".qzeros", FLOAT, true }, { ".scaled_zeros", FLOAT, true } }),
    ROW("compressed-tensors marlin-24", ".weight_packed", IS(I32), ".weight", {
        { ".scale_packed", ANY, false }, { ".meta", ANY, false } }),
    ROW("compressed-tensors pack-quantized", ".weight_packed", IS(I32), ".weight", {
        { ".weight_shape", IS(I64) | IS(I32), false }, { ".weight_scale", FLOAT, false },
        { ".weight_zero_point", IS(I32) | IS(I8), true }, { ".weight_g_idx", IS(I32), true } }),
    ROW("compressed-tensors NVFP4", ".weight_packed", IS(U8), ".weight", {
        { ".weight_scale", IS(F8_E4M3), false }, { ".weight_global_scale", IS(F32), false } }),
    ROW("compressed-tensors MXFP4", ".weight_packed", IS(U8), ".weight", { { ".weight_scale", E8M0, false } }),
    ROW("ModelOpt NVFP4", ".weight", IS(U8), ".weight", {
        { ".weight_scale", IS(F8_E4M3), false }, { ".weight_scale_2", IS(F32), false } }),
    ROW("MXFP4", ".weight", IS(U8), ".weight", { { ".weight_scale", E8M0, false } }),
    ROW("ModelOpt INT4 or BitNet", ".weight", IS(U8), ".weight", {
        { ".weight_scale", FLOAT, false }, { ".weight_scale_2", FLOAT, true }, { ".pre_quant_scale", FLOAT, true } }),
    ROW("gpt-oss MXFP4", "_blocks", IS(U8), "", { { "_scales", IS(U8), false } }),
    ROW("gpt-oss MXFP4", ".blocks", IS(U8), "", { { ".scales", IS(U8), false } }),
    ROW("INT8", ".weight", IS(I8), ".weight", {
        { ".weight_scale", FLOAT, false }, { ".weight_zero_point", IS(I8), true } }),
    ROW("EETQ", ".weight", IS(I8), ".weight", { { ".weight_scales", FLOAT, false } }),
    ROW("DeepSeek FP4", ".weight", IS(I8), ".weight", { { ".scale", IS(F8_E8M0), false } }),
    ROW("MLX", ".weight", IS(U32), ".weight", {
        { ".scales", ANY, false }, { ".biases", FLOAT, true }, { ".qbiases", FLOAT, true } }),
    ROW("MLX without scales", ".weight", IS(U32), ".weight", { { ".biases", FLOAT, false } }),
    ROW("quanto", "._data", ANY, "", { { "._scale", FLOAT, false }, { "._shift", ANY, true } }),
    ROW("quanto", "._data._data", ANY, "", { { "._scale", FLOAT, false }, { "._shift", ANY, true } }),
    ROW("HQQ", ".W_q", ANY, ".weight", {
        { ".scale", FLOAT, false }, { ".zero", ANY, true }, { ".shape", ANY, true }, { ".nbits", ANY, true },
        { ".group_size", ANY, true }, { ".axis", ANY, true }, { ".packing", ANY, true } }),
    ROW("torchao", "._weight_qdata", ANY, ".weight", {
        { "._weight_scale", ANY, true }, { "._weight_zero_point", ANY, true } }),
    ROW("EXL2", ".q_weight", IS(I32), ".weight", {
        { ".q_scale", ANY, false }, { ".q_groups", ANY, false }, { ".q_scale_max", ANY, true },
        { ".q_invperm", ANY, true }, { ".q_perm", ANY, true } }),
    ROW("EXL3", ".trellis", IS(I16), ".weight", {
        { ".suh", ANY, true }, { ".svh", ANY, true }, { ".su", ANY, true }, { ".sv", ANY, true },
        { ".mcg", ANY, true }, { ".mul1", ANY, true } }),
    ROW("AQLM", ".codes", ANY, ".weight", { { ".codebooks", ANY, false }, { ".scales", ANY, false } }),
    ROW("VPTQ", ".indices", ANY, ".weight", { { ".centroids.weight", ANY, false } }),
    ROW("SpQR", ".dense_weights", IS(I64), ".weight", {
        { ".row_offsets", ANY, false }, { ".col_vals", ANY, false }, { ".in_perm", ANY, true } }),
    ROW("QuIP#", ".Qidxs", ANY, ".weight", {
        { ".SU", ANY, false }, { ".SV", ANY, false }, { ".Wscale", ANY, true }, { ".codebook_id", ANY, true } }),
    ROW("sparse bitmask", ".compressed", ANY, "", {
        { ".bitmask", IS(U8), false }, { ".shape", ANY, false }, { ".row_offsets", ANY, true } }),
    ROW("Marlin", ".B", IS(I32), ".weight", {
        { ".s", FLOAT, false }, { ".workspace", ANY, true }, { ".s_channel", ANY, true }, { ".s_group", ANY, true } }),
    ROW("FP-Quant", ".qweight", IS(U8), ".weight", {
        { ".scales", ANY, false }, { ".forward_hadamard_matrix", ANY, false },
        { ".backward_hadamard_matrix", ANY, true }, { ".global_scale", ANY, true } }),
};

const size_t recognised_count = sizeof recognised / sizeof *recognised;
