/* compressed-tensors, pack-quantized: codes of 1 to 8 bits. The tensors of a module P, whose decoded weight is [out, in];
 * for stacked experts, each has their number as its first dimension:
 *
 *     P.weight_packed        I32 [out, words]: the codes of a row
 *     P.weight_shape         I64, I32: out and in; for stacked experts E, out and in, or [E, 2] with equal rows
 *     P.weight_scale         F16, BF16, F32: see blocks.h
 *     P.weight_zero_point    I32 [words of out codes, G]: for a group of columns, packed like a row of codes; or I8,
 *                            shaped like the scale; absent if the model is symmetric
 *     P.weight_g_idx         I32 [in], optional: the group of each column; ignored if all are -1
 *
 * A stacked parameter X may be stored as X_packed, X_shape, X_scale and X_zero_point.
 *
 * Codes and zero points are stored as q + 2^(bits-1), the low bits of a word first. They are packed as a bit stream, in
 * which codes may cross into the next word. Releases up to 2025 instead left the remaining bits of a word empty if they were
 * too few for a code: a word then has 10 codes of 3 bits, 6 of 5, 5 of 6, or 4 of 7. For 1, 2, 4 and 8 bits both are the
 * same.
 *
 *     V[o][i] = RN32((q - zero_point) * scale)
 *
 * Sources: compressed_tensors compressors/pack_quantized (in 0.11.0 compressors/quantized_compressors/pack_quantized.py, and
 * lifecycle/forward.py for g_idx).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/str.h"
#include "scheme/codes.h"
#include "scheme/dim.h"
#include "scheme/perm.h"
#include "scheme/scale.h"

enum { CODES, SCALE, ZERO, G_IDX };                     /* parts */

enum {
    GROUPS_MAX = 16384,                                 /* of a row, if an element may need all of them */
    RANK_MAX = 3
};

/* The packing of codes into words. */
struct ct_packing {
    uint32_t bits;                                      /* 0: unknown */
    bool padded;                                        /* no code crosses words */
};

struct ct {
    struct blocks blocks;
    struct ct_packing packing;
    uint64_t words, groups;                             /* words in a row of codes; groups in a row */
    bool shuffled;                                      /* g_idx differs from i / group */
    const char *open;                                   /* why it cannot be decoded, or NULL */
};

/* --- packings */

/* Returns the number of words that n codes take. */
static uint64_t
words_of(struct ct_packing p, uint64_t n)
{
    if (p.padded)
        return num_ceil_div(n, 32 / p.bits);
    return n / 32 * p.bits + num_ceil_div(n % 32 * p.bits, 32);
}

/* Returns the word in which code i starts; *shift is its lowest bit there. */
static uint64_t
word_at(struct ct_packing p, uint64_t i, uint32_t *shift)
{
    uint64_t per = 32 / p.bits, bit = i % 32 * p.bits;
    if (p.padded) {
        *shift = (uint32_t)(i % per * p.bits);
        return i / per;
    }
    *shift = (uint32_t)(bit % 32);
    return i / 32 * p.bits + bit / 32;
}

static bool
is_packed(const struct weight *w)
{
    return w->part[ZERO] && w->part[ZERO]->dtype == DTYPE_I32;
}

/* Returns true if rows of `in` codes, and columns of zero points, take as many words as there are. */
static bool
packing_fits(const struct weight *w, struct ct_packing p, uint64_t in)
{
    const struct tensor *codes = w->part[CODES];
    return words_of(p, in) == dim_cols(codes)
        && (!is_packed(w) || words_of(p, dim_rows(codes)) == dim_rows(w->part[ZERO]));
}

/* Returns true if rows of `in` codes can have this many bits, as a stream or else padded. */
static bool
bits_fit(const struct weight *w, struct ct_packing *p, uint32_t bits, uint64_t in)
{
    *p = (struct ct_packing){ .bits = bits };
    if (packing_fits(w, *p, in))
        return true;
    p->padded = true;
    return packing_fits(w, *p, in);
}

/* Returns the packing of rows of `in` codes: with the bits of config.json if they fit, or else the first stream that fits,
 * or else the first padded packing. Bits are 0 if none fits. Rows of fewer than 32 codes may fit several streams, which sets
 * *several. */
