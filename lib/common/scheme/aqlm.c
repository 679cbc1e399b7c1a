/* AQLM: vectors of weights, each the sum of one entry from every codebook. The tensors of a module P, whose decoded weight
 * is [out, in], in vectors of og x ig elements:
 *
 *     P.codes        I8, I16 or I32 [out/og, in/ig, n]     only the low bits of a code count
 *     P.codebooks    T [n, 2^bits, og, ig]                 F16, F32, or BF16
 *     P.scales       T [out/og, 1, 1, 1]
 *
 *     s = RN_T(((0 + codebooks[0][c0]) + codebooks[1][c1]) + ...)        in F32
 *     V[a*og + x][b*ig + y] = RN_T(s[x][y] * scales[a])                   c of codes[a][b]
 *
 * RN rounds ties to even, except for the sum in BF16, where ties are rounded away from zero: the library computes it with
 * embedding_bag, and PyTorch 2.15 does that on a CPU for vectors of 1 to 64 elements. Other devices may differ in the last
 * bit. Sources: aqlm utils.py, _dequantize_weight and unpack_int_data, executed for 1 to 8 codebooks.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/limits.h"
#include "base/num.h"
#include "scheme/dim.h"
#include "scheme/scale.h"
#include "scheme/table.h"

enum { CODES, BOOKS, SCALES };                          /* parts */
enum { PIECE = 1024, BOOKS_MAX = 32 << 20, COUNT_MAX = 256 };

struct aqlm {
    uint64_t vectors;                                   /* in a row of codes */
    uint64_t books, entries, og, ig;                    /* the shape of the codebooks */
    uint32_t size;                                      /* bytes of a code */
    const char *open;                                   /* why it cannot be decoded, or NULL */
};

/* --- recognition */

/* The names are not specific to AQLM, so without scales the shapes must match too. */
static bool
is_aqlm(const struct table_match *f)
{
    return f->with[1] || (f->codes->shape.rank == 3 && f->with[0]->shape.rank == 4);
}

static bool
aqlm_fits(const struct table_match *f)
{
    const struct shape *codes = &f->codes->shape, *books = &f->with[0]->shape, *scales = &f->with[1]->shape;
    return codes->rank == 3 && books->rank == 4 && scales->rank == 4 && shape_dim(books, 0) == shape_dim(codes, 2)
        && shape_dim(scales, 0) == shape_dim(codes, 0) && shape_dim(scales, 1) == 1 && dim_rows(f->with[1]) == 1
        && dim_cols(f->with[1]) == 1 && shape_dim(books, 0) != 0 && dim_rows(f->with[0]) != 0
        && dim_cols(f->with[0]) != 0;
}

static uint32_t
code_bits(const struct aqlm *q)
{
    uint32_t bits = 0;
    while (bits < 32 && UINT64_C(1) << bits < q->entries)
        bits++;
    return bits;
}

static bool
aqlm_fit(struct table_match *f, struct weight *w, struct err *err)
{
    const struct shape *codes = &f->codes->shape, *books = &w->part[BOOKS]->shape;
    struct aqlm *q = claims_alloc(f->claims, sizeof *q, err);
    uint64_t dim[2], numel;
    if (!q)
        return false;
    *q = (struct aqlm){ shape_dim(codes, 1), shape_dim(books, 0), shape_dim(books, 1), shape_dim(books, 2),
        shape_dim(books, 3), dtype_facts(f->codes->dtype)->bytes, NULL };
    w->own = q;
    if (!table_check_type(f, f->codes, DTYPE_SET(HAS(I8), HAS(I16), HAS(I32)), ROLE_WEIGHT, err)
            || !limits_check(q->books, COUNT_MAX, "codebooks", err)
            || !limits_check(w->part[BOOKS]->extent.nbytes, BOOKS_MAX, "bytes of codebooks", err))
        return false;
    if (q->entries < 2 || (q->entries & (q->entries - 1)) != 0 || code_bits(q) > 8 * q->size)
        return table_wrong(w->part[BOOKS], f->codes, err, "a power of two of entries, at most 2^%" PRIu32, 8 * q->size);
    if (w->part[BOOKS]->dtype != w->part[SCALES]->dtype)
        q->open = "with codebooks and scales of different types";
    if (!num_mul(&dim[0], shape_dim(codes, 0), q->og) || !num_mul(&dim[1], q->vectors, q->ig)
            || (dim[0] != 0 && !num_mul(&numel, dim[0], dim[1])))
        return table_wrong(f->codes, f->codes, err, "fewer than 2^64 elements");
    w->vague = q->open != NULL;
    return claims_shape(f->claims, w, 0, dim, 2, err);
}

/* --- decoding */

