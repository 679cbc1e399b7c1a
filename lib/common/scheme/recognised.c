/* One row a scheme: what its codes are called, what lies beside them, what the decoded weight is called. The order and
 * the evidence are those of schemes.md 1.2: rows that share names stand together, and the shapes tell them apart
 * (`is`). What a row is sure of and finds broken is malformed: a companion missing or of another type, or shapes that
 * do not agree (`fits`). Names that the sheet does not have are those of the projects' own loaders: QServe (omniserve,
 * SGLang qoq.py), nunchaku and deepcompressor, BitBLAS (GPTQModel), HIGGS (FLUTE), QQQ, FP-Quant, Four Over Six,
 * LUT-GEMM, gemma_pytorch, QTIP, DeepSpeed FP6, NVFP4 and Gemma as transformers saves them.
 */
#include "scheme/recognised.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/str.h"
#include "scheme/claims.h"
#include "scheme/swizzle.h"

#define IS(type) (UINT64_C(1) << DTYPE_##type)

enum {
    ANY = 0,                    /* no condition */
    COMPANIONS = 20
};
#define FLOAT (IS(F16) | IS(BF16) | IS(F32) | IS(F64))
#define E8M0 (IS(U8) | IS(F8_E8M0))
#define FP4 (IS(U8) | IS(F4))
#define FP8 (IS(F8_E4M3) | IS(F8_E5M2))

enum presence {
    EVIDENCE,                   /* not there, or of another type: another scheme */
    REQUIRED,
    OPTIONAL
};

/* A tensor beside the codes: base + suffix. */
struct beside {
    const char *suffix;
    uint64_t dtypes;            /* a set of types, or ANY */
    enum presence need;
};

/* The tensors of a weight; `with` in the order of the row. */
struct parts {
    const struct claims *claims;
    const struct tensor *codes, *const *with;
};

struct pattern {
    const char *codes;          /* suffix of the codes' name; what is before it is the base */
    uint64_t dtypes;            /* of the codes */
    const char *becomes;        /* suffix of the decoded weight, after the base */
    bool (*is)(const struct parts *p);          /* NULL, or whether the shapes are those of this row */
    bool (*fits)(const struct parts *p);        /* NULL, or whether the shapes agree; else ERR_MALFORMED ... */
    const char *shapes;                         /* ... which says what they are: "scales of ..." */
    struct beside beside[COMPANIONS];
};

/* --- shapes. The last two dimensions are a matrix; those before it are experts, and everyone has the same of them. */

static uint64_t
dim_back(const struct tensor *t, uint32_t i)
{
    return t->shape.rank > i ? shape_dim(&t->shape, t->shape.rank - 1 - i) : 1;
}

static uint64_t rows(const struct tensor *t) { return dim_back(t, 1); }
static uint64_t cols(const struct tensor *t) { return dim_back(t, 0); }

/* Bytes of codes a row: an F4 shape counts elements. */
static uint64_t
row_bytes(const struct tensor *t)
{
    return t->dtype == DTYPE_F4 ? cols(t) / 2 : cols(t);
}

static bool
same_experts(const struct tensor *a, const struct tensor *b)
{
    uint32_t rank = a->shape.rank;
    return rank >= 2 && rank == b->shape.rank
        && shape_same(&a->shape, &b->shape, rank - 2);
}

/* Two matrices with as many rows, for as many experts. */
static bool
same_rows(const struct tensor *a, const struct tensor *b)
{
    return same_experts(a, b) && rows(a) == rows(b);
}

static bool
same_shape(const struct tensor *a, const struct tensor *b)
{
    return a->shape.rank == b->shape.rank
        && shape_same(&a->shape, &b->shape, a->shape.rank);
}

static bool
is_one(const struct tensor *t)
{
    uint64_t n;
    return shape_numel(&t->shape, &n) && n == 1;
}

/* One value, or one an expert of the codes. */
static bool
is_one_each(const struct tensor *t, const struct tensor *codes)
{
    return is_one(t) || (codes->shape.rank == 3 && t->shape.rank == 1
        && shape_dim(&t->shape, 0) == shape_dim(&codes->shape, 0));
}

/* Whether k scales can cover n elements: groups of n/k, or blocks of a power of two with a short last one. */
static bool
covers(uint64_t n, uint64_t k)
{
    if (k == 0)
        return n == 0;
    if (n % k == 0)
        return true;
    for (uint64_t b = 1; b < n && b <= UINT64_C(1) << 62; b *= 2)
        if (num_ceil_div(n, b) == k)
            return true;
    return false;
}

/* A scale of `out` rows: one, [out], or a matrix whose rows are `out` or blocks of it. */
static bool
scales_rows(const struct tensor *scale, const struct tensor *codes, uint64_t out)
{
    if (is_one_each(scale, codes))
        return true;
    if (scale->shape.rank == 1)
        return codes->shape.rank == 2 && shape_dim(&scale->shape, 0) == out;
    return same_experts(scale, codes) && covers(out, rows(scale));
}