static struct ct_packing
find_packing(const struct weight *w, uint64_t in, uint64_t hint, bool *several)
{
    struct ct_packing found = { 0 }, p;
    *several = false;
    if (hint >= 1 && hint <= 8 && bits_fit(w, &found, (uint32_t)hint, in))
        return found;
    found.bits = 0;
    for (unsigned padded = 0; padded <= 1 && found.bits == 0; padded++)
        for (p = (struct ct_packing){ 1, padded != 0 }; p.bits <= 8; p.bits++)
            if (packing_fits(w, p, in)) {
                *several = found.bits != 0 && in != 0 && dim_rows(w->part[CODES]) != 0;
                if (found.bits == 0)
                    found = p;
            }
    return found;
}

/* Looks up a positive integer for the module in config.json; 0 if there is none. */
static bool
find_hint(uint64_t *hint, const struct table_match *f, const char *key, struct err *err)
{
    const json_t *value;
    if (!config_weights(f->claims->config, f->base.base, f->base.base_len, key, &value, err))
        return false;
    if (json_integer_value(value) > 0)
        *hint = (uint64_t)json_integer_value(value);
    else
        *hint = 0;
    return true;
}

/* --- the shape */

/* Returns true if rows of G groups can have this many words. *in is their number of columns; *alone is true if no other
 * number fits. */
static bool
cols_fit(const struct weight *w, struct ct_packing p, uint64_t groups, uint64_t group, uint64_t *in, bool *alone)
{
    uint64_t words = dim_cols(w->part[CODES]), most;
    if (!num_mul(&most, words, 32) || (group != 0 && !num_mul(in, groups, group)))
        return false;
    if (group == 0)
        *in = (p.padded ? words * (32 / p.bits) : most / p.bits) / groups * groups;
    *alone = group != 0 || *in < groups || words_of(p, *in - groups) != words;
    return packing_fits(w, p, *in);
}

/* Finds the columns for a report, which does not read weight_shape. Returns true if the other tensors and config.json leave
 * a single possible number. */
static bool
find_cols(const struct weight *w, uint64_t bits, uint64_t group, uint64_t *in)
{
    const struct tensor *scale = w->part[SCALE];
    bool grouped = scale->shape.rank >= 2 && dim_rows(scale) == dim_rows(w->part[CODES]) && dim_cols(scale) > 1;
    uint64_t found, n = 0;
    if (w->part[G_IDX]) {
        *in = shape_dim(&w->part[G_IDX]->shape, 0);
        return true;
    }
    for (unsigned i = 2; i < 2 * 9; i++) {
        struct ct_packing p = { i / 2, i % 2 != 0 };
        bool alone, differs = !p.padded || 32 % p.bits != 0;
        if ((bits != 0 && p.bits != bits) || !differs
            || !cols_fit(w, p, grouped ? dim_cols(scale) : 1, grouped ? group : 0, &found, &alone))
            continue;
        n += alone ? 1 : 2;
        *in = found;
    }
    return n == 1;
}

/* Reports a weight_shape `dim` that contradicts the codes. Its last number is the columns; the others must equal the codes'
 * dimensions. */
static bool
wrong_shape(const struct table_match *f, const uint64_t *dim, struct err *err)
{
    const struct tensor *t = table_found(f, ROLE_SHAPE);
    char name[STR_SHOWN], weight[STR_SHOWN], codes[SHAPE_TEXT], expected[SHAPE_TEXT];
    uint8_t packed[RANK_MAX * SHAPE_DIM];
    struct shape shape = { f->codes->shape.rank, packed };
    shape_pack(packed, dim, shape.rank);
    return err_at(err, ERR_MALFORMED, t->extent.at, "tensor %s: shape %s does not fit its weight %s I32 %s in any packing "
        "of 1 to 8 bits", str_shown(name, t->name, t->name_len), shape_text(expected, &shape),
        str_shown(weight, f->codes->name, f->codes->name_len), shape_text(codes, &f->codes->shape));
}

/* Reports that no packing fits: blames the zero points if one would fit without them. */
static bool
no_packing(const struct table_match *f, const struct weight *w, const uint64_t *dim, struct err *err)
{
    struct weight codes = *w;
    bool several;
    codes.part[ZERO] = NULL;
    if (find_packing(&codes, dim[f->codes->shape.rank - 1], 0, &several).bits == 0)
        return wrong_shape(f, dim, err);
    return table_wrong(w->part[ZERO], f->codes, err, "one value for each row of the weight, packed like its codes");
}

