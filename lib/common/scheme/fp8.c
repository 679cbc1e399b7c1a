/* FP8 weights: recognises them and their companions. fp8_grid.c maps the scale to elements, fp8_decode.c decodes.
 *
 *     P.weight  or  X              float8 codes
 *     P.weight_scale_inv, X_scale_inv, X_scale, X_scales_inv, X_weight_scale (ModelOpt's experts), P.scale,
 *     P.qscale_weight, P.scale_weight
 *     Q.weight_scale               [1], where P is Q.part_N: a table in parts with one scale
 *     P.pre_quant_scale            [in] a factor for each column, folded into the weight (smooth.h)
 *     P.weight_zero_point          all zero; ModelSlim calls it P.weight_offset
 *
 * Scales are factors. GPTQModel's weight_scale_inv is a divisor, which weight_scale_semantics in config.json declares.
 *
 * transformers may save the experts of a mixture separately but with fused scales: P.experts.N.gate_proj.weight with
 * P.experts.gate_up_proj_scale_inv [E, ...], where gate is above up. Mixtral names them w1, w3 and w2.
 */
#include "scheme/fp8.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/str.h"
#include "scheme/comfy_marker.h"
#include "scheme/dim.h"
#include "scheme/fp8_priv.h"
#include "scheme/smooth.h"
#include "scheme/swizzle.h"
#include "scheme/zeros.h"

/* Sees the weight as E matrices of R x C. Rank 3 is stacked experts; any other rank is one matrix. */
static struct fp8_cover
matrices(const struct weight *w, struct fp8_weight *f)
{
    const struct shape *s = &w->part[CODES]->shape;
    struct fp8_cover m = { .experts = 1, .rows = 1, .cols = 1, .stacked = s->rank == 3 };
    uint32_t i = 0;
    if (m.stacked)
        m.experts = shape_dim(s, i++);
    if (s->rank >= 2)
        m.rows = shape_dim(s, i++);
    for (; i < s->rank; i++)
        m.cols *= shape_dim(s, i);    /* no overflow: bounded by the tensor's size, which was checked */
    f->rows = m.rows;
    f->cols = m.cols;
    return m;
}

/* --- experts with a fused scale */

enum expert { GATE, UP, DOWN, EXPERT_KINDS };

/* The names of an expert's modules in three kinds of models. */
static const char *const expert_kinds[] = { ".gate_proj", ".up_proj", ".down_proj", ".w1", ".w3", ".w2", ".fc1", ".fc3", ".fc2" };
enum { EXPERT_NAMES = sizeof expert_kinds / sizeof *expert_kinds };

/* The names of a scale that experts share, of the first two kinds and of the third. */
enum { FUSED_NAMES = 3 };
static const char *const fused_names[2][FUSED_NAMES] = {
    { "gate_up_proj_scale_inv", "gate_up_proj_scale", "gate_up_proj_scales_inv" },
    { "down_proj_scale_inv", "down_proj_scale", "down_proj_scales_inv" },
};

/* Parses P.experts.N.KIND.weight: N, the length of "P.experts.", and KIND. */
static bool
is_expert(const struct tensor *codes, uint64_t *expert, size_t *base_len, enum expert *kind)
{
    static const char experts[] = "experts.";
    char digits[20] = { 0 };
    struct part_name p;
    if (codes->shape.rank != 2 || !claims_strip_name(codes, ".weight", &p))
        return false;
    const char *dot = NULL;
    for (size_t i = 0; i < EXPERT_NAMES && !dot; i++) {
        size_t n = p.base_len;
        if (str_strip(p.base, &n, expert_kinds[i]) && n != 0)
            dot = p.base + n;
        *kind = i % EXPERT_KINDS;
    }
    const char *first = dot;
    while (first && first > p.base && isdigit((unsigned char)first[-1]))
        first--;
    size_t n = (size_t)(dot - first), len = sizeof experts - 1;
    *base_len = (size_t)(first - p.base);
    if (!dot || n == 0 || n >= sizeof digits || *base_len < len || memcmp(first - len, experts, len) != 0)
        return false;
    return str_to_u64(expert, memcpy(digits, first, n));
}

