/* avx2_wide: eight elements at a time. */
#if defined(__x86_64__)

#include <immintrin.h>

#include "kernel/x86/x86_priv.h"

static void
avx2_wide_from(double *v, const float *x, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m128 lo = _mm_loadu_ps(x + i), hi = _mm_loadu_ps(x + i + 4);          /* before they are overwritten */
        _mm256_storeu_pd(v + i, _mm256_cvtps_pd(lo));
        _mm256_storeu_pd(v + i + 4, _mm256_cvtps_pd(hi));
    }
    wide_from(v + i, x + i, n - i);
}

static void
avx2_wide_to(float *x, const double *v, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        _mm_storeu_ps(x + i, _mm256_cvtpd_ps(_mm256_loadu_pd(v + i)));
        _mm_storeu_ps(x + i + 4, _mm256_cvtpd_ps(_mm256_loadu_pd(v + i + 4)));
    }
    wide_to(x + i, v + i, n - i);
}

static size_t
avx2_wide_beyond(const double *v, size_t n, double most)
{
    const __m256d limit = _mm256_set1_pd(most), sign = _mm256_set1_pd(-0.0);
    __m256d all = _mm256_setzero_pd();
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        all = _mm256_or_pd(all, _mm256_cmp_pd(_mm256_andnot_pd(sign, _mm256_loadu_pd(v + i)), limit, _CMP_NLE_UQ));
    if (_mm256_movemask_pd(all) != 0)
        return wide_beyond(v, n, most);
    return wide_beyond(v + i, n - i, most);
}

void
avx2_use_wide(struct kernels *k)
{
    k->wide_beyond = avx2_wide_beyond;
    k->wide_from = avx2_wide_from;
    k->wide_to = avx2_wide_to;
}

#endif