/* --- what tells rows apart, and what must agree */

/* qweight I32; scales, qzeros, g_idx. */
enum { SCALES, QZEROS, G_IDX };

static bool
is_gptq(const struct parts *p)
{
    return p->with[G_IDX] || (p->codes->shape.rank == 2 && cols(p->codes) == cols(p->with[SCALES]));
}

/* Some number of bits that qweight [in * bits/32, out], qzeros [G, out * bits/32] and g_idx [in] share. */
static bool
gptq_fits(const struct parts *p)
{
    const struct tensor *scales = p->with[SCALES], *zeros = p->with[QZEROS], *g_idx = p->with[G_IDX];
    uint64_t words = rows(p->codes), out = cols(p->codes), groups = rows(scales);
    if (p->codes->shape.rank != 2 || scales->shape.rank != 2 || cols(scales) != out || words > UINT64_MAX / 32
        || out > UINT64_MAX / 32 || (zeros && (zeros->shape.rank != 2 || rows(zeros) != groups))
        || (g_idx && g_idx->shape.rank != 1))
        return false;
    for (uint64_t bits = 2; bits <= 8; bits++) {
        uint64_t in = words * 32 / bits;
        if (words * 32 % bits == 0 && groups <= in && (groups != 0 || in == 0)
            && (!zeros || cols(zeros) == num_ceil_div(out * bits, 32)) && (!g_idx || shape_dim(&g_idx->shape, 0) == in))
            return true;
    }
    return false;
}

static bool
is_awq_gemm(const struct parts *p)
{
    return p->codes->shape.rank == 2 && cols(p->with[SCALES]) % 8 == 0 && cols(p->codes) == cols(p->with[SCALES]) / 8;
}

static bool
awq_gemm_fits(const struct parts *p)
{
    const struct tensor *scales = p->with[SCALES], *zeros = p->with[QZEROS];
    return scales->shape.rank == 2 && rows(scales) != 0 && rows(p->codes) % rows(scales) == 0
        && (!zeros || (zeros->shape.rank == 2 && rows(zeros) == rows(scales) && cols(zeros) == cols(p->codes)));
}

static bool
is_awq_gemv(const struct parts *p)
{
    return p->codes->shape.rank == 2 && p->with[SCALES]->shape.rank == 2 && p->with[QZEROS]
        && rows(p->codes) == rows(p->with[SCALES]);
}

static bool
awq_gemv_fits(const struct parts *p)
{
    const struct tensor *scales = p->with[SCALES], *zeros = p->with[QZEROS];
    return same_rows(zeros, scales) && cols(scales) % 8 == 0 && cols(zeros) == cols(scales) / 8;
}

/* scales, qzeros, scaled_zeros: one name of the two. */
static bool
gemv_fast_fits(const struct parts *p)
{
    const struct tensor *scales = p->with[0], *zeros = p->with[1] ? p->with[1] : p->with[2];
    return zeros && !(p->with[1] && p->with[2]) && p->codes->shape.rank == 2 && scales->shape.rank == 2
        && same_shape(zeros, scales) && cols(scales) % 4 == 0 && cols(scales) / 4 == rows(p->codes);
}

static bool
never(const struct parts *p)
{
    (void)p;
    return false;
}

/* A scale for each row of the codes in the first companion. */
static bool
row_scales_fit(const struct parts *p)
{
    const struct shape *scale = &p->with[0]->shape;
    return p->codes->shape.rank == 2 && scale->rank == 1 && shape_dim(scale, 0) == rows(p->codes);
}

/* weight_shape, weight_scale, weight_zero_point, weight_g_idx. */
static bool
packed_fits(const struct parts *p)
{
    const struct tensor *shape = p->with[0], *scale = p->with[1], *zero = p->with[2], *g_idx = p->with[3];
    uint64_t out = rows(p->codes), groups = scale->shape.rank >= 2 ? cols(scale) : 1;
    if (p->codes->shape.rank < 2 || cols(shape) < 2 || !scales_rows(scale, p->codes, out))
        return false;
    if (zero && zero->dtype == DTYPE_I8 && !is_one(zero) && !same_shape(zero, scale))
        return false;
    if (zero && zero->dtype == DTYPE_I32 && !is_one(scale) && (cols(zero) != groups || rows(zero) > out))
        return false;
    return !g_idx || g_idx->shape.rank == 1;
}

/* 4-bit codes with a scale for `each` bytes of them; the scale is the first companion. */
static bool
scale_each(const struct parts *p, uint64_t each)
{
    const struct tensor *scale = p->with[0];
    return same_rows(p->codes, scale) && cols(scale) <= UINT64_MAX / each && row_bytes(p->codes) == cols(scale) * each;
}

