/* ModelSlim's static W8A8: INT8 whose activations have one scale for all inputs. The tensors of a module P:
 *
 *     P.weight          I8 [out, in]
 *     P.deq_scale       F32 [out], or I64 [out]: the bits of the F32; RN32(input_scale * scale of the weight)
 *     P.input_scale     F16, BF16, F32 [1]
 *     P.input_offset    F16, BF16, F32 [1]
 *     P.quant_bias      I32 [out]: rint(bias / deq_scale - input_offset * the sum of the row's codes)
 *
 *     V[o][i] = RN32(weight[o][i] * RN32(deq_scale[o] / input_scale))
 *     bias[o] = RN32(deq_scale[o] * (quant_bias[o] + RN32(input_offset * sum of weight[o])))
 *
 * Older files and W8A8_MIX also have P.weight_scale, and are INT8 (int8.c). quant_bias becomes P.bias, unless P.bias exists or
 * all of its values are below deq_scale / 2: the layer had none. That needs the sums of all rows.
 * Sources: msmodelslim ascendv1.py, on_w8a8_static; deqscale.py.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/num.h"
#include "base/str.h"
#include "scheme/codes.h"
#include "scheme/dim.h"
#include "scheme/roles_priv.h"
#include "scheme/scale.h"

enum { CODES, DEQ, INPUT };                             /* parts */
enum { MOST = 64 << 20, BIAS_STEP = 1024 };

#define DEQ_TYPES DTYPE_SET(HAS(F32), HAS(I64))

/* Returns deq_scale, or a number that is not finite for bits that are no F32. */
static float
deq_value(enum dtype dtype, const uint8_t *p, uint64_t i)
{
    if (dtype == DTYPE_F32)
        return scale_value(dtype, p, i);
    uint64_t bits = load_le64(p + 8 * i);
    if (bits <= UINT32_MAX)
        return float_of_bits((uint32_t)bits);
    return NAN;
}

static bool
is_factor(float scale)
{
    return isfinite(scale) && scale >= 0;
}

/* Reads the value of a tensor that has one. */
static bool
read_one(const struct claims *c, const struct tensor *t, float *v, struct err *err)
{
    uint8_t *p = claims_read(c, t, 8, "bytes in a scale", err);
    if (p)
        *v = scale_value(t->dtype, p, 0);
    free(p);
    return p != NULL;
}

/* Reads P.deq_scale. The caller frees it. NULL on failure. */
static float *
read_deq(const struct claims *c, const struct tensor *t, struct err *err)
{
    uint64_t n = dim_rows(t) * dim_cols(t);
    uint8_t *p = claims_read(c, t, MOST, "bytes of deq_scale", err);
    float *v = NULL;
    if (p)
        v = malloc((n + 1) * sizeof *v);
    char name[STR_SHOWN];
    bool ok = v || (p && err_memory(err, n * sizeof *v));
    for (uint64_t i = 0; ok && i < n; i++) {
        v[i] = deq_value(t->dtype, p, i);
        ok = is_factor(v[i]) || err_at(err, ERR_MALFORMED, t->extent.at, "tensor %s: element %" PRIu64 " is not a finite positive F32",
            str_shown(name, t->name, t->name_len), i);
    }
    free(p);
    if (!ok)
        free(v);
    if (ok)
        return v;
    return NULL;
}

/* --- the weight */

/* Checks the numbers, so that none is silently lost. */
static bool
check_values(const struct claims *c, const struct tensor *deq, const struct tensor *input, struct err *err)
{
    float scale = 1, *v = read_deq(c, deq, err);
    char name[STR_SHOWN];
    free(v);
    return v && read_one(c, input, &scale, err) && ((is_factor(scale) && scale != 0) || err_at(err, ERR_MALFORMED, input->extent.at,
        "tensor %s: expected a finite positive scale, found %g", str_shown(name, input->name, input->name_len), (double)scale));
}

static bool
static_fit(struct table_match *f, struct weight *w, struct err *err)
{
    const struct tensor *codes = f->codes, *deq = w->part[DEQ], *input = w->part[INPUT];
    const struct tensor *bias = claims_find(f->claims, f->base.base, f->base.base_len, ".quant_bias");
    uint64_t rows = dim_rows(codes), n;
    char name[STR_SHOWN];
    if (codes->shape.rank != 2)
        return table_wrong(codes, codes, err, "INT8 codes [out, in]");
    if (!shape_numel(&deq->shape, &n) || n != rows || dim_back(deq, deq->shape.rank - 1) != rows)
        return table_wrong(deq, codes, err, "[out]");
    for (size_t i = 1; i < 3; i++)
        if (!dim_is_one(f->with[i]))
            return table_wrong(f->with[i], codes, err, "one value");
    if (!bias)
        return claims_missing(f->claims, codes->extent.at, err, "tensor %s: quantized (%s), but has no quant_bias",
            str_shown(name, codes->name, codes->name_len), f->scheme->name);
    if (bias->dtype != DTYPE_I32 || bias->shape.rank != 1 || dim_cols(bias) != rows)
        return table_wrong(bias, codes, err, "I32 [out]");
    return !f->claims->contents || check_values(f->claims, deq, input, err);
}