/* Finds the scale that an expert shares with the others, and sets *m to what it covers and the position of the weight in it.
 * NULL if there is none. */
static const struct tensor *
find_fused(const struct claims *c, const struct tensor *codes, struct fp8_cover *m)
{
    uint64_t expert;
    size_t base_len;
    enum expert kind;
    if (!is_expert(codes, &expert, &base_len, &kind))
        return NULL;
    for (size_t i = 0; i < FUSED_NAMES; i++) {
        const struct tensor *t = claims_find(c, codes->name, base_len, fused_names[kind == DOWN][i]);
        if (!t || t->shape.rank == 0 || expert >= shape_dim(&t->shape, 0))
            continue;
        *m = (struct fp8_cover){ .experts = shape_dim(&t->shape, 0), .rows = m->rows, .cols = m->cols, .stacked = true,
            .expert = expert, .row0 = kind == UP ? m->rows : 0, .split = true };
        if (kind == DOWN || num_mul(&m->rows, m->rows, 2))
            return t;
        return NULL;
    }
    return NULL;
}

/* Returns true if an expert has the module, stored as a float. `base` ends with the number of the expert. */
static bool
is_float_expert(const struct claims *c, const struct part_name *base, uint64_t expert, const char *kind)
{
    char suffix[64];
    snprintf(suffix, sizeof suffix, "%" PRIu64 "%s.weight", expert, kind);
    const struct tensor *t = claims_find(c, base->base, base->base_len, suffix);
    return t && dtype_is_float(t->dtype);
}

bool
fp8_fused_is_unused(const struct claims *c, const struct tensor *scale)
{
    struct part_name p = { 0 };
    size_t fused = 0, names = 2 * FUSED_NAMES;
    while (fused < names && !claims_strip_name(scale, fused_names[fused / FUSED_NAMES][fused % FUSED_NAMES], &p))
        fused++;
    uint64_t experts = 0;
    if (fused < names && scale->shape.rank != 0)
        experts = shape_dim(&scale->shape, 0);
    for (size_t style = 0; style < EXPERT_NAMES; style += EXPERT_KINDS) {
        bool all = experts != 0;
        enum expert first = fused < FUSED_NAMES ? GATE : DOWN, last = fused < FUSED_NAMES ? UP : DOWN;
        for (uint64_t e = 0; e < experts && all; e++)
            for (enum expert kind = first; kind <= last && all; kind++)
                all = is_float_expert(c, &p, e, expert_kinds[style + kind]);
        if (all)
            return true;
    }
    return false;
}

/* --- companions */

/* Returns true for a tensor scaled_fp8. It has no data; diffusion models use it to mark a file with P.scale_weight scales. */
static bool
is_marker(const struct tensor *t)
{
    struct part_name p;
    return claims_strip_name(t, "scaled_fp8", &p) && (p.base_len == 0 || p.base[p.base_len - 1] == '.')
        && (dtype_is_float8(t->dtype) || t->dtype == DTYPE_F32);
}

/* --- the rows */

/* Skips markers, which are not weights. */
static enum claim
fp8_choose(struct table_match *f, struct weight *w, struct err *err)
{
    if (is_marker(f->codes))
        return CLAIM_NO;
    return table_match(f, w, err);
}

static bool
is_fused(const struct table_match *f)
{
    struct fp8_cover ignored = { 0 };
    return find_fused(f->claims, f->codes, &ignored) != NULL;
}

/* Finds the one scale of a table that is stored in parts: P.weight_scale of P.part_N.weight, if there is not also a P.weight.
 * NULL if nothing fits. Source: vLLM's loader of Qwen4Exp. */
static const struct tensor *
find_of_table(const struct claims *c, const struct tensor *codes)
{
    struct part_name p;
    uint64_t n;
    if (!claims_strip_name(codes, ".weight", &p))
        return NULL;
    size_t len = p.base_len;
    while (len != 0 && isdigit((unsigned char)p.base[len - 1]))
        len--;
    if (len == p.base_len || len == 0 || p.base[len - 1] != '_')
        return NULL;
    while (len != 0 && p.base[len - 1] != '.')
        len--;
    if (len == 0 || claims_find(c, p.base, len, "weight"))
        return NULL;
    const struct tensor *t = claims_find(c, p.base, len, "weight_scale");
    if (t && dtype_is_float(t->dtype) && shape_numel(&t->shape, &n) && n == 1)
        return t;
    return NULL;
}