static bool
nvfp4_fits(const struct parts *p)
{
    return scale_each(p, 8) && is_one_each(p->with[1], p->codes);
}

static bool
mxfp4_fits(const struct parts *p)
{
    return scale_each(p, 16);
}

static bool
mxfp6_fits(const struct parts *p)
{
    return scale_each(p, 24);
}

static bool
is_swizzled(const struct parts *p)
{
    return swizzle_of(p->claims, p->codes, p->with[0]) == GRID_SWIZZLED;
}

static bool
is_either(const struct parts *p)
{
    return swizzle_of(p->claims, p->codes, p->with[0]) == GRID_EITHER;
}

/* Plain, or experts stored transposed: codes [E, in/2, out], scales [E, in/16, out]. */
static bool
modelopt_fits(const struct parts *p)
{
    const struct tensor *scale = p->with[0];
    bool transposed = p->codes->shape.rank == 3 && same_experts(scale, p->codes) && cols(scale) == cols(p->codes)
        && rows(p->codes) % 8 == 0 && rows(scale) == rows(p->codes) / 8;
    return (transposed || swizzle_of(p->claims, p->codes, scale) == GRID_PLAIN) && is_one_each(p->with[1], p->codes);
}

/* Two rows of codes in a byte. */
static bool
is_int4(const struct parts *p)
{
    const struct tensor *scale = p->with[0];
    return same_experts(scale, p->codes) && rows(scale) != 0 && rows(scale) % 2 == 0
        && rows(scale) / 2 == rows(p->codes);
}

static bool
int4_fits(const struct parts *p)
{
    return covers(cols(p->codes), cols(p->with[0]));
}

/* Eight codes in three bytes. */
static bool
is_int3(const struct parts *p)
{
    const struct tensor *scale = p->with[0];
    return same_rows(scale, p->codes) && !is_one(scale) && cols(p->codes) % 3 == 0 && cols(scale) != 0
        && cols(p->codes) / 3 <= UINT64_MAX / 8 && cols(p->codes) / 3 * 8 % cols(scale) == 0;
}

/* One scale a row, beside codes of any width. */
static bool
is_by_rows(const struct parts *p)
{
    return p->codes->shape.rank == 2 && same_rows(p->with[0], p->codes) && cols(p->with[0]) == 1
        && rows(p->codes) > 1;
}

static bool
is_bitnet(const struct parts *p)
{
    return p->codes->shape.rank == 2 && is_one(p->with[0]);
}

/* X_blocks [..., G, 16], X_scales [..., G]. */
static bool
gptoss_fits(const struct parts *p)
{
    const struct shape *blocks = &p->codes->shape, *scales = &p->with[0]->shape;
    return blocks->rank >= 2 && scales->rank == blocks->rank - 1 && shape_dim(blocks, blocks->rank - 1) == 16
        && shape_same(blocks, scales, scales->rank);
}

/* weight_scale, weight_zero_point. */
static bool
int8_fits(const struct parts *p)
{
    const struct tensor *scale = p->with[0], *zero = p->with[1];
    return p->codes->shape.rank >= 2 && scales_rows(scale, p->codes, rows(p->codes))
        && (scale->shape.rank < 2 || covers(cols(p->codes), cols(scale))) && (!zero || same_shape(zero, scale));
}

static bool
eetq_fits(const struct parts *p)
{
    uint64_t n;
    return p->codes->shape.rank == 2 && shape_numel(&p->with[0]->shape, &n) && n == cols(p->codes);
}

/* Groups of 16 or 32, two codes a byte. */
static bool
deepseek_fp4_fits(const struct parts *p)
{
    return scale_each(p, 8) || scale_each(p, 16);
}

/* scales, biases: 32-bit words of 2 to 8 bits in groups of 16 to 128. */
static bool
mlx_fits(const struct parts *p)
{
    const struct tensor *scales = p->with[0], *biases = p->with[1];
    if (!same_rows(p->codes, scales) || (biases && !same_shape(biases, scales)) || cols(p->codes) > UINT64_MAX / 32)
        return false;
    for (uint64_t group = 16; group <= 128; group *= 2)
        for (uint64_t bits = 2; bits <= 8; bits++)
            if (cols(scales) <= UINT64_MAX / 1024 && cols(scales) * group * bits == cols(p->codes) * 32)
                return true;
    return false;
}

/* scale, zero, scale_q, zero_q: W_q of an integer type is sure, W_q of a float type may be a plain matrix. */
static bool
is_hqq(const struct parts *p)
{
    return !dtype_is_float(p->codes->dtype) || p->with[0] || p->with[2];
}

static bool
hqq_fits(const struct parts *p)
{
    return (p->with[0] || p->with[2]) && (p->with[1] || p->with[3]);
}

static bool
is_rank_3(const struct parts *p)
{
    return p->codes->shape.rank == 3;
}

/* --- the rows */