static void
static_run(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count)
{
    uint64_t cols = dim_cols(w->part[CODES]), size = dtype_facts(w->part[part]->dtype)->bytes;
    uint64_t row = first / cols, end = (first + count - 1) / cols + 1;
    *s = part == CODES ? (struct span){ first, count } : (struct span){ row * size, (end - row) * size };
}

static uint64_t
static_decode(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y)
{
    const struct tensor *deq = d->w->part[DEQ], *input = d->w->part[INPUT];
    uint64_t cols = dim_cols(d->w->part[CODES]), size = dtype_facts(deq->dtype)->bytes;
    struct codes_piece *p = codes_begin(d, at, count, cols, cols);
    p->scales[0] = deq_value(deq->dtype, decoding_bytes(d, DEQ, p->row * size), 0) / scale_value(input->dtype, d->in[INPUT].p, 0);
    return codes_emit(p, d, decoding_bytes(d, CODES, at), true, false, y);
}

static void
static_describe(const struct weight *w, char buf[SCHEME_DETAIL])
{
    (void)w;
    snprintf(buf, SCHEME_DETAIL, "per-channel scale");
}

static void
static_grid(const struct weight *w, struct weight_grid *g)
{
    *g = (struct weight_grid){ .codes = GRID_INT, .bits = 8, .group = dim_cols(w->part[CODES]), .scale = DTYPE_F32 };
}

/* --- the bias */

/* Adds the sums of the rows of codes that have not been read yet. */
static bool
sum_rows(const struct claims *c, const struct tensor *codes, int64_t *sum, struct err *err)
{
    enum { PIECE = 256 << 10 };
    uint64_t cols = dim_cols(codes), all = codes->extent.nbytes, step = codes->layout ? all : PIECE;
    int8_t *buf = malloc((size_t)step + 1);
    struct tensor piece = *codes;
    bool ok = buf || err_memory(err, step);
    for (uint64_t at = 0; ok && at < all; at += step) {
        piece.extent.at = codes->extent.at + at;
        piece.extent.nbytes = num_min(step, all - at);
        ok = c->contents->read(c->contents->of, &piece, buf, err);
        for (uint64_t i = 0, n; ok && i < piece.extent.nbytes; i += n) {
            int32_t part = 0;
            n = num_min(num_min(piece.extent.nbytes - i, cols - (at + i) % cols), 1 << 16);
            for (uint64_t k = 0; k < n; k++)
                part += buf[i + k];
            sum[(at + i) / cols] += part;
        }
    }
    free(buf);
    return ok;
}

/* Returns a companion of the bias with n values, or NULL with err set. */
static const struct tensor *
find_number(const struct table_match *f, const char *suffix, const bool *dtypes, uint64_t n, struct err *err)
{
    const struct tensor *t = claims_find(f->claims, f->base.base, f->base.base_len, suffix);
    char name[STR_SHOWN];
    uint64_t numel;
    if (!t)
        claims_missing(f->claims, f->codes->extent.at, err, "tensor %s: has no %s, which the bias is computed with",
            str_shown(name, f->codes->name, f->codes->name_len), suffix + 1);
    else if (!shape_numel(&t->shape, &numel) || numel != n)
        table_wrong(t, f->codes, err, "%" PRIu64 " values", n);
    else if (table_check_type(f, t, dtypes, ROLE_ACTIVATION, err))
        return t;
    return NULL;
}

/* The tensors that a bias is computed with. */
struct bias_parts {
    const struct tensor *codes, *deq, *offset;
};

/* Computes the values of the bias from the sums of the rows; *any is false if the layer had none. */
static bool
find_bias(const struct table_match *f, const struct bias_parts *parts, const int64_t *sum, float *bias, bool *any, struct err *err)
{
    const struct claims *c = f->claims;
    uint64_t n = dim_cols(f->codes);
    float offset = 0, *deq = read_deq(c, parts->deq, err);
    uint8_t *p = NULL;
    if (deq && read_one(c, parts->offset, &offset, err))
        p = claims_read(c, f->codes, MOST, "bytes of quant_bias", err);
    for (uint64_t i = 0; p && i < n; i++) {
        double units = (double)(int32_t)load_le32(p + 4 * i) + (double)(offset * (float)sum[i]);
        bias[i] = (float)((double)deq[i] * units);
        *any = *any || !(fabs(units) <= 0.5);
    }
    free(p);
    free(deq);
    return p != NULL;
}

