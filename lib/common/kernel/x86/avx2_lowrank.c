/* avx2_lowrank: lanes are columns, so each element is summed in the order of the scalar code. Six rows share the panel of R
 * that is in registers. */
#if defined(__x86_64__)

#include <immintrin.h>

#include "kernel/x86/x86_priv.h"

enum { ROWS = 6 };

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
make(double *v, size_t stride, const struct lowrank *p, bool add)
{
    for (size_t col = p->first, end = p->first + p->cols, next; col < end; col = next) {
        size_t base = col / LOWRANK_PANEL * LOWRANK_PANEL, i = 0;
        const float *panel = p->r + base * p->rank;
        next = base + LOWRANK_PANEL < end ? base + LOWRANK_PANEL : end;
        double *y = v + (col - p->first);
        for (; i + ROWS <= p->rows; i += ROWS)
            make_rows(y + i * stride, stride, p, p->l + i * p->rank, panel, col - base, next - base, ROWS, add);
        make_rest(y + i * stride, stride, p, p->l + i * p->rank, panel, col - base, next - base, p->rows - i, add);
    }
}

static void
avx2_lowrank_product(double *v, size_t stride, const struct lowrank *p)
{
    make(v, stride, p, false);
}

static void
avx2_lowrank_add(double *v, size_t stride, const struct lowrank *p)
{
    make(v, stride, p, true);
}

void
avx2_use_lowrank(struct kernels *k)
{
    k->lowrank_product = avx2_lowrank_product;
    k->lowrank_add = avx2_lowrank_add;
}

#endif