static bool
is_of_table(const struct table_match *f)
{
    return find_of_table(f->claims, f->codes) != NULL;
}

/* Excludes F8 scales of something else, and tensors that are not parameters: a name without a module, other than "weight",
 * is data, as in a file of single tensors. */
static bool
is_cast(const struct table_match *f)
{
    struct part_name ignored;
    const struct tensor *t = f->codes;
    return !claims_left(f->claims, t, &ignored) && (memchr(t->name, '.', t->name_len)
        || claims_strip_name(t, "weight", &ignored));
}

#define SCALE_TYPES DTYPE_SET(HAS_FLOAT_16, HAS(F8_E8M0), HAS(U8))

/* Checks the type of a shared scale, which no row defines. */
static bool
check_fused(const struct weight *w, struct err *err)
{
    return dtype_in(SCALE_TYPES, w->part[SCALE]->dtype)
        || table_wrong(w->part[SCALE], w->part[CODES], err, "U8, F8_E8M0, F16, BF16, F32 as scale of FP8");
}

/* Returns true if config.json declares that weight_scale_inv is what its name says. Only GPTQModel does. */
static bool
is_inverse(const struct claims *c, const struct tensor *scale)
{
    struct part_name ignored;
    return scale && config_says(c->config, "weight_scale_semantics", "inverse")
        && claims_strip_name(scale, ".weight_scale_inv", &ignored);
}

static bool
fp8_fit(struct table_match *found, struct weight *w, struct err *err)
{
    struct claims *c = found->claims;
    struct fp8_weight f = { 0 };
    struct fp8_cover m = matrices(w, &f);
    const struct tensor *zero = table_found(found, ROLE_ZERO_POINT);
    bool of_table = found->row->is == is_of_table;
    if (found->row->is == is_fused)
        w->part[SCALE] = find_fused(c, found->codes, &m);
    else if (of_table)
        w->part[SCALE] = find_of_table(c, found->codes);
    bool shared = m.split || of_table;
    if (!w->part[SCALE])        /* as if it were 1; fp8_finish decides later if that is allowed */
        fp8_set_single(w, &f, 0);
    bool ok = smooth_check(w->part[SMOOTH], found->codes, f.cols, err) && (!shared || check_fused(w, err))
        && (!w->part[SCALE] || fp8_map_scale(c, w, &f, &m, err))
        && (!shared || claims_share(c, w->part[SCALE], found->codes, ROLE_SCALE, err))
        && (!zero || !w->part[SCALE] || dim_same_count(zero, w->part[SCALE])
            || table_wrong(zero, found->codes, err, "as many values as its scale has"))
        && zeros_check(c, zero, "an FP8 weight", err);
    f.comfy = ok && comfy_marker_is_there(c, found->codes);
    f.divides = ok && is_inverse(c, w->part[SCALE]);
    struct fp8_weight *own = NULL;
    if (ok)
        own = claims_alloc(c, sizeof *own, err);
    if (own)
        *own = f;
    w->own = own;
    return own != NULL;
}

bool
fp8_is(const struct weight *w)
{
    return w->scheme->decode == fp8_decode;
}

bool
fp8_is_scaled(const struct weight *w)
{
    return w->part[SCALE] != NULL;
}

/* --- checks of the whole model */

/* Assigns the markers to the first weight of that form. */
static bool
take_markers(struct claims *c, const struct weight *w, struct err *err)
{
    const struct catalog *catalog = c->catalog;
    for (size_t i = 0; i < catalog_count(catalog); i++) {
        const struct tensor *t = catalog_at(catalog, i);
        if (is_marker(t) && !claims_is_taken(c, t) && !claims_take_for(c, t, w, ROLE_STATE, err))
            return false;
    }
    return true;
}

