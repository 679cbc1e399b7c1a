/* FP8 weights: which tensor is one, and what belongs to it. fp8_grid.c lays its scale over it, fp8_decode.c decodes.
 *
 *     P.weight  or  X              float8 codes
 *     P.weight_scale_inv, X_scale_inv, X_scale, X_scales_inv, X_weight_scale (ModelOpt's experts), P.scale,
 *     P.qscale_weight, P.scale_weight
 *     P.pre_quant_scale            [in] a factor for each column, folded into the weight (schemes.md 1.4)
 *     P.weight_zero_point          all zero
 *
 * transformers may save a mixture's experts apart and their scales fused: P.experts.N.gate_proj.weight with
 * P.experts.gate_up_proj_scale_inv [E, ...], in which gate lies above up. Mixtral says w1, w3 and w2. */
#include "scheme/fp8.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/str.h"
#include "scheme/fp8_priv.h"
#include "scheme/leftover.h"

/* What a scale may be called. */
static const struct { const char *strip, *suffix; } scale_names[] = {
    { "", "_scale_inv" }, { "", "_scale" }, { "", "_scales_inv" }, { "", "_weight_scale" },
    { ".weight", ".scale" }, { ".weight", ".qscale_weight" }, { ".weight", ".scale_weight" },
};

static bool
is_scale_dtype(enum dtype dtype)
{
    return dtype == DTYPE_F32 || dtype == DTYPE_BF16 || dtype == DTYPE_F16 || dtype == DTYPE_F8_E8M0
        || dtype == DTYPE_U8;
}

/* The one scale of a weight, or NULL; two of them: ERR_MALFORMED and false. */
static bool
find_scale(const struct claims *c, const struct tensor *codes, const struct tensor **scale, struct err *err)
{
    *scale = NULL;
    for (size_t i = 0; i < sizeof scale_names / sizeof *scale_names; i++) {
        struct part_name p;
        if (!name_strip(codes, scale_names[i].strip, &p))
            continue;
        const struct tensor *found = claims_find(c, p.base, p.base_len, scale_names[i].suffix);
        if (found && *scale) {
            char a[STR_SHOWN], b[STR_SHOWN], w[STR_SHOWN];
            return err_set(err, ERR_MALFORMED, found->extent.at, "tensor %s: has two scales, %s and %s",
                str_shown(w, codes->name, codes->name_len), str_shown(a, (*scale)->name, (*scale)->name_len),
                str_shown(b, found->name, found->name_len));
        }
        if (found)
            *scale = found;
    }
    return true;
}

/* The weight as E matrices of R x C: rank 3 is stacked experts, any other rank is one matrix. */
static struct fp8_cover
matrices(struct weight *w)
{
    const struct shape *s = &w->part[CODES]->shape;
    struct fp8_cover m = { .experts = 1, .rows = 1, .cols = 1, .stacked = s->rank == 3 };
    uint32_t i = 0;
    if (m.stacked)
        m.experts = shape_dim(s, i++);
    if (s->rank >= 2)
        m.rows = shape_dim(s, i++);
    for (; i < s->rank; i++)
        m.cols *= shape_dim(s, i);    /* within the tensor's own size, which was checked */
    w->fact[ROWS] = m.rows;
    w->fact[COLS] = m.cols;
    return m;
}

/* --- experts under a fused scale */

enum expert { GATE, UP, DOWN, EXPERT_KINDS };

