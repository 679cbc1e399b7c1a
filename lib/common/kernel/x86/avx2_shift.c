/* avx2_shift: the eight lanes are two registers of F64; the tail goes through the scalar code. */
#if defined(__x86_64__)

#include <immintrin.h>

#include "kernel/x86/x86_priv.h"

/* Four lanes of each sum. */
struct shift_half {
    __m256d base, change, both, rest;
};

static ALWAYS_INLINE struct shift_half
avx2_shift_load(const struct shift_lanes *s, unsigned at)
{
    return (struct shift_half){ _mm256_loadu_pd(s->base + at), _mm256_loadu_pd(s->change + at), _mm256_loadu_pd(s->both + at),
        _mm256_loadu_pd(s->rest + at) };
}

static ALWAYS_INLINE void
store(struct shift_lanes *s, unsigned at, struct shift_half h)
{
    _mm256_storeu_pd(s->base + at, h.base);
    _mm256_storeu_pd(s->change + at, h.change);
    _mm256_storeu_pd(s->both + at, h.both);
    _mm256_storeu_pd(s->rest + at, h.rest);
}

/* Returns the lanes whose r is not 0, or NaN, as bits. */
static ALWAYS_INLINE unsigned
avx2_shift_add(struct shift_half *h, const float *w, const float *v, const float *before, const float *after)
{
    __m256d base = _mm256_cvtps_pd(_mm_loadu_ps(w)), d = _mm256_sub_pd(_mm256_cvtps_pd(_mm_loadu_ps(v)), base);
    __m256d r = _mm256_sub_pd(_mm256_cvtps_pd(_mm_loadu_ps(after)), _mm256_cvtps_pd(_mm_loadu_ps(before))), rest = _mm256_sub_pd(r, d);
    h->base = _mm256_add_pd(h->base, _mm256_mul_pd(base, base));
    h->change = _mm256_add_pd(h->change, _mm256_mul_pd(d, d));
    h->both = _mm256_add_pd(h->both, _mm256_mul_pd(r, d));
    h->rest = _mm256_add_pd(h->rest, _mm256_mul_pd(rest, rest));
    return (unsigned)_mm256_movemask_pd(_mm256_cmp_pd(r, _mm256_setzero_pd(), _CMP_NEQ_UQ));
}

static void
avx2_shift(struct shift_lanes *sum, const float *w, const float *v, const float *before, const float *after, size_t n)
{
    struct shift_half lo = avx2_shift_load(sum, 0), hi = avx2_shift_load(sum, 4);
    size_t i = 0;
    for (; i + SHIFT_LANES <= n; i += SHIFT_LANES) {
        unsigned a = avx2_shift_add(&lo, w + i, v + i, before + i, after + i), b = avx2_shift_add(&hi, w + i + 4, v + i + 4,
            before + i + 4, after + i + 4);
        sum->moved += (unsigned)__builtin_popcount(a | b << 4);
    }
    store(sum, 0, lo);
    store(sum, 4, hi);
    shift_add(sum, w + i, v + i, before + i, after + i, n - i);
}

void
avx2_use_shift(struct kernels *k)
{
    k->shift = avx2_shift;
}

#endif