/* Checks that a tensor is not a weight in floats beside the parts of a table, which all have codes. */
static bool
check_beside_table(const struct roles *roles, const struct claims *c, const struct tensor *t, struct err *err)
{
    struct part_name p;
    char name[STR_SHOWN], shared[STR_SHOWN];
    if (!dtype_is_float(t->dtype) || !claims_strip_name(t, ".weight", &p))
        return true;
    size_t len = p.base_len;
    while (len != 0 && p.base[len - 1] != '.')
        len--;
    const struct tensor *scale = claims_find(c, p.base, len, "weight_scale");
    const struct weight *w = NULL;
    if (scale)
        w = roles_owner(roles, catalog_index(c->catalog, scale));
    return !w || !w->shares || w->part[SCALE] != scale || err_at(err, ERR_MALFORMED, t->extent.at,
        "tensor %s: %s, but the parts of its table share the scale %s of FP8", str_shown(name, t->name, t->name_len),
        dtype_name(t->dtype), str_shown(shared, scale->name, scale->name_len));
}

/* Checks the tables of a model, if it has some. */
static bool
check_tables(const struct roles *roles, const struct claims *c, struct err *err)
{
    bool any = false, ok = true;
    for (size_t i = 0; i < roles_weight_count(roles) && !any; i++)
        any = roles_weight(roles, i)->shares && fp8_is(roles_weight(roles, i));
    for (size_t i = 0; i < catalog_count(c->catalog) && any && ok; i++)
        ok = check_beside_table(roles, c, catalog_at(c->catalog, i), err);
    return ok;
}

bool
fp8_finish(const struct roles *roles, struct claims *c, struct err *err)
{
    size_t taken = 0, missed = 0;
    bool marked = false;
    if (!fp8_check_unscaled(roles, c, err) || !check_tables(roles, c, err))
        return false;
    for (size_t i = 0; i < roles_weight_count(roles); i++) {
        const struct weight *w = roles_weight(roles, i);
        struct part_name ignored;
        if (!fp8_is(w) || !fp8_is_scaled(w))
            continue;
        taken += fp8_own(w)->advice == ADVICE_TAKEN;
        missed += fp8_own(w)->advice == ADVICE_MISSED;
        if (!marked && claims_strip_name(w->part[SCALE], ".scale_weight", &ignored)) {
            marked = true;
            if (!take_markers(c, w, err))
                return false;
        }
    }
    if (taken != 0)
        claims_warn(c, "FP8 scales read with the blocks in config.json, although their shapes suggest others: %zu",
            taken);
    if (missed != 0)
        claims_warn(c, "FP8 scales read as blocks of 128, although an even division fits too (config.json would decide): "
            "%zu", missed);
    return true;
}

/* Returns true for a matrix of parts, where the blocks start again in each part. */
static bool
is_in_parts(const struct weight *w)
{
    return w->shape.rank == 2 && fp8_own(w)->per_expert != 0;
}

static void
fp8_describe(const struct weight *w, char buf[SCHEME_DETAIL])
{
    const char *type = dtype_name(w->part[CODES]->dtype) + 3;
    const struct fp8_weight *f = fp8_own(w);
    bool all_rows = f->b0 >= f->rows, all_cols = f->b1 >= f->cols;
    if (!w->part[SCALE])
        snprintf(buf, SCHEME_DETAIL, "%s, no scale", type);
    else if (f->advice == ADVICE_NEEDED)
        snprintf(buf, SCHEME_DETAIL, "%s, fine-grained scale, block size unknown", type);
    else if (f->tiles != 0)
        snprintf(buf, SCHEME_DETAIL, "%s, fine-grained 1x32 scale in tiles", type);
    else if (all_rows && all_cols && f->per_row == 0)
        snprintf(buf, SCHEME_DETAIL, "%s, per-%s scale", type, f->per_expert ? "expert" : "tensor");
    else if (f->b0 == 1 && all_cols)
        snprintf(buf, SCHEME_DETAIL, "%s, per-channel scale", type);
    else if (f->b1 == 1 && all_rows)
        snprintf(buf, SCHEME_DETAIL, "%s, per-column scale", type);
    else
        snprintf(buf, SCHEME_DETAIL, "%s, fine-grained %" PRIu64 "x%" PRIu64 " scale%s", type, f->b0, f->b1,
            is_in_parts(w) ? " in parts" : "");
}