/* Returns true if weight_shape has a row for each of the stacked experts. */
static bool
is_each(const struct table_match *f)
{
    const struct shape *s = &table_found(f, ROLE_SHAPE)->shape;
    return f->codes->shape.rank == RANK_MAX && s->rank == 2 && shape_dim(s, 0) == shape_dim(&f->codes->shape, 0)
        && shape_dim(s, 1) == RANK_MAX - 1;
}

static bool
check_shapes(const struct table_match *f, struct err *err)
{
    const struct tensor *t = table_found(f, ROLE_SHAPE);
    uint32_t rank = f->codes->shape.rank;
    if (rank != 2 && rank != RANK_MAX)
        return table_wrong(f->codes, f->codes, err, "packed codes [out, words]");
    return is_each(f) || (t->shape.rank == 1 && shape_dim(&t->shape, 0) == rank)
        || table_wrong(t, f->codes, err, "[%" PRIu32 "]", rank);
}

/* Reads weight_shape into dim, which keeps the first dimension of the codes if the tensor leaves it out. */
static bool
ct_packed_read_shape(const struct table_match *f, uint64_t dim[RANK_MAX], struct err *err)
{
    enum { MOST = 1 << 20 };
    const struct tensor *t = table_found(f, ROLE_SHAPE);
    uint32_t rank = f->codes->shape.rank, size = dtype_facts(t->dtype)->bytes, from = is_each(f) ? 1 : 0, n = rank - from;
    uint8_t *bytes = claims_read(f->claims, t, MOST, "bytes of a shape", err);
    bool ok = bytes != NULL;
    for (uint64_t i = 0; ok && i < t->extent.nbytes / size; i++) {
        uint64_t v;
        if (size == 8)
            v = load_le64(bytes + 8 * i);
        else
            v = (uint64_t)(int64_t)(int32_t)load_le32(bytes + 4 * i);
        uint64_t at = from + i % n;
        bool first = i < n;
        ok = v <= INT64_MAX && (at == rank - 1 || v == shape_dim(&f->codes->shape, (uint32_t)at)) && (first || v == dim[at]);
        if (first)
            dim[at] = v;
        ok = ok || wrong_shape(f, dim, err);
    }
    free(bytes);
    return ok;
}

/* --- zero points and groups */

static bool
check_zero(const struct table_match *f, const struct weight *w, struct err *err)
{
    const struct tensor *zero = w->part[ZERO], *scale = w->part[SCALE];
    if (!zero)
        return codes_check_zeros(f, zero, err);
    if (zero->dtype == DTYPE_I8)
        return dim_same_shape(zero, scale) || table_wrong(zero, f->codes, err, "the shape of weight_scale");
    return (dim_same_rows(scale, f->codes) && dim_same_experts(zero, f->codes) && dim_cols(zero) == dim_cols(scale))
        || table_wrong(zero, f->codes, err, "packed rows, with as many groups as weight_scale has");
}

/* Checks weight_g_idx, which must exist if config.json declares that columns are reordered. */
static bool
check_g_idx(const struct table_match *f, const struct ct *ct, uint64_t in, struct err *err)
{
    const struct tensor *t = table_found(f, ROLE_G_IDX);
    const json_t *order;
    char name[STR_SHOWN];
    if (t)
        return (t->shape.rank == 1 && shape_dim(&t->shape, 0) == in)
            || table_wrong(t, f->codes, err, "[%" PRIu64 "]", in);
    if (!config_weights(f->claims->config, f->base.base, f->base.base_len, "actorder", &order, err))
        return false;
    const char *text = json_string_value(order);
    bool reordered = json_is_true(order) || (text && (strcmp(text, "group") == 0 || strcmp(text, "dynamic") == 0));
    return !reordered || ct->groups == 1 || claims_is_report_on_shard(f->claims)
        || claims_missing(f->claims, f->codes->extent.at, err, "tensor %s: %s has no weight_g_idx, but config.json "
            "declares actorder", str_shown(name, f->codes->name, f->codes->name_len), f->scheme->name);
}