/* Computes the bias to w->own if the layer has one. */
static bool
look_for_bias(struct table_match *f, struct weight *w, const struct bias_parts *parts, bool *any, struct err *err)
{
    uint64_t n = dim_cols(f->codes);
    int64_t *sum = calloc(n + 1, sizeof *sum);
    float *bias = sum ? malloc((n + 1) * sizeof *bias) : NULL, *kept = NULL;
    bool ok;
    if (bias)
        ok = sum_rows(f->claims, parts->codes, sum, err) && find_bias(f, parts, sum, bias, any, err);
    else
        ok = err_memory(err, n * sizeof *sum);
    if (ok && *any && (kept = claims_alloc(f->claims, n * sizeof *kept, err)) != NULL)
        memcpy(kept, bias, n * sizeof *kept);
    w->own = kept;
    free(sum);
    free(bias);
    return ok && (kept || !*any);
}

/* Claims a quant_bias that is needed as a bias. Others belong to the weight. */
static enum claim
choose_bias(struct table_match *f, struct weight *w, struct err *err)
{
    struct claims *c = f->claims;
    const struct tensor *codes = claims_find(c, f->base.base, f->base.base_len, ".weight");
    const struct weight *of = NULL;
    if (codes)
        of = roles_owner(c->roles, catalog_index(c->catalog, codes));
    uint64_t n = dim_cols(f->codes);
    bool any = false;
    if (!of || of->part[CODES] != codes || codes->dtype != DTYPE_I8 || codes->shape.rank != 2
            || !claims_find(c, f->base.base, f->base.base_len, ".deq_scale"))
        return CLAIM_NO;
    if (f->codes->dtype != DTYPE_I32 || f->codes->shape.rank != 1 || n != dim_rows(codes)) {
        table_wrong(f->codes, codes, err, "I32 [out]");
        return CLAIM_FAIL;
    }
    struct bias_parts parts = { codes, find_number(f, ".deq_scale", DEQ_TYPES, n, err), NULL };
    if (parts.deq)
        parts.offset = find_number(f, ".input_offset", FLOAT_16, 1, err);
    else
        parts.offset = NULL;
    if (!parts.offset)
        return CLAIM_FAIL;
    bool hidden = !claims_find(c, f->base.base, f->base.base_len, ".bias"), unread = hidden && !c->contents;
    if (hidden && !unread && !look_for_bias(f, w, &parts, &any, err))
        return CLAIM_FAIL;
    if (any || unread) {
        enum claim claim = table_match(f, w, err);
        w->vague = unread;              /* the layer may have had none */
        return claim;
    }
    if (claims_take_for(c, f->codes, of, ROLE_ACTIVATION, err))
        return CLAIM_NO;
    return CLAIM_FAIL;
}

static void
bias_run(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count)
{
    (void)w, (void)part;
    *s = (struct span){ first * 4, count * 4 };
}

static uint64_t
bias_decode(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y)
{
    size_t n = (size_t)num_min(count, BIAS_STEP);
    memcpy(d->room, (const float *)d->w->own + at, n * sizeof(float));
    kernels_round(d->k, d->to, y, d->room, n);
    return n;
}

static void
bias_describe(const struct weight *w, char buf[SCHEME_DETAIL])
{
    (void)w;
    snprintf(buf, SCHEME_DETAIL, "bias");
}

#define NUMBER(suffix_, role_, ...) COMPANION(suffix_, FLOAT_16, REQUIRED, role_, __VA_ARGS__)
#define DEQ_SCALE(presence_) COMPANION(".deq_scale", DEQ_TYPES, presence_, SCALE, .part = DEQ, .left = LEFT_SCALES)

const struct scheme int8_static_schemes[] = {
    {
        .code = "int8-static",
        .name = "ModelSlim static INT8",
        WORDS({ WORD_DESCRIPTION, "W8A8" }),
        ROWS({ .codes = ".weight", .dtypes = IS(I8), .becomes = ".weight", WITH(DEQ_SCALE(NAMED),
                NUMBER(".input_scale", ACTIVATION, .part = INPUT), NUMBER(".input_offset", ACTIVATION)) },
            { .codes = ".weight", .dtypes = IS(I8), .becomes = ".weight", WITH(DEQ_SCALE(REQUIRED),
                NUMBER(".input_scale", ACTIVATION, .part = INPUT), COMPANION(".quant_bias", IS(I32), EVIDENCE, ACTIVATION)) }),
        .fit = static_fit,
        .need = { [CODES] = NEED_RUN, [DEQ] = NEED_RUN, [INPUT] = NEED_WHOLE },
        .run = static_run,
        .room = sizeof(struct codes_piece),
        .decode = static_decode,
        .describe = static_describe,
        .grid = static_grid,
    },
    {
        .code = "int8-static",
        .name = "ModelSlim static INT8",
        ROWS({ .codes = ".quant_bias", .dtypes = ANY, .becomes = ".bias", .choose = choose_bias }),
        .follows = true,
        .need = { [CODES] = NEED_RUN },
        .run = bias_run,
        .room = BIAS_STEP * sizeof(float),
        .decode = bias_decode,
        .describe = bias_describe,
    },
    { 0 },
};
