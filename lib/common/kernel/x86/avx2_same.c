/* avx2_same: 32 floats at a time; the compiler vectorizes the other loops. */
#if defined(__x86_64__)

#include <immintrin.h>

#include "kernel/same_inline.h"
#include "kernel/x86/x86_priv.h"

enum { STEP = 32 };

/* Returns the lanes that differ, or are NaN. */
static ALWAYS_INLINE __m256
differing(const float *x, const float *y)
{
    return _mm256_cmp_ps(_mm256_loadu_ps(x), _mm256_loadu_ps(y), _CMP_NEQ_UQ);
}

static bool
avx2_same_floats(const float *x, const float *y, size_t n)
{
    __m256 differs = _mm256_setzero_ps();
    size_t i = 0;
    for (; n - i >= STEP; i += STEP)
        differs = _mm256_or_ps(_mm256_or_ps(differs, _mm256_or_ps(differing(x + i, y + i), differing(x + i + 8, y + i + 8))),
            _mm256_or_ps(differing(x + i + 16, y + i + 16), differing(x + i + 24, y + i + 24)));
    return _mm256_movemask_ps(differs) == 0 && same_floats(x + i, y + i, n - i);
}

static bool
avx2_same_products(uint8_t *q, const float *x, size_t n, float d, float zero, float low, float top, bool rounds)
{
    return rounds ? products(q, x, n, d, zero, low, top, true) : products(q, x, n, d, zero, low, top, false);
}

static bool
avx2_same_steps(uint8_t *q, const float *x, size_t n, float d, float m, float top)
{
    return steps(q, x, n, d, m, top);
}

static struct same_extent
avx2_same_extent(const float *x, size_t n)
{
    return extent(x, n);
}

void
avx2_use_same(struct kernels *k)
{
    k->same_products = avx2_same_products;
    k->same_steps = avx2_same_steps;
    k->same_extent = avx2_same_extent;
    k->same_floats = avx2_same_floats;
}

#endif