/* Checks that g_idx is within the groups, and whether it reorders columns at all. */
static bool
read_g_idx(const struct table_match *f, const struct weight *w, struct ct *ct, struct err *err)
{
    const struct tensor *t = w->part[G_IDX];
    uint64_t in = ct->blocks.cols, ordered = 0;
    if (!t || !f->claims->contents)
        return true;
    uint8_t *p = perm_read_groups(f->claims, t, in, ct->groups, false, err);
    if (!p)
        return false;
    for (uint64_t i = 0; i < in; i++)
        ordered += load_le32(p + 4 * i) == i / ct->blocks.b1;
    ct->shuffled = ordered != in && (int32_t)load_le32(p) != -1;
    free(p);
    return true;
}

/* --- the weight */

/* Limits the groups of a row if an element may need all its scales or zero points. */
static bool
check_groups(const struct ct *ct, const struct weight *w, struct err *err)
{
    bool crosses = is_packed(w) && !ct->packing.padded && 32 % ct->packing.bits != 0;
    return (!ct->shuffled && !crosses)
        || limits_check(ct->groups, GROUPS_MAX, "groups in a row of reordered codes, or of zero points across words", err);
}

/* Derives everything that depends on the shape of the weight. */
static bool
fit_shape(struct table_match *f, struct weight *w, struct ct *ct, const uint64_t dim[RANK_MAX], uint64_t bits, struct err *err)
{
    const struct tensor *scale = w->part[SCALE];
    uint32_t rank = f->codes->shape.rank;
    uint64_t in = dim[rank - 1];
    enum blocks_result result;
    bool several;
    ct->packing = find_packing(w, in, bits, &several);
    if (ct->packing.bits == 0)
        return no_packing(f, w, dim, err);
    if (!blocks_find(&ct->blocks, &result, f, scale, dim[rank - 2], in, err))
        return false;
    if (result == BLOCKS_WRONG)
        return table_wrong(scale, f->codes, err, "one scale, one per row, or groups or blocks that cover %" PRIu64 " columns",
            in);
    if (several)
        ct->open = "bits not given by config.json (--config)";
    else if (result == BLOCKS_OPEN)
        ct->open = "blocks not given by config.json (--config)";
    else
        ct->open = scale->dtype == DTYPE_F64 ? "with scales of F64" : NULL;
    return check_g_idx(f, ct, in, err) && read_g_idx(f, w, ct, err) && check_groups(ct, w, err);
}

static bool
ct_packed_fit(struct table_match *f, struct weight *w, struct err *err)
{
    const struct tensor *codes = f->codes;
    struct ct *ct = claims_alloc(f->claims, sizeof *ct, err);
    uint64_t dim[RANK_MAX], bits, group;
    if (!ct || !check_shapes(f, err) || !check_zero(f, w, err) || !find_hint(&bits, f, "num_bits", err)
        || !find_hint(&group, f, "group_size", err))
        return false;
    *ct = (struct ct){ .words = dim_cols(codes),
        .groups = dim_same_rows(w->part[SCALE], codes) ? dim_cols(w->part[SCALE]) : 1 };
    w->own = ct;
    for (uint32_t i = 0; i < codes->shape.rank; i++)
        dim[i] = shape_dim(&codes->shape, i);
    if (f->claims->contents ? !ct_packed_read_shape(f, dim, err) : !find_cols(w, bits, group, &dim[codes->shape.rank - 1])) {
        w->vague = !f->claims->contents;
        return w->vague;
    }
    if (!fit_shape(f, w, ct, dim, bits, err))
        return false;
    w->vague = ct->open != NULL;
    return claims_shape(f->claims, w, 0, dim, codes->shape.rank, err);
}

/* --- decoding */

/* Finds the bytes of a row's codes [col, end), extended to whole codes and bytes. */
static void
code_bytes(const struct ct *ct, uint64_t col, uint64_t end, uint64_t *from, uint64_t *to)
{
    uint64_t bits = ct->packing.bits, per = 32 / bits;
    if (ct->packing.padded) {
        *from = col / per * 4;
        *to = num_ceil_div(end, per) * 4;
    } else {
        *from = col / 8 * bits;
        *to = end / 8 * bits + num_ceil_div(end % 8 * bits, 8);
    }
}

/* Returns the first row of packed zero points that a row of the weight needs, counted over all matrices. */
static uint64_t
zero_row(const struct weight *w, uint64_t row, uint32_t *shift)
{
    const struct ct *ct = w->own;
    return row / ct->blocks.rows * dim_rows(w->part[ZERO]) + word_at(ct->packing, row % ct->blocks.rows, shift);
}