static bool
type_is(uint64_t dtypes, const struct tensor *t)
{
    return dtypes == ANY || (t->dtype < DTYPE_SCALARS && (dtypes & UINT64_C(1) << t->dtype) != 0);
}

static bool
bad_type(const struct scheme *self, const struct beside *beside, const struct tensor *t, struct err *err)
{
    char name[STR_SHOWN], types[128] = "";
    size_t n = 0;
    for (enum dtype d = 0; d < DTYPE_SCALARS; d++)
        if (beside->dtypes & UINT64_C(1) << d && n < sizeof types)
            n += (size_t)snprintf(types + n, sizeof types - n, "%s%s", n ? ", " : "", dtype_name(d));
    return err_set(err, ERR_MALFORMED, t->extent.at, "tensor %s: is %s, expected %s beside the codes of %s",
        str_shown(name, t->name, t->name_len), dtype_name(t->dtype), types, self->name);
}

static bool
bad_shapes(const struct scheme *self, const struct parts *p, struct err *err)
{
    char name[STR_SHOWN], shape[SHAPE_TEXT], found[3 * SHAPE_TEXT] = "";
    size_t n = 0;
    for (size_t i = 0; i < COMPANIONS && self->pattern->beside[i].suffix; i++)
        if (p->with[i] && n < sizeof found)
            n += (size_t)snprintf(found + n, sizeof found - n, "%s %s %s %s", n ? "," : "; found",
                self->pattern->beside[i].suffix + 1, dtype_name(p->with[i]->dtype),
                shape_text(shape, &p->with[i]->shape));
    return err_set(err, ERR_MALFORMED, p->codes->extent.at, "tensor %s: %s %s is no %s: expected %s%s",
        str_shown(name, p->codes->name, p->codes->name_len), dtype_name(p->codes->dtype),
        shape_text(shape, &p->codes->shape), self->name, self->pattern->shapes, found);
}

/* The companions of a weight: all that there are, but those that tell other schemes apart only of the right type. */
static bool
find_companions(const struct claims *c, const struct pattern *p, const struct part_name *name,
    const struct tensor *found[COMPANIONS])
{
    for (size_t i = 0; i < COMPANIONS && p->beside[i].suffix; i++) {
        found[i] = claims_find(c, name->base, name->base_len, p->beside[i].suffix);
        if (p->beside[i].need == EVIDENCE && (!found[i] || !type_is(p->beside[i].dtypes, found[i])))
            return false;
    }
    return true;
}

static bool
check_companions(const struct scheme *self, const struct parts *p, struct err *err)
{
    const struct beside *beside = self->pattern->beside;
    char name[STR_SHOWN];
    for (size_t i = 0; i < COMPANIONS && beside[i].suffix; i++) {
        if (!p->with[i] && beside[i].need == REQUIRED)
            return err_set(err, ERR_MALFORMED, p->codes->extent.at, "tensor %s: %s has no %s",
                str_shown(name, p->codes->name, p->codes->name_len), self->name, beside[i].suffix + 1);
        if (p->with[i] && !type_is(beside[i].dtypes, p->with[i]))
            return bad_type(self, &beside[i], p->with[i], err);
    }
    return !self->pattern->fits || self->pattern->fits(p) || bad_shapes(self, p, err);
}

static enum claim
claim(const struct scheme *self, struct claims *c, const struct tensor *codes, struct weight *w, struct err *err)
{
    const struct pattern *pattern = self->pattern;
    const struct tensor *found[COMPANIONS] = { 0 };
    const struct parts parts = { c, codes, found };
    struct part_name name;
    if (codes->dtype >= DTYPE_SCALARS || !type_is(pattern->dtypes, codes) || !name_strip(codes, pattern->codes, &name)
        || !find_companions(c, pattern, &name, found) || (pattern->is && !pattern->is(&parts)))
        return CLAIM_NO;
    if (!check_companions(self, &parts, err))
        return CLAIM_FAIL;
    for (size_t i = 0; i < COMPANIONS; i++)
        if (found[i] && !claims_take(c, found[i], codes, err))
            return CLAIM_FAIL;
    w->vague = true;
    bool ok = claims_take_idle(c, codes, err) && claims_rename(c, w, &name, pattern->becomes, err);
    return ok ? CLAIM_YES : CLAIM_FAIL;
}

void
recognised_describe(const struct weight *w, char buf[SCHEME_DETAIL])
{
    snprintf(buf, SCHEME_DETAIL, "%s", w->scheme->name);
}

bool
recognised_as(struct claims *c, struct weight *w, const char *name, struct err *err)
{
    size_t n = strlen(name) + 1;
    struct scheme *scheme = claims_alloc(c, sizeof *scheme + n, err);
    if (!scheme)
        return false;
    *scheme = *w->scheme;
    scheme->name = memcpy(scheme + 1, name, n);
    w->scheme = scheme;
    w->vague = true;
    return true;
}

