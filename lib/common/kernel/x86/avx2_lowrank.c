/* avx2_lowrank: lanes are columns, so each element is summed in the order of the scalar code. Six rows share the panel of R
 * that is in registers. Merging makes a whole tile before it stores any codes: if a result is NaN or large, the scalar code makes
 * the tile instead, so codes need no test for NaN. */
#if defined(__x86_64__)

#include <immintrin.h>

#include "kernel/x86/x86_priv.h"

#include "base/num.h"
#include "kernel/x86/avx2_inline.h"

enum { ROWS = LOWRANK_ROWS };

/* The sums of a panel, eight columns of each row. Members rather than an array, which gcc would store in each round of a loop. */
struct panel_sums {
    __m256d lo0, hi0, lo1, hi1, lo2, hi2, lo3, hi3, lo4, hi4, lo5, hi5;
};

/* Adds a row of the panel to the sums of row i, for i below `rows`. */
#define ADD(i)                                                          \
    if (rows > i) {                                                     \
        __m256d a = _mm256_broadcast_sd(l + i * rank + k);              \
        s.lo##i = _mm256_fmadd_pd(a, lo, s.lo##i);                      \
        s.hi##i = _mm256_fmadd_pd(a, hi, s.hi##i);                      \
    }

/* Sums `rows` rows of one panel. */
static ALWAYS_INLINE struct panel_sums
sum_rows(const double *l, const float *panel, size_t rank, unsigned rows)
{
    const __m256d zero = _mm256_setzero_pd();
    struct panel_sums s = { zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero };
    for (size_t k = 0; k < rank; k++) {
        __m256d lo = _mm256_cvtps_pd(_mm_loadu_ps(panel + k * LOWRANK_PANEL));
        __m256d hi = _mm256_cvtps_pd(_mm_loadu_ps(panel + k * LOWRANK_PANEL + 4));
        ADD(0)
        ADD(1)
        ADD(2)
        ADD(3)
        ADD(4)
        ADD(5)
    }
    return s;
}

#undef ADD

/* Stores the sum of one row of a panel, or adds s times the sum. */
static ALWAYS_INLINE void
store(double *v, __m256d lo, __m256d hi, __m256d s, bool add)
{
    if (add) {
        lo = _mm256_add_pd(_mm256_loadu_pd(v), _mm256_mul_pd(s, lo));
        hi = _mm256_add_pd(_mm256_loadu_pd(v + 4), _mm256_mul_pd(s, hi));
    }
    _mm256_storeu_pd(v, lo);
    _mm256_storeu_pd(v + 4, hi);
}

/* Makes columns [from, to) of a panel for some rows, through memory if they are not all of its columns. */
static ALWAYS_INLINE void
make_rows(double *v, size_t stride, const struct lowrank *p, const double *l, const float *panel, size_t from, size_t to,
    unsigned rows, bool add)
{
    const __m256d s = _mm256_set1_pd(p->s);
    const struct panel_sums t = sum_rows(l, panel, p->rank, rows);
    const __m256d sum[2 * ROWS] = { t.lo0, t.hi0, t.lo1, t.hi1, t.lo2, t.hi2, t.lo3, t.hi3, t.lo4, t.hi4, t.lo5, t.hi5 };
    for (unsigned i = 0; i < rows; i++) {
        double some[LOWRANK_PANEL] = { 0 }, *row = v + i * stride;
        if (to - from == LOWRANK_PANEL) {
            store(row, sum[2 * i], sum[2 * i + 1], s, add);
            continue;
        }
        for (size_t j = from; add && j < to; j++)
            some[j] = row[j - from];
        store(some, sum[2 * i], sum[2 * i + 1], s, add);
        for (size_t j = from; j < to; j++)
            row[j - from] = some[j];
    }
}

/* Makes fewer than ROWS rows: a loop for each number of them, because one row at a time takes as long as three together. */
static ALWAYS_INLINE void
make_rest(double *v, size_t stride, const struct lowrank *p, const double *l, const float *panel, size_t from, size_t to, size_t rows,
    bool add)
{
    switch (rows) {
    case 1:
        make_rows(v, stride, p, l, panel, from, to, 1, add);
        break;
    case 2:
        make_rows(v, stride, p, l, panel, from, to, 2, add);
        break;
    case 3:
        make_rows(v, stride, p, l, panel, from, to, 3, add);
        break;
    case 4:
        make_rows(v, stride, p, l, panel, from, to, 4, add);
        break;
    case 5:
        make_rows(v, stride, p, l, panel, from, to, 5, add);
        break;
    default:
        break;
    }
}