/* Finds the packed zero points [from, to) of elements [first, first + count). */
static void
zero_run(const struct weight *w, uint64_t first, uint64_t count, uint64_t *from, uint64_t *to)
{
    const struct ct *ct = w->own;
    const struct blocks *b = &ct->blocks;
    uint64_t last = first + count - 1, row = first / b->cols, end = last / b->cols;
    bool one_row = row == end && !ct->shuffled;
    uint32_t shift;
    *from = zero_row(w, row, &shift) * ct->groups + (one_row ? first % b->cols / b->b1 : 0);
    *to = zero_row(w, end, &shift);
    if (shift + ct->packing.bits > 32)
        ++*to;
    *to = *to * ct->groups + (one_row ? last % b->cols / b->b1 + 1 : ct->groups);
}

/* Finds the scales [from, to), or the zero points shaped like them. */
static void
scale_run(const struct ct *ct, uint64_t first, uint64_t count, uint64_t *from, uint64_t *to)
{
    uint64_t cols = ct->blocks.cols, row = first / cols, end = (first + count - 1) / cols;
    if (ct->shuffled)
        blocks_run(&ct->blocks, row * cols, (end - row + 1) * cols, from, to);
    else
        blocks_run(&ct->blocks, first, count, from, to);
}

static void
ct_packed_run(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count)
{
    const struct ct *ct = w->own;
    uint64_t cols = ct->blocks.cols, last = first + count - 1, from, to, ignored;
    uint64_t size = dtype_facts(w->part[part]->dtype)->bytes;
    if (part == CODES) {
        code_bytes(ct, first % cols, cols, &from, &ignored);
        code_bytes(ct, 0, last % cols + 1, &ignored, &to);
        from += first / cols * ct->words * 4;
        to += last / cols * ct->words * 4;
        size = 1;
    } else if (part == ZERO && is_packed(w)) {
        zero_run(w, first, count, &from, &to);
    } else {
        scale_run(ct, first, count, &from, &to);
    }
    *s = (struct span){ .at = from * size, .len = (to - from) * size };
}

/* Returns the zero point of a group of a row. `scale` is the index of the group's scale. */
static float
zero_of(const struct decoding *d, uint64_t row, uint64_t group, uint64_t scale)
{
    const struct ct *ct = d->w->own;
    uint32_t bits = ct->packing.bits, shift;
    if (!d->w->part[ZERO])
        return (float)(1U << (bits - 1));
    if (!is_packed(d->w))
        return (float)((int8_t)*decoding_bytes(d, ZERO, scale) + (1 << (bits - 1)));
    const uint8_t *p = decoding_bytes(d, ZERO, 4 * (zero_row(d->w, row, &shift) * ct->groups + group));
    uint64_t field = load_le32(p);
    if (shift + bits > 32)
        field |= (uint64_t)load_le32(p + 4 * ct->groups) << 32;
    return (float)(field >> shift & ((1U << bits) - 1));
}

static void
ct_packed_fill(const struct decoding *d, struct codes_piece *p)
{
    const struct ct *ct = d->w->own;
    uint64_t base = blocks_at(&ct->blocks, p->row, 0);
    if (!ct->shuffled)
        codes_scales(p, d, &ct->blocks, SCALE);
    if (!ct->shuffled && !d->w->part[ZERO]) {
        codes_fill_zeros(p, (float)(1U << (ct->packing.bits - 1)));
        return;
    }
    for (size_t i = 0; i < p->groups; i++) {
        uint64_t g;
        if (ct->shuffled)
            g = load_le32(d->in[G_IDX].p + 4 * (p->col + i));
        else
            g = p->col / ct->blocks.b1 + i;
        if (ct->shuffled)
            p->scales[i] = scale_at(d, SCALE, base + g);
        p->zeros[i] = zero_of(d, p->row, g, base + g);
    }
}

static void
unpack_padded(struct codes_piece *p, uint32_t bits, const uint8_t *x)
{
    uint32_t per = 32 / bits;
    for (size_t i = 0; i < p->n; i++) {
        uint64_t at = p->col % per + i;
        p->codes[i] = (uint8_t)(load_le32(x + at / per * 4) >> at % per * bits & ((1U << bits) - 1));
    }
}