/* P.experts.N.KIND.weight: N, the length of "P.experts.", and which KIND. */
static bool
is_expert(const struct tensor *codes, uint64_t *expert, size_t *base_len, enum expert *kind)
{
    static const char *const kinds[] = { ".gate_proj", ".up_proj", ".down_proj", ".w1", ".w3", ".w2", ".fc1", ".fc3",
        ".fc2" };
    static const char experts[] = "experts.";
    char digits[20] = { 0 };
    struct part_name p;
    if (codes->shape.rank != 2 || !name_strip(codes, ".weight", &p))
        return false;
    const char *dot = NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !dot; i++) {
        size_t len = strlen(kinds[i]);
        if (p.base_len > len && memcmp(p.base + p.base_len - len, kinds[i], len) == 0)
            dot = p.base + p.base_len - len;
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

/* The scale of an expert that its fellows share, with the place of the weight in what it covers; NULL: none. */
static const struct tensor *
find_fused(const struct claims *c, const struct tensor *codes, struct fp8_cover *m)
{
    static const char *const suffixes[2][3] = {
        { "gate_up_proj_scale_inv", "gate_up_proj_scale", "gate_up_proj_scales_inv" },
        { "down_proj_scale_inv", "down_proj_scale", "down_proj_scales_inv" },
    };
    uint64_t expert;
    size_t base_len;
    enum expert kind;
    if (!is_expert(codes, &expert, &base_len, &kind))
        return NULL;
    for (size_t i = 0; i < 3; i++) {
        const struct tensor *t = claims_find(c, codes->name, base_len, suffixes[kind == DOWN][i]);
        if (!t || t->shape.rank == 0 || expert >= shape_dim(&t->shape, 0))
            continue;
        *m = (struct fp8_cover){ .experts = shape_dim(&t->shape, 0), .rows = m->rows, .cols = m->cols, .stacked = true,
            .expert = expert, .row0 = kind == UP ? m->rows : 0, .split = true };
        return kind == DOWN || num_mul(&m->rows, m->rows, 2) ? t : NULL;
    }
    return NULL;
}

/* --- what lies beside */

/* Find pre_quant_scale, which is folded: its shape and dtype. */
static bool
find_smooth(const struct claims *c, const struct part_name *p, struct weight *w, struct err *err)
{
    const struct tensor *t = claims_find(c, p->base, p->base_len, ".pre_quant_scale"), *codes = w->part[CODES];
    const struct shape *s = &codes->shape;
    if (!t)
        return true;
    w->part[SMOOTH] = t;
    bool flat = t->shape.rank == 1 || (t->shape.rank == 2 && shape_dim(&t->shape, 0) == 1);
    if (s->rank == 2 && flat && shape_dim(&t->shape, t->shape.rank - 1) == shape_dim(s, 1)
        && (t->dtype == DTYPE_F32 || t->dtype == DTYPE_BF16 || t->dtype == DTYPE_F16))
        return true;
    char a[STR_SHOWN], b[STR_SHOWN], sa[SHAPE_TEXT], sb[SHAPE_TEXT];
    return err_set(err, ERR_MALFORMED, t->extent.at, "tensor %s: is %s %s, expected F32, BF16 or F16 for each column "
        "of %s %s", str_shown(a, t->name, t->name_len), dtype_name(t->dtype), shape_text(sa, &t->shape),
        str_shown(b, codes->name, codes->name_len), shape_text(sb, s));
}

/* Whether all of a zero point is zero, which is how compressed-tensors writes none. */
static bool
check_zero_point(const struct claims *c, const struct tensor *t, struct err *err)
{
    enum { MOST = 16 << 20 };
    const struct contents *contents = claims_contents(c);
    uint64_t size = dtype_facts(t->dtype)->bytes, n = t->extent.nbytes;
    char name[STR_SHOWN];
    str_shown(name, t->name, t->name_len);
    if (!contents || n == 0)
        return true;
    if (n > MOST)
        return err_set(err, ERR_LIMIT, t->extent.at, "tensor %s: a zero point of %" PRIu64 " bytes", name, n);
    uint8_t *p = malloc((size_t)n);
    bool ok = p ? contents->read(contents->of, t, p, err) : err_memory(err, n);
    uint8_t sign = dtype_facts(t->dtype)->kind == DTYPE_IS_FLOAT ? 0x80 : 0;       /* in the last byte of an element */
    for (uint64_t i = 0; ok && i < n; i++)
        if ((p[i] & ~(i % size == size - 1 ? sign : 0)) != 0)
            ok = err_set(err, ERR_UNSUPPORTED, t->extent.at, "tensor %s: FP8 with a zero point that is not zero", name);
    free(p);
    return ok;
}

/* Diffusion models mark a file of P.scale_weight scales with tensors scaled_fp8, which hold nothing. */
static bool
is_marker(const struct tensor *t)
{
    struct part_name p;
    return name_strip(t, "scaled_fp8", &p) && (p.base_len == 0 || p.base[p.base_len - 1] == '.')
        && (dtype_is_float8(t->dtype) || t->dtype == DTYPE_F32);
}

/* --- the claim */

static bool
check_scale_dtype(const struct tensor *codes, const struct tensor *scale, struct err *err)
{
    char a[STR_SHOWN], b[STR_SHOWN];
    return is_scale_dtype(scale->dtype) || err_set(err, ERR_MALFORMED, scale->extent.at, "tensor %s: is %s, expected a "
        "scale of F32, BF16, F16 or F8_E8M0 for %s", str_shown(a, scale->name, scale->name_len),
        dtype_name(scale->dtype), str_shown(b, codes->name, codes->name_len));
}

static enum claim
claim(const struct scheme *self, struct claims *c, const struct tensor *codes, struct weight *w, struct err *err)
{
    (void)self;
    if (!dtype_is_float8(codes->dtype) || is_marker(codes))
        return CLAIM_NO;
    if (!find_scale(c, codes, &w->part[SCALE], err))
        return CLAIM_FAIL;
    struct fp8_cover m = matrices(w);
    if (!w->part[SCALE])
        w->part[SCALE] = find_fused(c, codes, &m);
    const struct tensor *scale = w->part[SCALE];
    if (!scale && leftover_is_named(codes))
        return CLAIM_NO;
    struct part_name p;
    bool module = name_strip(codes, ".weight", &p);
    if (module && !find_smooth(c, &p, w, err))
        return CLAIM_FAIL;
    const struct tensor *zero = module ? claims_find(c, p.base, p.base_len, ".weight_zero_point") : NULL;
    if (!scale) {       /* as if it were 1; whether that can be is asked when all weights are known */
        fp8_set_single(w, 0);
        return !w->part[SMOOTH] || claims_take(c, w->part[SMOOTH], codes, err) ? CLAIM_YES : CLAIM_FAIL;
    }
    bool ok = check_scale_dtype(codes, scale, err) && fp8_map_scale(c, w, &m, err)
        && (m.split ? claims_share(c, scale, codes, err) : claims_take(c, scale, codes, err))
        && (!w->part[SMOOTH] || claims_take(c, w->part[SMOOTH], codes, err))
        && (!zero || (check_zero_point(c, zero, err) && claims_take(c, zero, codes, err)))
        && claims_take_idle(c, codes, err);
    return ok ? CLAIM_YES : CLAIM_FAIL;
}

bool
fp8_is_scaled(const struct weight *w)
{
    return w->part[SCALE] != NULL;
}

/* --- when all weights are known */

/* The markers go with the first weight of their form. */
static bool
take_markers(struct claims *c, const struct weight *w, struct err *err)
{
    const struct catalog *catalog = claims_catalog(c);
    for (size_t i = 0; i < catalog_count(catalog); i++) {
        const struct tensor *t = catalog_at(catalog, i);
        if (is_marker(t) && !claims_is_taken(c, t) && !claims_take_for(c, t, w, err))
            return false;
    }
    return true;
}

bool
fp8_finish(const struct roles *roles, struct claims *c, struct err *err)
{
    size_t refused = 0, taken = 0, missed = 0, folded = 0;
    bool marked = false;
    if (!fp8_check_unscaled(roles, c, err))
        return false;
    for (size_t i = 0; i < roles_weight_count(roles); i++) {
        const struct weight *w = roles_weight(roles, i);
        struct part_name ignored;
        if (w->scheme != &scheme_fp8 || !fp8_is_scaled(w))
            continue;
        refused += w->fact[ADVICE] == ADVICE_REFUSED;
        taken += w->fact[ADVICE] == ADVICE_TAKEN;
        missed += w->fact[ADVICE] == ADVICE_MISSED;
        folded += w->part[SMOOTH] != NULL;
        if (!marked && name_strip(w->part[SCALE], ".scale_weight", &ignored)) {
            marked = true;
            if (!take_markers(c, w, err))
                return false;
        }
    }
    if (refused != 0)
        claims_warn(c, "FP8 scales whose shapes are not those of the blocks in config.json, and count: %zu", refused);
    if (taken != 0)
        claims_warn(c, "FP8 scales with the blocks of config.json, whose shapes alone say others: %zu", taken);
    if (missed != 0)
        claims_warn(c, "FP8 scales taken for blocks of 128, which config.json could say are even divisions: %zu",
            missed);
    if (folded != 0)
        claims_warn(c, "pre_quant_scale folded into the FP8 weights of %zu modules", folded);
    return true;
}

static void
describe(const struct weight *w, char buf[SCHEME_DETAIL])
{
    const char *type = dtype_name(w->part[CODES]->dtype) + 3;
    uint64_t rows = w->fact[ROWS], cols = w->fact[COLS], b0 = w->fact[B0], b1 = w->fact[B1];
    if (!w->part[SCALE])
        snprintf(buf, SCHEME_DETAIL, "%s, no scale", type);
    else if (w->fact[ADVICE] == ADVICE_WANTED)
        snprintf(buf, SCHEME_DETAIL, "%s, fine-grained scale, blocks not told", type);
    else if (w->fact[TILES] != 0)
        snprintf(buf, SCHEME_DETAIL, "%s, fine-grained 1x32 scale in tiles", type);
    else if (b0 >= rows && b1 >= cols && w->fact[PER_ROW] == 0)
        snprintf(buf, SCHEME_DETAIL, "%s, per-%s scale", type, w->fact[PER_EXPERT] ? "expert" : "tensor");
    else if (b0 == 1 && b1 >= cols)
        snprintf(buf, SCHEME_DETAIL, "%s, per-channel scale", type);
    else if (b1 == 1 && b0 >= rows)
        snprintf(buf, SCHEME_DETAIL, "%s, per-column scale", type);
    else
        snprintf(buf, SCHEME_DETAIL, "%s, fine-grained %" PRIu64 "x%" PRIu64 " scale", type, b0, b1);
}

const struct scheme scheme_fp8 = {
    .code = "fp8",
    .name = "FP8",
    .claim = claim,
    .need = { NEED_RUN, NEED_RUN, NEED_RUN },
    .run = fp8_run,
    .decode = fp8_decode,
    .describe = describe,
};
