/* EXL2: groups of inputs, each with its own number of bits. The tensors of a module P, whose decoded weight is [out, in]:
 *
 *     P.q_weight      I32 [words, out]     a column of a group is a bit stream, the low bits of a word first
 *     P.q_scale       I32 [G, out/8]       codes of scales, 4 bits each, the low ones first
 *     P.q_scale_max   F16 [G]
 *     P.q_groups      I16 [2*G]            for each group its bits (2 to 8, but not 7) and its first row of q_weight
 *     P.q_invperm     I32 or I16 [in]      the position of an input in the streams
 *     P.q_perm        optional: the inverse, which no loader reads
 *
 *     m  = RNH(q_scale_max[g] / 256)       s = RNH((q_scale[g][o] + 1)^2 * m)
 *     V[o][i] = RNH((q[k][o] - 2^(bits-1)) * s)          k = q_invperm[i], g the group that contains k
 *
 * Groups are sorted by decreasing bits and have a multiple of 32 inputs; the kernels of the library support nothing else.
 * `out` is padded to a multiple of 32. In practice this only affects lm_head, whose rows are the vocab_size in config.json.
 * Sources: exllamav2 ext.py, make_q_matrix; exllamav2_ext/cuda/q_matrix.cu, reconstruct_kernel, and quant/qdq_*.cuh;
 * conversion/adaptivegptq.py, pack.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/str.h"
#include "kernel/bits.h"
#include "scheme/dim.h"
#include "scheme/perm.h"
#include "scheme/scale.h"
#include "scheme/step.h"
#include "scheme/table.h"

enum { CODES, SCALES, MOST, GROUPS, INVPERM };          /* parts */

enum {
    UNIT = 32,                  /* inputs that take whole words with any number of bits */
    UNITS = PERM_MAX / UNIT,
    PIECE = 1024
};

struct exl2 {
    uint64_t in;
    const char *open;                                   /* why it cannot be decoded, or NULL */
};

/* --- recognition */

static uint64_t
padded(uint64_t out)
{
    return num_ceil_div(out, UNIT) * UNIT;
}

static bool
exl2_fits(const struct table_match *f)
{
    const struct tensor *codes = f->codes, *const *with = f->with;
    enum { SCALES_AT, MOST_AT, GROUPS_AT, INVPERM_AT };
    if (codes->shape.rank != 2 || with[SCALES_AT]->shape.rank != 2 || with[MOST_AT]->shape.rank != 1
        || with[GROUPS_AT]->shape.rank != 1 || with[INVPERM_AT]->shape.rank != 1)
        return false;
    uint64_t groups = dim_rows(with[SCALES_AT]);
    return dim_cols(codes) % 8 == 0 && dim_cols(with[SCALES_AT]) == dim_cols(codes) / 8
        && dim_cols(with[MOST_AT]) == groups && dim_cols(with[GROUPS_AT]) % 2 == 0
        && dim_cols(with[GROUPS_AT]) / 2 == groups;
}

/* Returns the bits of group g, and its rows [*first, *end) of q_weight, which has `words` rows. */
static uint32_t
group_at(const uint8_t *groups, uint64_t g, uint64_t count, uint64_t words, uint64_t *first, uint64_t *end)
{
    *first = load_le16(groups + 4 * g + 2);
    if (g + 1 < count)
        *end = load_le16(groups + 4 * g + 6);
    else
        *end = words;
    return load_le16(groups + 4 * g);
}

