/* avx2_loss: the eight lanes are two registers of F64; the tail goes through the scalar code. */
#if defined(__x86_64__)

#include <immintrin.h>

#include "kernel/x86/x86_priv.h"

/* Four lanes of each sum. */
struct loss_half {
    __m256d distance, noise, signal, back, both;
};

static ALWAYS_INLINE struct loss_half
avx2_loss_load(const struct loss_lanes *s, unsigned at)
{
    return (struct loss_half){ _mm256_loadu_pd(s->distance + at), _mm256_loadu_pd(s->noise + at),
        _mm256_loadu_pd(s->signal + at), _mm256_loadu_pd(s->back + at), _mm256_loadu_pd(s->both + at) };
}

static ALWAYS_INLINE void
store(struct loss_lanes *s, unsigned at, struct loss_half h)
{
    _mm256_storeu_pd(s->distance + at, h.distance);
    _mm256_storeu_pd(s->noise + at, h.noise);
    _mm256_storeu_pd(s->signal + at, h.signal);
    _mm256_storeu_pd(s->back + at, h.back);
    _mm256_storeu_pd(s->both + at, h.both);
}

/* The product of two F32 is exact in F64, so a fused multiply-add rounds once, as an addition does. */
static ALWAYS_INLINE void
avx2_loss_add(struct loss_half *h, __m128 distance, __m128 x, __m128 back)
{
    __m256d d = _mm256_cvtps_pd(distance), a = _mm256_cvtps_pd(x), b = _mm256_cvtps_pd(back);
    h->distance = _mm256_add_pd(h->distance, d);
    h->noise = _mm256_fmadd_pd(d, d, h->noise);
    h->signal = _mm256_fmadd_pd(a, a, h->signal);
    h->back = _mm256_fmadd_pd(b, b, h->back);
    h->both = _mm256_fmadd_pd(a, b, h->both);
}

static void
avx2_loss(struct loss_lanes *sum, const float *x, const float *back, size_t n)
{
    struct loss_half lo = avx2_loss_load(sum, 0), hi = avx2_loss_load(sum, 4);
    __m256 most = _mm256_loadu_ps(sum->most), sign = _mm256_set1_ps(-0.0f);
    size_t i = 0;
    for (; i + LOSS_LANES <= n; i += LOSS_LANES) {
        __m256 a = _mm256_loadu_ps(x + i), b = _mm256_loadu_ps(back + i);
        __m256 d = _mm256_andnot_ps(sign, _mm256_sub_ps(a, b));
        most = _mm256_max_ps(d, most);          /* yields the second operand for NaN */
        avx2_loss_add(&lo, _mm256_castps256_ps128(d), _mm256_castps256_ps128(a), _mm256_castps256_ps128(b));
        avx2_loss_add(&hi, _mm256_extractf128_ps(d, 1), _mm256_extractf128_ps(a, 1), _mm256_extractf128_ps(b, 1));
    }
    store(sum, 0, lo);
    store(sum, 4, hi);
    _mm256_storeu_ps(sum->most, most);
    loss_add(sum, x + i, back + i, n - i);
}

void
avx2_use_loss(struct kernels *k)
{
    k->loss = avx2_loss;
}

#endif