static uint64_t
ct_packed_decode(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y)
{
    const struct ct *ct = d->w->own;
    struct codes_piece *p = codes_begin(d, at, count, ct->blocks.cols, ct->shuffled ? 1 : ct->blocks.b1);
    uint64_t from, ignored;
    p->narrow = ct->packing.bits <= 4;
    ct_packed_fill(d, p);
    code_bytes(ct, p->col, p->col + p->n, &from, &ignored);
    const uint8_t *x = decoding_bytes(d, CODES, p->row * ct->words * 4 + from);
    if (ct->packing.bits == 4)
        return codes_emit4(p, d, x + p->col % 8 / 2, false, y);
    if (ct->packing.padded)
        unpack_padded(p, ct->packing.bits, x);
    else
        d->k->bits_stream(p->codes, x, (size_t)p->col, p->n, ct->packing.bits);
    return codes_emit(p, d, p->codes, false, true, y);
}

static void
ct_packed_describe(const struct weight *w, char buf[SCHEME_DETAIL])
{
    const struct ct *ct = w->own;
    int n = 0;
    *buf = '\0';
    if (ct->packing.bits != 0)
        n = snprintf(buf, SCHEME_DETAIL, "%" PRIu32 "-bit, ", ct->packing.bits);
    if (ct->open || ct->packing.bits != 0)
        blocks_describe(&ct->blocks, ct->open, buf, n);
}

static void
ct_packed_variant(const struct weight *w, char buf[SCHEME_WORD])
{
    const struct ct *ct = w->own;
    if (ct->packing.bits == 4 && !ct->open && ct->blocks.b0 == 1 && ct->blocks.b1 < ct->blocks.cols)
        snprintf(buf, SCHEME_WORD, "int4-group");
}

static void
ct_packed_grid(const struct weight *w, struct weight_grid *g)
{
    const struct ct *ct = w->own;
    codes_grid(g, ct->packing.bits, ct->shuffled ? 0 : ct->blocks.b1, w->part[SCALE], w->part[ZERO]);
    if (ct->shuffled)
        g->g_idx = w->part[G_IDX];
    else
        g->g_idx = NULL;
    g->groups = ct->groups;
}

const struct scheme ct_packed_schemes[] = {
    {
        .code = "ct-packed",
        .name = "compressed-tensors pack-quantized",
        WORDS({ WORD_METHOD, "compressed-tensors" }, { WORD_FORMAT, "pack-quantized" }),
        ROWS({ .codes = ".weight_packed", .dtypes = IS(I32), .becomes = ".weight", WITH(COMPANION(".weight_shape", DTYPE_SET(HAS(I64), HAS(I32)), REQUIRED, SHAPE),
            COMPANION(".weight_scale", FLOAT, REQUIRED, SCALE, .part = SCALE),
            COMPANION(".weight_zero_point", DTYPE_SET(HAS(I32), HAS(I8)), OPTIONAL, ZERO_POINT, .part = ZERO,
                .left = LEFT_SCALES),
            COMPANION(".weight_g_idx", IS(I32), OPTIONAL, G_IDX, .part = G_IDX, .left = LEFT_SCALES)) }, {
            .codes = "_packed", .dtypes = IS(I32), .becomes = "", WITH(COMPANION("_shape", DTYPE_SET(HAS(I64), HAS(I32)), NAMED, SHAPE),
            COMPANION("_scale", FLOAT, REQUIRED, SCALE, .part = SCALE),
            COMPANION("_zero_point", DTYPE_SET(HAS(I32), HAS(I8)), OPTIONAL, ZERO_POINT, .part = ZERO)) }, {
            .codes = "_packed", .dtypes = IS(I32), .becomes = "", WITH(/* without its shape */
            COMPANION("_scale", FLOAT, EVIDENCE, SCALE), COMPANION("_shape", ANY, REQUIRED, SHAPE)) }),
        .fit = ct_packed_fit,
        .need = { [CODES] = NEED_RUN, [SCALE] = NEED_RUN, [ZERO] = NEED_RUN, [G_IDX] = NEED_WHOLE },
        .run = ct_packed_run,
        .room = sizeof(struct codes_piece),
        .decode = ct_packed_decode,
        .describe = ct_packed_describe,
        .grid = ct_packed_grid,
        .variant = ct_packed_variant,
    },
    { 0 },
};