/* Checks that the library can read the groups, and that they cover all words and inputs. Without contents they are accepted. */
static bool
check_groups(const struct claims *c, const struct weight *w, uint64_t in, struct err *err)
{
    const struct tensor *t = w->part[GROUPS];
    uint64_t words = dim_rows(w->part[CODES]), count = dim_cols(t) / 2, inputs = 0, first, end;
    uint32_t last = 8;
    char name[STR_SHOWN], codes[STR_SHOWN];
    if (!c->contents)
        return true;
    uint8_t *p = claims_read(c, t, 4 * UNITS, "bytes of q_groups", err);
    bool ok = p != NULL;
    str_shown(name, t->name, t->name_len);
    str_shown(codes, w->part[CODES]->name, w->part[CODES]->name_len);
    for (uint64_t g = 0, before = 0; ok && g < count; g++, before = end) {
        uint32_t bits = group_at(p, g, count, words, &first, &end);
        if (bits < 2 || bits == 7 || bits > last)
            ok = err_at(err, ERR_MALFORMED, t->extent.at, "tensor %s: group %" PRIu64 " has %" PRIu32 " bits, expected "
                "2, 3, 4, 5, 6 or 8, and no more than the group before", name, g, bits);
        else if (first != before || end <= first || end > words || (end - first) % bits != 0)
            ok = err_at(err, ERR_MALFORMED, t->extent.at, "tensor %s: group %" PRIu64 " of %" PRIu32 " bits has rows %"
                PRIu64 " to %" PRIu64 " of %s, expected a multiple of %" PRIu32 " of its %" PRIu64 " rows, starting at %"
                PRIu64, name, g, bits, first, end, codes, bits, words, before);
        else
            inputs += (end - first) / bits * UNIT;
        last = bits;
    }
    if (ok && (inputs != in || (count == 0 && words != 0)))
        ok = err_at(err, ERR_MALFORMED, t->extent.at, "tensor %s: the %" PRIu64 " groups of %s have %" PRIu64
            " inputs, expected %" PRIu64 " as in q_invperm", name, count, codes, inputs, in);
    free(p);
    return ok;
}

/* Returns the rows of the weight without padding. *known is false if only config.json could decide and it does not. */
static uint64_t
find_rows(const struct table_match *f, bool *known)
{
    size_t len = f->base.base_len, n = len;
    const struct tensor *bias = claims_find(f->claims, f->base.base, len, ".bias");
    uint64_t out = dim_cols(f->codes), vocab = config_size(f->claims->config, CONFIG_VOCAB);
    *known = true;
    if (bias && bias->shape.rank == 1 && padded(dim_cols(bias)) == out)
        return dim_cols(bias);
    if (!str_strip(f->base.base, &n, "lm_head") || (n != 0 && f->base.base[n - 1] != '.'))
        return out;
    *known = vocab != 0;
    if (padded(vocab) == out)
        return vocab;
    return out;
}

static bool
exl2_fit(struct table_match *f, struct weight *w, struct err *err)
{
    struct exl2 *q = claims_alloc(f->claims, sizeof *q, err);
    bool known;
    if (!q)
        return false;
    *q = (struct exl2){ .in = dim_cols(w->part[INVPERM]) };
    w->own = q;
    if (q->in > PERM_MAX)
        return table_wrong(w->part[INVPERM], f->codes, err, "at most %d inputs", PERM_MAX);
    if (dim_cols(w->part[MOST]) > UNITS)
        return table_wrong(w->part[MOST], f->codes, err, "at most %d groups", UNITS);
    if (!check_groups(f->claims, w, q->in, err) || !perm_check(f->claims, w->part[INVPERM], q->in, err))
        return false;
    const uint64_t dim[2] = { find_rows(f, &known), q->in };
    if (known)
        q->open = NULL;
    else
        q->open = "padding of rows unknown without vocab_size of config.json (--config)";
    w->vague = !known;
    return claims_shape(f->claims, w, 0, dim, 2, err);
}

/* --- decoding */

static void
strip(struct strip *s, const struct weight *w, unsigned p)
{
    table_strip(s, w, p);
    if (p == SCALES)
        s->unit_rows = 8;
    else
        s->unit_rows = 1;
}

/* The groups of a weight, indexed so that an input finds its own. */
struct groups {
    struct { uint32_t at; uint16_t group; uint8_t bits; } unit[UNITS];      /* at: byte offset in the column */
    float most[UNITS];                                  /* for each group: m */
};

static void
index_groups(struct groups *l, const struct decoding *d)
{
    const struct weight *w = d->w;
    uint64_t words = dim_rows(w->part[CODES]), count = dim_cols(w->part[GROUPS]) / 2, first, end, unit = 0;
    for (uint64_t g = 0; g < count; g++) {
        uint32_t bits = group_at(d->in[GROUPS].p, g, count, words, &first, &end);
        float most = scale_at(d, MOST, g) / 256;
        l->most[g] = half_to_float(half_of_float(most));
        for (; first < end && unit < UNITS; first += bits, unit++) {
            l->unit[unit].at = (uint32_t)(4 * first);
            l->unit[unit].group = (uint16_t)g;
            l->unit[unit].bits = (uint8_t)bits;
        }
    }
}

