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

void
avx2_use_wide(struct kernels *k)
{
    k->wide_from = avx2_wide_from;
    k->wide_to = avx2_wide_to;
}

#endif
