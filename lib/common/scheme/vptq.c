/* VPTQ: columns of vl weights, each an entry of a codebook, optionally plus an entry of a second one. The tensors of a
 * module P, whose decoded weight is [out, in]:
 *
 *     P.indices               I32 [1, ceil(out/vl), words]   a row is a bit stream of `in` indices, the low bits first; the
 *                                                            low bits of each select a centroid, the others a residual
 *     P.centroids.weight      T [1, nc*vl]
 *     P.res_centroids.weight  T [1, nr*vl], optional
 *     P.perm                  I16 [in], optional: the column of the weight for each column of the indices
 *     P.weight_scale, P.weight_bias    T [in], optional
 *
 *     v = RN_T(centroids[index][o % vl] + res_centroids[index'][o % vl])
 *     V[o][perm[j]] = RN_T(RN_T(v * weight_scale[perm[j]]) + weight_bias[perm[j]])       indices of row o/vl, column j
 *
 * vl, nc and nr are in config_for_layers of config.json, or in shared_layer_config. Unpacked indices, several groups of
 * columns, and outliers are recognised but not decoded. Sources: vptq ops/quant_gemm.py, dequant, executed;
 * layers/vqlinear.py; utils/pack.py. The CUDA kernel of the library fuses the last two steps.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/str.h"
#include "scheme/dim.h"
#include "scheme/perm.h"
#include "scheme/scale.h"
#include "scheme/table.h"

enum { CODES, CENTROIDS, RESIDUALS, PERM, SCALE, BIAS };        /* parts */
enum {
    LENGTH_MAX = 64,            /* of a vector */
    MODULE_MAX = 1024,          /* bytes of a module name that is looked up in config.json */
    PIECE = 512
};

struct vptq {
    uint64_t in, out;
    uint32_t length;                                    /* vl */
    uint32_t bits, res_bits;
    const char *open;                                   /* why it cannot be decoded, or NULL */
};

/* --- a layer in config.json */

static const json_t *
find_layer(const struct table_match *f)
{
    const json_t *block = config_block(f->claims->config), *layer;
    char module[MODULE_MAX];
    if (f->base.base_len >= sizeof module)
        return NULL;
    memcpy(module, f->base.base, f->base.base_len);
    module[f->base.base_len] = '\0';
    const char *dot = strrchr(module, '.');
    layer = json_object_get(json_object_get(block, "config_for_layers"), module);
    if (layer)
        return layer;
    return json_object_get(json_object_get(block, "shared_layer_config"), dot ? dot + 1 : module);
}

/* Returns one of the two numbers in a list; 0 if it is missing or not positive. */
static uint64_t
main_of(const json_t *layer, const char *key, size_t which)
{
    json_int_t v = json_integer_value(json_array_get(json_object_get(layer, key), which));
    if (v > 0)
        return (uint64_t)v;
    return 0;
}

static uint64_t
vptq_number_of(const json_t *layer, const char *key)
{
    json_int_t v = json_integer_value(json_object_get(layer, key));
    if (v > 0)
        return (uint64_t)v;
    return 0;
}

/* Returns the bits of an index into n entries; 0 unless n is a power of two from 2 up. */
static uint32_t
index_bits(uint64_t n)
{
    uint32_t bits = 0;
    while (bits < 16 && UINT64_C(1) << bits < n)
        bits++;
    if (n == UINT64_C(1) << bits)
        return bits;
    return 0;
}

enum { WITH_PERM = 2 };         /* a companion, in the order of the row */

static const char *
why_open(const struct table_match *f, const json_t *layer)
{
    const char *dim = json_string_value(json_object_get(layer, "vector_quant_dim"));
    uint64_t residuals = main_of(layer, "num_res_centroids", 1);
    bool wide = f->with[WITH_PERM] && f->with[WITH_PERM]->dtype == DTYPE_I64;
    if (f->codes->dtype == DTYPE_I32 && !wide && !json_is_object(layer))
        return "centroids not given by config_for_layers of config.json (--config)";
    if (f->codes->dtype != DTYPE_I32 || wide || !json_is_true(json_object_get(layer, "is_indice_packed")))
        return "with unpacked indices";
    if (main_of(layer, "vector_lens", 0) > 1 && main_of(layer, "num_centroids", 0) != 0)
        return "with outliers";
    if (vptq_number_of(layer, "group_num") != 1)
        return "with several groups";
    if (vptq_number_of(layer, "norm_dim") != 0)
        return "with norms of outputs";
    if (dim && strcmp(dim, "out") != 0)
        return "with vectors along the inputs";
    if (index_bits(main_of(layer, "num_centroids", 1)) == 0 || (residuals != 0 && index_bits(residuals) == 0))
        return "with a number of centroids that is not a power of two";
    if (residuals > main_of(layer, "num_centroids", 1))
        return "with more residual centroids than centroids";
    return NULL;
}

/* --- recognition */