/* MiniMax's scales are called like those of FP8 in blocks. */
static void
mx_variant(const struct weight *w, char buf[SCHEME_WORD])
{
    const struct tensor *scale = w->part[SCALE];
    struct part_name ignored;
    if (w->part[CODES]->dtype == DTYPE_F8_E4M3 && scale->dtype == DTYPE_U8 && claims_strip_name(scale, ".weight_scale_inv", &ignored))
        snprintf(buf, SCHEME_WORD, "minimax-mxfp8");
}

/* A scale of type E8M0 makes the blocks fp8-ue8m0, which has no form with E5M2. A scale [1, 1] belongs to one block. */
static void
fp8_variant(const struct weight *w, char buf[SCHEME_WORD])
{
    const struct fp8_weight *f = fp8_own(w);
    const struct tensor *codes = w->part[CODES], *scale = w->part[SCALE];
    bool e5m2 = codes->dtype == DTYPE_F8_E5M2, all_cols = f->b1 >= f->cols;
    bool single = f->b0 >= f->rows && all_cols && f->per_row == 0;
    const char *form = NULL;
    if (!scale || f->divides || f->advice == ADVICE_NEEDED || (codes->dtype != DTYPE_F8_E4M3 && !e5m2) || f->b1 == 1
            || is_in_parts(w))
        return;
    if (f->comfy)
        form = e5m2 ? NULL : "comfy-fp8";
    else if (single && scale->shape.rank < 2)
        form = f->per_expert ? NULL : "fp8-per-tensor";
    else if (f->b0 == 1 && all_cols && !single)
        form = "fp8-per-channel";
    else if (scale->dtype == DTYPE_F8_E8M0)
        form = e5m2 ? NULL : "fp8-ue8m0";
    else
        form = "fp8";
    if (form)
        snprintf(buf, SCHEME_WORD, "%s%s", form, e5m2 ? "-e5m2" : "");
}

static void
grid(const struct weight *w, struct weight_grid *g)
{
    const struct fp8_weight *f = fp8_own(w);
    const struct tensor *scale = w->part[SCALE];
    if (w->part[SMOOTH] || f->divides || f->advice == ADVICE_NEEDED || w->part[CODES]->dtype != DTYPE_F8_E4M3)
        return;
    *g = (struct weight_grid){ .codes = GRID_FP8, .bits = 8, .group = f->b1, .scale = scale ? scale->dtype : DTYPE_F32,
        .exact = !scale || scale->dtype != DTYPE_F32 };
    if (g->scale == DTYPE_U8)
        g->scale = DTYPE_F8_E8M0;
}

#define SMOOTH_PART COMPANION(".pre_quant_scale", FLOAT_16, OPTIONAL, SCALE, .part = SMOOTH)
#define ZERO_POINT_PART COMPANION(".weight_zero_point", ANY, OPTIONAL, ZERO_POINT), OR(".weight_offset")

static const struct scheme_row rows[] = {
    { .codes = ".weight", .dtypes = FLOAT8, .becomes = ".weight", WITH(COMPANION(".weight_scale_inv", SCALE_TYPES, NAMED, SCALE, .part = SCALE, .left = LEFT_SCALES),
        OR(".weight_scale", .left = LEFT_BLOCK_SCALES), OR(".weight_scales_inv"), OR(".weight_weight_scale"),
        OR(".scale"), OR(".qscale_weight", .left = LEFT_SCALES), OR(".scale_weight", .left = LEFT_SCALES),
        SMOOTH_PART, ZERO_POINT_PART) },
    { .codes = "", .dtypes = FLOAT8, .becomes = "", .choose = fp8_choose, WITH(COMPANION("_scale_inv", SCALE_TYPES, NAMED, SCALE,
    .part = SCALE, .left = LEFT_SCALES), OR("_scale"),
        OR("_scales_inv"), OR("_weight_scale")) },
    { .codes = ".weight", .dtypes = FLOAT8, .becomes = ".weight", .is = is_fused,
        WITH(SMOOTH_PART, ZERO_POINT_PART) },
    { .codes = ".weight", .dtypes = FLOAT8, .becomes = ".weight", .is = is_of_table },
    { .codes = ".weight", .dtypes = FLOAT8, .becomes = ".weight", WITH(SMOOTH_PART) },
    { .codes = "", .dtypes = FLOAT8, .becomes = "", .choose = fp8_choose, .is = is_cast },
};