/* Returns the scale of a group in an output row: number `lane` of the eight rows that share words. */
static float
group_scale(const struct groups *l, const uint8_t *scales, uint64_t g, uint32_t lane)
{
    uint32_t root = (load_le32(scales + 4 * g) >> 4 * lane & 15) + 1;
    return half_to_float(half_of_float((float)(root * root) * l->most[g]));
}

struct exl2_room {
    struct groups groups;
    float scales[UNITS];                                /* of one output row */
    float factors[PIECE], terms[PIECE], v[PIECE];
    uint8_t x[PIECE];
};

/* Decodes some elements of one output row. */
static uint64_t
exl2_decode(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y)
{
    const struct exl2 *q = d->w->own;
    uint64_t top = d->first / q->in, row = at / q->in, col = at % q->in;
    size_t n = (size_t)num_min(num_min(q->in - col, count), PIECE);
    const uint8_t *codes = decoding_unit(d, CODES, row - top), *scales = decoding_unit(d, SCALES, row / 8 - top / 8);
    struct exl2_room *own = d->room;
    const struct groups *l = &own->groups;
    const struct affine a = { own->factors, own->terms, 1, DTYPE_F16, .term_first = true };
    if (at == d->first)
        index_groups(&own->groups, d);
    for (uint64_t g = 0; (at == d->first || col == 0) && g < dim_cols(d->w->part[MOST]); g++)
        own->scales[g] = group_scale(l, scales, g, row % 8);
    for (size_t i = 0; i < n; i++) {
        uint32_t place = perm_at(d->w->part[INVPERM], d->in[INVPERM].p, col + i), unit = place / UNIT;
        uint32_t bits = l->unit[unit].bits;
        own->x[i] = (uint8_t)bits_code(codes + l->unit[unit].at, place % UNIT * bits, bits);
        own->factors[i] = own->scales[l->unit[unit].group];
        own->terms[i] = (float)(1U << (bits - 1));
    }
    step_affine(d, y, own->x, 0, n, &a, own->v);
    return n;
}

static void
exl2_describe(const struct weight *w, char buf[SCHEME_DETAIL])
{
    const struct exl2 *q = w->own;
    uint64_t words = dim_rows(w->part[CODES]), groups = dim_cols(w->part[MOST]);
    if (q->open)
        snprintf(buf, SCHEME_DETAIL, "%s", q->open);
    else
        snprintf(buf, SCHEME_DETAIL, "%.3g-bit, %" PRIu64 " group%s", (double)words * 32 / (double)num_max(q->in, 1),
            groups, str_plural(groups));
}

#define OTHER_PARTS COMPANION(".q_scale_max", IS(F16), REQUIRED, SCALE, .part = MOST, .left = LEFT_PACKED), \
    COMPANION(".q_groups", IS(I16), REQUIRED, STATE, .part = GROUPS, .left = LEFT_PACKED), \
    COMPANION(".q_invperm", DTYPE_SET(HAS(I32), HAS(I16)), REQUIRED, G_IDX, .part = INVPERM), \
    COMPANION(".q_perm", DTYPE_SET(HAS(I32), HAS(I16)), OPTIONAL, G_IDX), COMPANION(".q_group_map", IS(I16), OPTIONAL, G_IDX)

const struct scheme exl2_schemes[] = {
    {
        .code = "exl2",
        .name = "EXL2",
        WORDS({ WORD_METHOD, "exl2" }),
        ROWS({ .codes = ".q_weight", .dtypes = IS(I32), .becomes = ".weight", .left = LEFT_WORDS, .fits = exl2_fits,
            .shapes = "[words, out], q_scale [G, out/8], q_scale_max [G], q_groups [2*G], q_invperm [in]", WITH(COMPANION(".q_scale", IS(I32), NAMED, SCALE, .part = SCALES), OTHER_PARTS) }, {
            .codes = ".q_weight", .dtypes = IS(I32), .becomes = ".weight", WITH(/* without its scales */
            COMPANION(".q_groups", ANY, EVIDENCE, STATE), COMPANION(".q_scale", IS(I32), REQUIRED, SCALE)) }),
        .fit = exl2_fit,
        .need = { [CODES] = NEED_STRIP, [SCALES] = NEED_STRIP, [MOST] = NEED_WHOLE, [GROUPS] = NEED_WHOLE,
            [INVPERM] = NEED_WHOLE },
        .strip = strip,
        .room = sizeof(struct exl2_room),
        .decode = exl2_decode,
        .describe = exl2_describe,
    },
    { 0 },
};