#define ROW(title, ...) { .name = title, .pattern = &(const struct pattern){ __VA_ARGS__ }, .claim = claim, \
    .describe = recognised_describe }

#define GPTQ_PARTS { ".scales", FLOAT, EVIDENCE }, { ".qzeros", IS(I32), OPTIONAL }, { ".g_idx", IS(I32), OPTIONAL }

#define HQQ_FIELDS { ".shape", ANY, OPTIONAL }, { ".nbits", ANY, OPTIONAL }, { ".group_size", ANY, OPTIONAL }, \
    { ".axis", ANY, OPTIONAL }, { ".packing", ANY, OPTIONAL }, { ".unpack_view_dtype", ANY, OPTIONAL }, \
    { ".view_as_float", ANY, OPTIONAL }, { ".compute_dtype", ANY, OPTIONAL }, { ".channel_wise", ANY, OPTIONAL }, \
    { ".optimize", ANY, OPTIONAL }, { ".round_zero", ANY, OPTIONAL }, { ".quant_scale", ANY, OPTIONAL }, \
    { ".quant_zero", ANY, OPTIONAL }, { ".offload_meta", ANY, OPTIONAL }, { ".encoded_state_dict", ANY, OPTIONAL }, \
    { ".stores_quant_config", ANY, OPTIONAL }

#define SVDQUANT_PARTS { ".wzeros", ANY, OPTIONAL }, { ".wcscales", ANY, OPTIONAL }, { ".wtscale", ANY, OPTIONAL }, \
    { ".smooth_factor", ANY, OPTIONAL }, { ".smooth_factor_orig", ANY, OPTIONAL }, { ".smooth", ANY, OPTIONAL }, \
    { ".smooth_orig", ANY, OPTIONAL }, { ".proj_down", ANY, OPTIONAL }, { ".proj_up", ANY, OPTIONAL }, \
    { ".lora_down", ANY, OPTIONAL }, { ".lora_up", ANY, OPTIONAL }

#define NVFP4_PARTS { ".weight_scale", IS(F8_E4M3), EVIDENCE }, { ".weight_scale_2", IS(F32), REQUIRED }, \
    { ".pre_quant_scale", FLOAT, OPTIONAL }

#define INT4_PARTS { ".weight_scale", FLOAT, EVIDENCE }, { ".weight_scale_2", FLOAT, OPTIONAL }, \
    { ".pre_quant_scale", FLOAT, OPTIONAL }, { ".weight_zero_point", ANY, OPTIONAL }