static bool
check_book(const struct table_match *f, const struct tensor *t, uint64_t entries, uint64_t length, struct err *err)
{
    return (t->shape.rank == 2 && dim_rows(t) == 1 && dim_cols(t) == entries * length)
        || table_wrong(t, f->codes, err, "[1, %" PRIu64 "] according to config.json", entries * length);
}

/* Checks a tensor with one element per column, which must exist if and only if config.json declares it. */
static bool
check_columns(const struct table_match *f, const struct tensor *t, const char *name, bool declared, uint64_t in,
    struct err *err)
{
    char shown[STR_SHOWN];
    if (!t && declared)
        return claims_is_report_on_shard(f->claims)
            || claims_missing(f->claims, f->codes->extent.at, err, "tensor %s: quantized (VPTQ), but has no %s, "
                "which config.json declares", str_shown(shown, f->codes->name, f->codes->name_len), name);
    if (t && !declared)
        return table_wrong(t, f->codes, err, "no such tensor according to config.json");
    return !t || (t->shape.rank == 1 && dim_cols(t) == in) || table_wrong(t, f->codes, err, "[%" PRIu64 "]", in);
}

static bool
check_types(const struct table_match *f, const struct weight *w, struct err *err)
{
    enum dtype type = w->part[CENTROIDS]->dtype;
    for (unsigned p = RESIDUALS; p <= BIAS; p++)
        if (p != PERM && w->part[p] && w->part[p]->dtype != type)
            return table_wrong(w->part[p], f->codes, err, "%s like its centroids", dtype_name(type));
    return true;
}

static bool
check_shapes(const struct table_match *f, const struct weight *w, const struct vptq *q, const json_t *layer, struct err *err)
{
    const struct tensor *codes = f->codes;
    uint64_t words = num_ceil_div(q->in * (q->bits + q->res_bits), 32), residuals = UINT64_C(1) << q->res_bits;
    bool norm = json_is_true(json_object_get(layer, "enable_norm"));
    if (q->length == 0 || q->length > LENGTH_MAX || q->in == 0 || q->in > PERM_MAX || q->out == 0
            || vptq_number_of(layer, "group_size") != q->in)
        return table_wrong(codes, codes, err, "valid numbers for its layer in config.json");
    if (codes->shape.rank != 3 || shape_dim(&codes->shape, 0) != 1 || dim_cols(codes) != words
            || dim_rows(codes) != num_ceil_div(q->out, q->length))
        return table_wrong(codes, codes, err, "[1, %" PRIu64 ", %" PRIu64 "] according to config.json",
            num_ceil_div(q->out, q->length), words);
    if ((w->part[RESIDUALS] != NULL) != (q->res_bits != 0))
        return check_columns(f, w->part[RESIDUALS], "res_centroids.weight", q->res_bits != 0, 0, err);
    return check_book(f, w->part[CENTROIDS], UINT64_C(1) << q->bits, q->length, err)
        && (q->res_bits == 0 || check_book(f, w->part[RESIDUALS], residuals, q->length, err))
        && check_columns(f, w->part[PERM], "perm", json_is_true(json_object_get(layer, "enable_perm")), q->in, err)
        && check_columns(f, w->part[SCALE], "weight_scale", norm, q->in, err)
        && check_columns(f, w->part[BIAS], "weight_bias", norm, q->in, err)
        && check_types(f, w, err);
}

static bool
vptq_fit(struct table_match *f, struct weight *w, struct err *err)
{
    const json_t *layer = find_layer(f);
    struct vptq *q = claims_alloc(f->claims, sizeof *q, err);
    if (!q)
        return false;
    *q = (struct vptq){ .open = why_open(f, layer) };
    w->own = q;
    w->vague = q->open != NULL;
    if (w->vague)
        return true;
    q->in = vptq_number_of(layer, "in_features");
    q->out = vptq_number_of(layer, "out_features");
    q->length = (uint32_t)num_min(main_of(layer, "vector_lens", 1), LENGTH_MAX + 1);
    q->bits = index_bits(main_of(layer, "num_centroids", 1));
    if (main_of(layer, "num_res_centroids", 1) != 0)
        q->res_bits = index_bits(main_of(layer, "num_res_centroids", 1));
    else
        q->res_bits = 0;
    return claims_shape(f->claims, w, 0, (const uint64_t[]){ q->out, q->in }, 2, err) && check_shapes(f, w, q, layer, err)
        && (!w->part[PERM] || perm_check(f->claims, w->part[PERM], q->in, err));
}

/* --- decoding */

static void
vptq_run(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count)
{
    const struct vptq *q = w->own;
    uint64_t from = first / q->in / q->length, to = (first + count - 1) / q->in / q->length;
    uint64_t row = 4 * dim_cols(w->part[part]);
    *s = (struct span){ from * row, (to - from + 1) * row };
}

/* Some columns of the indices: values, columns of the weight, and values in the output type. */
struct vptq_batch {
    float v[PIECE], done[PIECE];
    uint32_t col[PIECE];
};