static void
aqlm_run(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count)
{
    const struct aqlm *q = w->own;
    uint64_t cols = q->vectors * q->ig, last = first + count - 1, row = first / cols, end = last / cols;
    uint64_t size;
    if (part == CODES)
        size = q->books * q->size;
    else
        size = dtype_facts(w->part[SCALES]->dtype)->bytes;
    uint64_t per = part == CODES ? q->vectors : 1, from = row / q->og * per, to = (end / q->og + 1) * per;
    if (part == CODES && row == end) {
        to = from + last % cols / q->ig + 1;
        from += first % cols / q->ig;
    }
    *s = (struct span){ from * size, (to - from) * size };
}

static uint64_t
code_at(const uint8_t *p, uint32_t size)
{
    if (size == 1)
        return *p;
    if (size == 2)
        return load_le16(p);
    return load_le32(p);
}

/* Sums the codebook entries of a vector, for n elements of its row x from element y. */
static void
sum_entries(float *v, const struct decoding *d, const uint8_t *codes, uint64_t x, uint64_t y, size_t n)
{
    const struct aqlm *q = d->w->own;
    enum dtype type = d->w->part[BOOKS]->dtype;
    for (size_t i = 0; i < n; i++)
        v[i] = 0;
    for (uint64_t b = 0; b < q->books; b++) {
        uint64_t entry = b * q->entries + (code_at(codes + b * q->size, q->size) & (q->entries - 1));
        const uint8_t *p = scale_bytes(d, BOOKS, (entry * q->og + x) * q->ig + y);
        for (size_t i = 0; i < n; i++)
            v[i] += scale_value(type, p, i);
    }
}

/* Rounds a sum to the type of the codebooks. */
static float
round_sum(enum dtype type, float v)
{
    if (type == DTYPE_BF16 && !isnan(v))
        return float_of_bits((bits_of_float(v) + 0x8000u) & 0xFFFF0000u);
    return scale_round(type, v);
}

static uint64_t
aqlm_decode(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y)
{
    const struct aqlm *q = d->w->own;
    enum dtype type = d->w->part[BOOKS]->dtype;
    uint64_t cols = q->vectors * q->ig, row = at / cols, col = at % cols, a = row / q->og;
    uint64_t n = num_min(num_min(cols - col, count), PIECE);
    float *v = d->room, scale = scale_value(type, scale_bytes(d, SCALES, a), 0);
    for (uint64_t i = 0, some; i < n; i += some) {
        uint64_t b = (col + i) / q->ig, inside = (col + i) % q->ig;
        some = num_min(q->ig - inside, n - i);
        sum_entries(v + i, d, decoding_bytes(d, CODES, (a * q->vectors + b) * q->books * q->size), row % q->og, inside,
            (size_t)some);
    }
    for (uint64_t i = 0; i < n; i++)
        v[i] = scale_round(type, round_sum(type, v[i]) * scale);
    kernels_round(d->k, d->to, y, v, (size_t)n);
    return n;
}

static void
aqlm_describe(const struct weight *w, char buf[SCHEME_DETAIL])
{
    const struct aqlm *q = w->own;
    if (q->open)
        snprintf(buf, SCHEME_DETAIL, "%s", q->open);
    else
        snprintf(buf, SCHEME_DETAIL, "%.3g-bit, %" PRIu64 " codebook%s of %" PRIu64 ", vectors of %" PRIu64 "x%" PRIu64,
            (double)q->books * code_bits(q) / (double)q->og / (double)q->ig, q->books, str_plural(q->books),
            q->entries, q->og, q->ig);
}

const struct scheme aqlm_schemes[] = {
    {
        .code = "aqlm",
        .name = "AQLM",
        WORDS({ WORD_METHOD, "aqlm" }),
        ROWS({ .codes = ".codes", .dtypes = SCALARS, .becomes = ".weight", .left = LEFT_METHOD, .is = is_aqlm, .fits = aqlm_fits,
            .shapes = "[out/og, in/ig, n], codebooks [n, entries, og, ig], scales [out/og, 1, 1, 1]", WITH(COMPANION(".codebooks", FLOAT_16, NAMED, CODEBOOK, .part = BOOKS, .left = LEFT_PACKED),
            COMPANION(".scales", FLOAT_16, REQUIRED, SCALE, .part = SCALES)) }),
        .fit = aqlm_fit,
        .need = { [CODES] = NEED_AGAIN, [BOOKS] = NEED_WHOLE, [SCALES] = NEED_AGAIN },
        .run = aqlm_run,
        .room = PIECE * sizeof(float),
        .decode = aqlm_decode,
        .describe = aqlm_describe,
    },
    { 0 },
};