const struct scheme recognised[] = {
    ROW("ParoQuant", ".qweight", IS(I32), ".weight", NULL, NULL, NULL, {
        { ".theta", ANY, EVIDENCE }, { ".pairs", ANY, EVIDENCE }, { ".channel_scales", ANY, OPTIONAL },
        { ".scales", ANY, OPTIONAL }, { ".qzeros", ANY, OPTIONAL }, { ".g_idx", ANY, OPTIONAL } }),
    ROW("GPTQ", ".qweight", IS(I32), ".weight", is_gptq, gptq_fits,
        "[in*bits/32, out], scales [G, out], qzeros [G, out*bits/32], g_idx [in]", { GPTQ_PARTS }),
    ROW("AWQ GEMM", ".qweight", IS(I32), ".weight", is_awq_gemm, awq_gemm_fits,
        "[in, out/8], scales [G, out], qzeros [G, out/8]", { GPTQ_PARTS }),
    ROW("AWQ GEMV", ".qweight", IS(I32), ".weight", is_awq_gemv, awq_gemv_fits,
        "[out, in/8], scales [out, 8*n], qzeros [out, n]", { GPTQ_PARTS }),
    ROW("SVDQuant", ".qweight", IS(I8) | IS(I32), ".weight", NULL, NULL, NULL, {
        { ".wscales", ANY, EVIDENCE }, SVDQUANT_PARTS }),
    ROW("GPTQ or AWQ", ".qweight", IS(I32), ".weight", NULL, never, "the shape of one of them", { GPTQ_PARTS }),
    ROW("AWQ GEMV_FAST", ".qweight", IS(I16), ".weight", NULL, gemv_fast_fits,
        "[out/4, in], scales [groups, out] and zeros like them under one name", {
        { ".scales", FLOAT, EVIDENCE }, { ".qzeros", FLOAT, OPTIONAL }, { ".scaled_zeros", FLOAT, OPTIONAL } }),
    ROW("QServe", ".qweight", IS(I8), ".weight", NULL, row_scales_fit, "[out, in/2], s1_scales [out]", {
        { ".s1_scales", FLOAT, EVIDENCE }, { ".s1_szeros", ANY, OPTIONAL }, { ".s2_scales", ANY, OPTIONAL },
        { ".s2_zeros", ANY, OPTIONAL } }),
    ROW("BitBLAS", ".qweight", IS(I8), ".weight", NULL, NULL, NULL, {
        { ".scales", FLOAT, EVIDENCE }, { ".zeros", ANY, OPTIONAL }, { ".qzeros", ANY, OPTIONAL },
        { ".g_idx", ANY, OPTIONAL } }),
    ROW("FP-Quant", ".qweight", IS(U8), ".weight", NULL, NULL, NULL, {
        { ".scales", ANY, EVIDENCE }, { ".forward_hadamard_matrix", ANY, OPTIONAL },
        { ".backward_hadamard_matrix", ANY, OPTIONAL }, { ".weight_global_scale", ANY, OPTIONAL },
        { ".act_global_scale", ANY, OPTIONAL }, { ".global_scale", ANY, OPTIONAL } }),
    ROW("Four Over Six", ".quantized_weight_values", IS(U8), ".weight", NULL, NULL, NULL, {
        { ".quantized_weight_scale_factors", ANY, REQUIRED }, { ".quantized_weight_amax", ANY, OPTIONAL },
        { ".quantized_weight_metadata", ANY, OPTIONAL } }),
    ROW("Four Over Six", ".weight_e2m1", IS(U8), ".weight", NULL, NULL, NULL, {
        { ".weight_sf", ANY, REQUIRED }, { ".weight_amax", ANY, OPTIONAL }, { ".weight_normconst", ANY, OPTIONAL } }),

    ROW("compressed-tensors marlin-24", ".weight_packed", IS(I32), ".weight", NULL, NULL, NULL, {
        { ".scale_packed", ANY, EVIDENCE }, { ".meta", ANY, EVIDENCE } }),
    ROW("compressed-tensors pack-quantized", ".weight_packed", IS(I32), ".weight", NULL, packed_fits,
        "[out, words], weight_scale of out rows, weight_zero_point of as many groups", {
        { ".weight_shape", IS(I64) | IS(I32), REQUIRED }, { ".weight_scale", FLOAT, REQUIRED },
        { ".weight_zero_point", IS(I32) | IS(I8), OPTIONAL }, { ".weight_g_idx", IS(I32), OPTIONAL } }),
    ROW("compressed-tensors NVFP4", ".weight_packed", FP4, ".weight", NULL, nvfp4_fits,
        "[out, in/2], weight_scale [out, in/16], one weight_global_scale", {
        { ".weight_scale", IS(F8_E4M3), EVIDENCE }, { ".weight_global_scale", IS(F32), REQUIRED } }),
    ROW("compressed-tensors MXFP4", ".weight_packed", FP4, ".weight", NULL, mxfp4_fits,
        "[out, in/2], weight_scale [out, in/32]", { { ".weight_scale", E8M0, EVIDENCE } }),

    ROW("ModelOpt NVFP4_SVD", ".weight", FP4 | FP8, ".weight", NULL, NULL, NULL, {
        { ".svdquant_lora_a", ANY, EVIDENCE }, { ".svdquant_lora_b", ANY, OPTIONAL },
        { ".weight_scale", ANY, OPTIONAL }, { ".weight_scale_2", ANY, OPTIONAL },
        { ".pre_quant_scale", ANY, OPTIONAL } }),
    ROW("NVFP4 in ComfyUI's order, without its marker", ".weight", FP4, ".weight",
        is_swizzled, NULL, NULL, { NVFP4_PARTS }),
    ROW("NVFP4 of ModelOpt or ComfyUI, which config.json has to tell", ".weight", FP4, ".weight",
        is_either, NULL, NULL, { NVFP4_PARTS }),
    ROW("ModelOpt NVFP4", ".weight", FP4, ".weight", NULL, modelopt_fits,
        "[out, in/2], weight_scale [out, in/16], one weight_scale_2", { NVFP4_PARTS }),
    ROW("MXFP4", ".weight", FP4, ".weight", mxfp4_fits, NULL, NULL, { { ".weight_scale", E8M0, EVIDENCE } }),
    ROW("Quark MXFP6", ".weight", IS(U8), ".weight", mxfp6_fits, NULL, NULL, { { ".weight_scale", E8M0, EVIDENCE } }),
    ROW("MXFP4 or MXFP6", ".weight", FP4, ".weight", NULL, never, "16 or 24 bytes of codes for each weight_scale",
        { { ".weight_scale", E8M0, EVIDENCE } }),
    ROW("BitNet", ".weight", IS(U8), ".weight", is_bitnet, NULL, NULL, { { ".weight_scale", FLOAT, EVIDENCE } }),
    ROW("transformers NVFP4", ".weight", FP4, ".weight", NULL, NULL, NULL, {
        { ".weight_sf", ANY, EVIDENCE }, { ".weight_sf_rowmajor", ANY, OPTIONAL },
        { ".weight_global_scale", ANY, OPTIONAL } }),
    ROW("Gemma INT8, INT4 or INT2", ".weight", IS(U8) | IS(I8), ".weight", NULL, NULL, NULL, {
        { ".weight_scale", FLOAT, EVIDENCE }, { ".input_activation_scale", FLOAT, EVIDENCE },
        { ".output_activation_scale", FLOAT, OPTIONAL } }),
    ROW("Gemma INT8, INT4 or INT2", ".embedding_quantized", IS(U8) | IS(I8), ".weight", NULL, NULL, NULL, {
        { ".embedding_scale", FLOAT, EVIDENCE } }),
    ROW("Gemma INT4 or INT2, or Quark INT3", ".weight", IS(U8), ".weight", is_by_rows, NULL, NULL, { INT4_PARTS }),
    ROW("ModelOpt INT4", ".weight", IS(U8), ".weight", is_int4, int4_fits, "[out/2, in], weight_scale [out, in/group]",
        { INT4_PARTS }),
    ROW("Quark INT3", ".weight", IS(U8), ".weight", is_int3, NULL, NULL, { INT4_PARTS }),
    ROW("ModelOpt INT4, Quark INT3 or BitNet", ".weight", IS(U8), ".weight", NULL, never, "the shapes of one of them",
        { INT4_PARTS }),
    ROW("Quark INT4 (reorder)", ".weight", IS(I32), ".weight", NULL, NULL, NULL, {
        { ".weight_scale", FLOAT, EVIDENCE }, { ".weight_zero_point", ANY, OPTIONAL } }),
    ROW("gpt-oss MXFP4", "_blocks", IS(U8), "", NULL, gptoss_fits, "[..., groups, 16], scales [..., groups]",
        { { "_scales", IS(U8), EVIDENCE } }),
    ROW("gpt-oss MXFP4", ".blocks", IS(U8), "", NULL, gptoss_fits, "[..., groups, 16], scales [..., groups]",
        { { ".scales", IS(U8), EVIDENCE } }),

    ROW("W4AFP8", ".weight", IS(I8) | IS(U8), ".weight", NULL, NULL, NULL,
        { { ".weight_scale_inv", FLOAT, EVIDENCE } }),
    ROW("INT8", ".weight", IS(I8), ".weight", NULL, int8_fits,
        "[out, in], weight_scale of one, out or out x groups, weight_zero_point like it", {
        { ".weight_scale", FLOAT, EVIDENCE }, { ".weight_zero_point", IS(I8), OPTIONAL },
        { ".pre_quant_scale", FLOAT, OPTIONAL } }),
    ROW("EETQ", ".weight", IS(I8), ".weight", NULL, eetq_fits, "[in, out], weight_scales [out]",
        { { ".weight_scales", FLOAT, EVIDENCE } }),
    ROW("gemma_pytorch INT8", ".weight", IS(I8), ".weight", NULL, row_scales_fit, "[out, in], weight_scaler [out]",
        { { ".weight_scaler", FLOAT, EVIDENCE } }),
    ROW("DeepSeek FP4", ".weight", IS(I8) | IS(F4), ".weight", NULL, deepseek_fp4_fits,
        "16 or 32 codes, two a byte, for each scale", { { ".scale", IS(F8_E8M0), EVIDENCE } }),
    ROW("HIGGS", ".weight", IS(I16), ".weight", NULL, NULL, NULL, {
        { ".tables", ANY, EVIDENCE }, { ".scales", ANY, REQUIRED }, { ".tables2", ANY, OPTIONAL } }),

    ROW("MLX", ".weight", IS(U32), ".weight", NULL, mlx_fits,
        "[out, words], scales [out, groups] of 16 to 128 codes, biases like them", {
        { ".scales", ANY, EVIDENCE }, { ".biases", FLOAT, OPTIONAL }, { ".qbiases", FLOAT, OPTIONAL } }),
    ROW("MLX without scales", ".weight", IS(U32), ".weight", NULL, NULL, NULL, { { ".biases", FLOAT, EVIDENCE } }),
    ROW("quanto", "._data", ANY, "", NULL, NULL, NULL, {
        { "._scale", FLOAT, EVIDENCE }, { "._shift", ANY, OPTIONAL } }),
    ROW("quanto", "._data._data", ANY, "", NULL, NULL, NULL, {
        { "._scale", FLOAT, EVIDENCE }, { "._shift", ANY, OPTIONAL } }),
    ROW("SINQ", ".W_q", ANY, ".weight", NULL, NULL, NULL, {
        { ".scale2", ANY, EVIDENCE }, { ".scale", ANY, OPTIONAL }, { ".zero", ANY, OPTIONAL }, HQQ_FIELDS }),
    ROW("SINQ", ".W_q", ANY, ".weight", NULL, NULL, NULL, {
        { ".scale_2", ANY, EVIDENCE }, { ".scale", ANY, OPTIONAL }, { ".zero", ANY, OPTIONAL }, HQQ_FIELDS }),
    ROW("HQQ", ".W_q", ANY, ".weight", is_hqq, hqq_fits, "scale and zero beside it", {
        { ".scale", FLOAT, OPTIONAL }, { ".zero", FLOAT, OPTIONAL }, { ".scale_q", ANY, OPTIONAL },
        { ".zero_q", ANY, OPTIONAL }, HQQ_FIELDS }),
    ROW("torchao", "._weight_qdata", ANY, ".weight", NULL, NULL, NULL, {
        { "._weight_scale", ANY, OPTIONAL }, { "._weight_zero_point", ANY, OPTIONAL },
        { "._weight_per_tensor_scale", ANY, OPTIONAL }, { "._weight_act_per_tensor_scale", ANY, OPTIONAL } }),
    ROW("EXL2", ".q_weight", IS(I32), ".weight", NULL, NULL, NULL, {
        { ".q_scale", ANY, EVIDENCE }, { ".q_groups", ANY, EVIDENCE }, { ".q_scale_max", ANY, OPTIONAL },
        { ".q_invperm", ANY, OPTIONAL }, { ".q_perm", ANY, OPTIONAL }, { ".q_group_map", ANY, OPTIONAL } }),
    ROW("EXL3", ".trellis", IS(I16), ".weight", is_rank_3, NULL, NULL, {
        { ".suh", ANY, OPTIONAL }, { ".svh", ANY, OPTIONAL }, { ".su", ANY, OPTIONAL }, { ".sv", ANY, OPTIONAL },
        { ".mcg", ANY, OPTIONAL }, { ".mul1", ANY, OPTIONAL } }),
    ROW("QTIP", ".trellis", IS(I16), ".weight", NULL, NULL, NULL, {
        { ".SU", ANY, EVIDENCE }, { ".SV", ANY, EVIDENCE }, { ".rcp", ANY, OPTIONAL }, { ".tp_rank", ANY, OPTIONAL },
        { ".tlut", ANY, OPTIONAL } }),
    ROW("AQLM", ".codes", ANY, ".weight", NULL, NULL, NULL, {
        { ".codebooks", ANY, EVIDENCE }, { ".scales", ANY, EVIDENCE } }),
    ROW("VPTQ", ".indices", ANY, ".weight", NULL, NULL, NULL, {
        { ".centroids.weight", ANY, EVIDENCE }, { ".res_indices", ANY, OPTIONAL },
        { ".res_centroids.weight", ANY, OPTIONAL }, { ".outlier_indices", ANY, OPTIONAL },
        { ".outlier_centroids.weight", ANY, OPTIONAL }, { ".perm", ANY, OPTIONAL }, { ".weight_scale", ANY, OPTIONAL },
        { ".weight_bias", ANY, OPTIONAL } }),
    ROW("SpQR", ".dense_weights", IS(I64), ".weight", NULL, NULL, NULL, {
        { ".row_offsets", ANY, EVIDENCE }, { ".col_vals", ANY, EVIDENCE }, { ".in_perm", ANY, OPTIONAL } }),
    ROW("QuIP#", ".Qidxs", ANY, ".weight", NULL, NULL, NULL, {
        { ".SU", ANY, EVIDENCE }, { ".SV", ANY, EVIDENCE }, { ".Wscale", ANY, OPTIONAL },
        { ".codebook_id", ANY, OPTIONAL } }),
    ROW("sparse bitmask", ".compressed", ANY, "", NULL, NULL, NULL, {
        { ".bitmask", IS(U8), EVIDENCE }, { ".shape", ANY, REQUIRED }, { ".row_offsets", ANY, OPTIONAL },
        { ".weight_scale", ANY, OPTIONAL }, { "_scale", ANY, OPTIONAL } }),
    ROW("QQQ", ".B", IS(I32), ".weight", NULL, NULL, NULL, {
        { ".s_channel", ANY, EVIDENCE }, { ".s_group", ANY, OPTIONAL }, { ".workspace", ANY, OPTIONAL },
        { ".reduce_buffer", ANY, OPTIONAL } }),
    ROW("Marlin", ".B", IS(I32), ".weight", NULL, NULL, NULL, {
        { ".s", FLOAT, EVIDENCE }, { ".workspace", ANY, OPTIONAL } }),
    ROW("LUT-GEMM", ".binary", IS(I32), ".weight", NULL, NULL, NULL, {
        { ".alpha", ANY, EVIDENCE }, { ".q_bias", ANY, OPTIONAL } }),
    ROW("LUT-GEMM", ".binaryWeight", IS(I32), ".weight", NULL, NULL, NULL, {
        { ".alpha", ANY, EVIDENCE }, { ".q_bias", ANY, OPTIONAL } }),
    ROW("DeepSpeed FP6", ".weights_4bit", ANY, ".weight", NULL, NULL, NULL, {
        { ".weights_2bit", ANY, EVIDENCE }, { ".scales", ANY, OPTIONAL } }),
};

const size_t recognised_count = sizeof recognised / sizeof *recognised;