static ALWAYS_INLINE void
avx2_lowrank_make(double *v, size_t stride, const struct lowrank *p, bool add)
{
    for (size_t col = p->first, end = p->first + p->cols, next; col < end; col = next) {
        size_t base = col / LOWRANK_PANEL * LOWRANK_PANEL, i = 0;
        const float *panel = p->r + base * p->rank;
        next = (size_t)num_min(base + LOWRANK_PANEL, end);
        double *y = v + (col - p->first);
        for (; i + ROWS <= p->rows; i += ROWS)
            make_rows(y + i * stride, stride, p, p->l + i * p->rank, panel, col - base, next - base, ROWS, add);
        make_rest(y + i * stride, stride, p, p->l + i * p->rank, panel, col - base, next - base, p->rows - i, add);
    }
}

static void
avx2_lowrank_product(double *v, size_t stride, const struct lowrank *p)
{
    avx2_lowrank_make(v, stride, p, false);
}

static void
avx2_lowrank_add(double *v, size_t stride, const struct lowrank *p)
{
    avx2_lowrank_make(v, stride, p, true);
}

#define FLT_MAX_BITS 0x7F7FFFFFu

/* Sums of lowrank_merge(), in registers while a tile is made. */
struct merging {
    __m256d base, change, both, rest;
    __m256i moved;              /* minus the number of such elements, in each lane */
};

/* Adds four elements. Products with d are rounded, as in the scalar code; products of floats are exact. */
static ALWAYS_INLINE void
add_four(struct merging *m, __m256d w, __m256d d, __m256d rest)
{
    m->base = _mm256_fmadd_pd(w, w, m->base);
    m->change = _mm256_add_pd(m->change, _mm256_mul_pd(d, d));
    m->both = _mm256_add_pd(m->both, _mm256_mul_pd(rest, d));
    m->rest = _mm256_fmadd_pd(rest, rest, m->rest);
}

/* Adds the change of a row to the sums: from w, in F32 and in F64, to `now`, and to `after` in the output. */
static ALWAYS_INLINE void
add_shift(struct merging *m, __m256 w, __m256d wlo, __m256d whi, __m256 now, __m256 after)
{
    __m256 rest = _mm256_sub_ps(after, now);
    __m256d lo = _mm256_cvtps_pd(_mm256_castps256_ps128(now)), hi = _mm256_cvtps_pd(_mm256_extractf128_ps(now, 1));
    m->moved = _mm256_add_epi32(m->moved, _mm256_castps_si256(_mm256_cmp_ps(after, w, _CMP_NEQ_UQ)));
    add_four(m, wlo, _mm256_sub_pd(lo, wlo), _mm256_cvtps_pd(_mm256_castps256_ps128(rest)));
    add_four(m, whi, _mm256_sub_pd(hi, whi), _mm256_cvtps_pd(_mm256_extractf128_ps(rest, 1)));
}

/* Changes eight codes by s times the sums lo and hi of the product. Returns the results in F32; the codes of NaN are undefined. */
static ALWAYS_INLINE __m256i
merge_row(__m128i *codes, const uint8_t *from, __m256d lo, __m256d hi, __m256d s, struct merging *m, bool shifts)
{
    const __m128i x = _mm_loadu_si128((const __m128i *)(const void *)from), zero = _mm_setzero_si128();
    __m128 w0 = _mm_castsi128_ps(_mm_unpacklo_epi16(zero, x)), w1 = _mm_castsi128_ps(_mm_unpackhi_epi16(zero, x));
    __m256d wlo = _mm256_cvtps_pd(w0), whi = _mm256_cvtps_pd(w1);
    lo = _mm256_add_pd(wlo, _mm256_mul_pd(s, lo));
    hi = _mm256_add_pd(whi, _mm256_mul_pd(s, hi));
    __m256 now = _mm256_set_m128(_mm256_cvtpd_ps(hi), _mm256_cvtpd_ps(lo));
    __m256i high = bf16_high256(now), bits = _mm256_srli_epi32(high, 16);
    *codes = _mm_packus_epi32(_mm256_castsi256_si128(bits), _mm256_extracti128_si256(bits, 1));
    if (shifts)
        add_shift(m, _mm256_set_m128(w1, w0), wlo, whi, now, _mm256_castsi256_ps(_mm256_slli_epi32(bits, 16)));
    return _mm256_castps_si256(now);
}