#define NEED_RUNS .need = { NEED_RUN, NEED_RUN, NEED_RUN }
/* Without .need. */
#define FP8(code_, name_, ...) { .code = code_, .name = name_, .fit = fp8_fit, .run = fp8_run, .room = sizeof(struct fp8_room), \
    .decode = fp8_decode, .describe = fp8_describe, .grid = grid, __VA_ARGS__ }

/* The first scheme finds all weights; fp8_grid.c decides which scheme they belong to. */
const struct scheme fp8_schemes[] = {
    [FP8_PLAIN] = FP8("fp8", "FP8", NEED_RUNS,
        WORDS({ WORD_METHOD, "fp8" }, { WORD_DESCRIPTION, "WFP8AFP8_DYNAMIC" }, { WORD_SEMANTICS, "inverse" },
            { WORD_METHOD, "w8a8_fp8" }, { WORD_METHOD, "ptpc_fp8" },
            { WORD_METHOD, "fp8_per_tensor" }, { WORD_METHOD, "fp8_per_block" }, { WORD_METHOD, "deepseek_v4_fp8" },
            { WORD_FORMAT, "float-quantized" }, { WORD_FORMAT, "naive-quantized" }, { WORD_FORMAT, "fp8" },
            { WORD_FORMAT, "float8_e4m3fn" }, { WORD_FORMAT, "float8_e5m2" }, { WORD_FORMAT, "float8_e4m3fnuz" },
            { WORD_FORMAT, "float8_e5m2fnuz" }, { WORD_ALGO, "FP8" }, { WORD_ALGO, "FP8_PER_CHANNEL_PER_TOKEN" },
            { WORD_ALGO, "FP8_PC_PT" }, { WORD_ALGO, "FP8_PB_WO" }, { WORD_ALGO, "FP8_PB_REAL" },
            { WORD_ALGO, "FP8_BLOCK_SCALES" }, { WORD_ALGO, "FP8_ROWWISE" }, { WORD_PACKING, "auto_round:fp8*" },
            { WORD_PACKING, "auto_round:llm_compressor:fp8_static" }, { WORD_DATA_TYPE, "fp8" },
            { WORD_DATA_TYPE, "fp8_sym" }, { WORD_DATA_TYPE, "fp8_e4m3" }, { WORD_DATA_TYPE, "fp8_e5m2" },
            { WORD_DATA_TYPE, "fp8_unit_scale" }, { WORD_DATA_TYPE, "fp8_e5m2_unit_scale" },
            { WORD_DATA_TYPE, "fp8_gaudi3_sym" }, { WORD_DATA_TYPE, "fp8_to_int_sym" },
            { WORD_DATA_TYPE, "fp8_dynamic" }, { WORD_DATA_TYPE, "block_fp8" }, { WORD_DATA_TYPE, "block_fp8_sym" },
            { WORD_DATA_TYPE, "block_fp8_e4m3" }),
        .variant = fp8_variant, .rows = rows, .nrows = sizeof rows / sizeof *rows),
    [FP8_FBGEMM] = FP8("fp8-fbgemm", "FP8", NEED_RUNS, WORDS({ WORD_METHOD, "fbgemm_fp8" })),
    [FP8_MX] = FP8(SCHEME_MXFP8, "MXFP8", NEED_RUNS,
        WORDS({ WORD_METHOD, "modelopt_mxfp8" }, { WORD_DESCRIPTION, "W8A8_MXFP8" }, { WORD_METHOD, "mxfp8" },
            { WORD_FORMAT, "mxfp8-quantized" },
            { WORD_ALGO, "MXFP8" }, { WORD_DATA_TYPE, "mx_fp8" }, { WORD_DATA_TYPE, "mx_fp8e4m3" },
            { WORD_DATA_TYPE, "mx_fp8e5m2" }), .variant = mx_variant),
    [FP8_MX_TILES] = FP8(SCHEME_MXFP8_COMFY, "MXFP8", NEED_RUNS),
    [FP8_JOINT] = FP8("fp8", "FP8", .need = { NEED_RUN, NEED_WHOLE, NEED_RUN, NEED_WHOLE }),
    { 0 },
};