/* Returns entry `lane` of the vector that the index of column j selects. */
static float
vector_at(const struct decoding *d, const uint8_t *row, uint64_t j, uint32_t lane)
{
    const struct vptq *q = d->w->own;
    uint32_t bits = q->bits + q->res_bits, shift = (uint32_t)(j * bits % 8);
    uint64_t pair = 0;
    const uint8_t *p = row + j * bits / 8;
    for (uint32_t i = 0; 8 * i < shift + bits; i++)
        pair |= (uint64_t)p[i] << 8 * i;
    pair >>= shift;
    enum dtype type = d->w->part[CENTROIDS]->dtype;
    float v = scale_value(type, d->in[CENTROIDS].p, (pair & ((UINT64_C(1) << q->bits) - 1)) * q->length + lane);
    if (q->res_bits == 0)
        return v;
    uint64_t residual = pair >> q->bits & ((UINT64_C(1) << q->res_bits) - 1);
    return scale_round(type, v + scale_value(type, d->in[RESIDUALS].p, residual * q->length + lane));
}

/* Returns element `lane` for column j of the indices, which is column `col` of the weight. */
static float
element_at(const struct decoding *d, const uint8_t *row, uint64_t j, uint32_t lane, uint32_t col)
{
    enum dtype type = d->w->part[CENTROIDS]->dtype;
    float v = vector_at(d, row, j, lane);
    if (!d->w->part[SCALE])
        return v;
    v = scale_round(type, v * scale_value(type, d->in[SCALE].p, col));
    return scale_round(type, v + scale_value(type, d->in[BIAS].p, col));
}

/* Decodes elements of one row. With a permutation, looks at all columns and writes only the requested ones. */
static uint64_t
vptq_decode(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y)
{
    const struct vptq *q = d->w->own;
    const struct tensor *perm = d->w->part[PERM];
    struct vptq_batch *b = d->room;
    uint64_t o = at / q->in, from = at % q->in, to = from + num_min(q->in - from, count);
    const uint8_t *row = decoding_bytes(d, CODES, o / q->length * 4 * dim_cols(d->w->part[CODES]));
    size_t size = dtype_facts(d->to)->bytes;
    uint64_t j = perm ? 0 : from, end = perm ? q->in : to;
    while (j < end) {
        size_t n = 0;
        for (; j < end && n < PIECE; j++) {
            uint32_t col;
            if (perm)
                col = perm_at(perm, d->in[PERM].p, j);
            else
                col = (uint32_t)j;
            if (col < from || col >= to)
                continue;
            b->v[n] = element_at(d, row, j, (uint32_t)(o % q->length), col);
            b->col[n++] = col;
        }
        kernels_round(d->k, d->to, b->done, b->v, n);
        for (size_t i = 0; i < n; i++)
            memcpy(y + (b->col[i] - from) * size, (const uint8_t *)b->done + i * size, size);
    }
    return to - from;
}

static void
vptq_describe(const struct weight *w, char buf[SCHEME_DETAIL])
{
    const struct vptq *q = w->own;
    if (q->open)
        snprintf(buf, SCHEME_DETAIL, "%s", q->open);
    else
        snprintf(buf, SCHEME_DETAIL, "%.3g-bit, vectors of %" PRIu32, (double)(q->bits + q->res_bits) / q->length,
            q->length);
}

const struct scheme vptq_schemes[] = {
    {
        .code = "vptq",
        .name = "VPTQ",
        WORDS({ WORD_METHOD, "vptq" }, { WORD_FORMAT, "vptq" }),
        ROWS({ .codes = ".indices", .dtypes = SCALARS, .becomes = ".weight", .left = LEFT_METHOD, WITH(COMPANION(".centroids.weight", FLOAT_16, NAMED, CODEBOOK, .part = CENTROIDS, .left = LEFT_METHOD),
            COMPANION(".res_centroids.weight", FLOAT_16, OPTIONAL, CODEBOOK, .part = RESIDUALS),
            COMPANION(".perm", DTYPE_SET(HAS(I16), HAS(U16), HAS(I64)), OPTIONAL, G_IDX, .part = PERM),
            COMPANION(".weight_scale", FLOAT_16, OPTIONAL, SCALE, .part = SCALE),
            COMPANION(".weight_bias", FLOAT_16, OPTIONAL, ZERO_POINT, .part = BIAS)),
            ALSO(BELONGS(".res_indices", STATE), BELONGS(".outlier_indices", STATE),
                BELONGS(".outlier_centroids.weight", CODEBOOK)) }),
        .fit = vptq_fit,
        .need = { [CODES] = NEED_AGAIN, [CENTROIDS] = NEED_WHOLE, [RESIDUALS] = NEED_WHOLE, [PERM] = NEED_WHOLE,
            [SCALE] = NEED_WHOLE, [BIAS] = NEED_WHOLE },
        .run = vptq_run,
        .room = sizeof(struct vptq_batch),
        .decode = vptq_decode,
        .describe = vptq_describe,
    },
    { 0 },
};