/* Merges a tile of a whole panel. Returns false, without a change, if a result is NaN or that large. */
static ALWAYS_INLINE bool
merge_rows(uint8_t *codes, size_t stride, const struct lowrank *p, size_t row, const float *panel, unsigned rows,
    struct merging *m, bool shifts)
{
    const struct panel_sums t = sum_rows(p->l + row * p->rank, panel, p->rank, rows);
    const __m256d sum[2 * ROWS] = { t.lo0, t.hi0, t.lo1, t.hi1, t.lo2, t.hi2, t.lo3, t.hi3, t.lo4, t.hi4, t.lo5, t.hi5 };
    const __m256d s = _mm256_set1_pd(p->s);
    __m128i out[ROWS];
    __m256i most = _mm256_set1_epi32((int)(FLT_MAX_BITS * 2 - 1)), start = most;        /* the sign is shifted out */
    struct merging now = *m;
    for (unsigned i = 0; i < rows; i++)
        most = _mm256_max_epu32(most, _mm256_slli_epi32(merge_row(&out[i], codes + 2 * i * stride, sum[2 * i], sum[2 * i + 1], s,
            &now, shifts), 1));
    if (_mm256_movemask_epi8(_mm256_cmpeq_epi32(most, start)) != -1)
        return false;
    for (unsigned i = 0; i < rows; i++)
        _mm_storeu_si128((__m128i *)(void *)(codes + 2 * i * stride), out[i]);
    *m = now;
    return true;
}

static ALWAYS_INLINE bool
merge_tile(uint8_t *codes, size_t stride, const struct lowrank *p, const struct lowrank_tile *t, struct merging *m, bool shifts)
{
    const float *panel = p->r + t->col * p->rank;
    switch (t->row_end - t->row) {
    case 1:
        return merge_rows(codes, stride, p, t->row, panel, 1, m, shifts);
    case 2:
        return merge_rows(codes, stride, p, t->row, panel, 2, m, shifts);
    case 3:
        return merge_rows(codes, stride, p, t->row, panel, 3, m, shifts);
    case 4:
        return merge_rows(codes, stride, p, t->row, panel, 4, m, shifts);
    case 5:
        return merge_rows(codes, stride, p, t->row, panel, 5, m, shifts);
    default:
        return merge_rows(codes, stride, p, t->row, panel, ROWS, m, shifts);
    }
}

static ALWAYS_INLINE struct merging
load_sums(const struct lowrank_sums *sums)
{
    const struct shift_lanes *s = &sums->shift;
    return (struct merging){ _mm256_loadu_pd(s->base), _mm256_loadu_pd(s->change), _mm256_loadu_pd(s->both), _mm256_loadu_pd(s->rest),
        _mm256_setzero_si256() };
}

static ALWAYS_INLINE void
store_sums(struct lowrank_sums *sums, const struct merging *m)
{
    uint32_t moved[8];
    _mm256_storeu_si256((__m256i *)(void *)moved, m->moved);
    for (unsigned i = 0; i < 8; i++)
        sums->shift.moved += -moved[i];
    _mm256_storeu_pd(sums->shift.base, m->base);
    _mm256_storeu_pd(sums->shift.change, m->change);
    _mm256_storeu_pd(sums->shift.both, m->both);
    _mm256_storeu_pd(sums->shift.rest, m->rest);
}

/* Parts of panels, and large results, go through the scalar code. */
static ALWAYS_INLINE void
merge(uint8_t *codes, size_t stride, const struct lowrank *p, struct lowrank_sums *sums, bool shifts)
{
    struct lowrank_tile t = { .row_end = 0 };
    struct merging m = load_sums(sums);
    while (lowrank_tile_next(&t, p)) {
        uint8_t *at = codes + 2 * (t.row * stride + t.col - p->first);
        if (t.col_end - t.col == LOWRANK_PANEL && merge_tile(at, stride, p, &t, &m, shifts))
            continue;
        store_sums(sums, &m);
        lowrank_merge_tile(codes, stride, p, &t, sums);
        m = load_sums(sums);
    }
    store_sums(sums, &m);
}

static void
avx2_lowrank_merge(uint8_t *codes, size_t stride, const struct lowrank *p, struct lowrank_sums *sums)
{
    if (sums->shifts)
        merge(codes, stride, p, sums, true);
    else
        merge(codes, stride, p, sums, false);
}

void
avx2_use_lowrank(struct kernels *k)
{
    k->lowrank_product = avx2_lowrank_product;
    k->lowrank_add = avx2_lowrank_add;
}

void
avx2_use_lowrank_merge(struct kernels *k)
{
    k->lowrank_merge = avx2_lowrank_merge;
}

#endif
