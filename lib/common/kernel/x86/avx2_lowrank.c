/* avx2_lowrank: lanes are columns, so each element is summed in the order of the scalar code. Six rows share the panel of R
 * that is in registers. */
#if defined(__x86_64__)

#include <immintrin.h>

#include "kernel/x86/x86_priv.h"

enum { ROWS = 6 };

/* Sums `rows` rows of one panel, eight columns each. */
static ALWAYS_INLINE void
sum_rows(__m256d *sum, const double *l, const float *panel, size_t rank, unsigned rows)
{
    for (unsigned i = 0; i < 2 * rows; i++)
        sum[i] = _mm256_setzero_pd();
    for (size_t k = 0; k < rank; k++) {
        __m256d lo = _mm256_cvtps_pd(_mm_loadu_ps(panel + k * LOWRANK_PANEL));
        __m256d hi = _mm256_cvtps_pd(_mm_loadu_ps(panel + k * LOWRANK_PANEL + 4));
        for (unsigned i = 0; i < rows; i++) {
            __m256d a = _mm256_broadcast_sd(l + i * rank + k);
            sum[2 * i] = _mm256_fmadd_pd(a, lo, sum[2 * i]);
            sum[2 * i + 1] = _mm256_fmadd_pd(a, hi, sum[2 * i + 1]);
        }
    }
}

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
    __m256d sum[2 * ROWS], s = _mm256_set1_pd(p->s);
    sum_rows(sum, l, panel, p->rank, rows);
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
        for (; i < p->rows; i++)
            make_rows(y + i * stride, stride, p, p->l + i * p->rank, panel, col - base, next - base, 1, add);
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
