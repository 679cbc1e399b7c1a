/* avx2_widen: converts scalars to floats, 8 at a time; the tail goes through the scalar code. */
#if defined(__x86_64__)

#include "kernel/widen.h"
#include "kernel/x86/x86_priv.h"

#include "kernel/x86/avx2_inline.h"

static void
avx2_widen_f64(float *restrict y, const uint8_t *restrict x, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m128 lo = _mm256_cvtpd_ps(_mm256_loadu_pd((const double *)(const void *)(x + i * 8)));
        __m128 hi = _mm256_cvtpd_ps(_mm256_loadu_pd((const double *)(const void *)(x + i * 8 + 32)));
        _mm256_storeu_ps(y + i, canonical256(_mm256_set_m128(hi, lo)));
    }
    widen_f64(y + i, x + i * 8, n - i);
}

static void
avx2_widen_f32(float *restrict y, const uint8_t *restrict x, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(y + i, canonical256(_mm256_loadu_ps((const float *)(const void *)(x + i * 4))));
    widen_f32(y + i, x + i * 4, n - i);
}

static void
avx2_widen_f16(float *restrict y, const uint8_t *restrict x, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(y + i, canonical256(_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(x + i * 2)))));
    widen_f16(y + i, x + i * 2, n - i);
}

static void
avx2_widen_bf16(float *restrict y, const uint8_t *restrict x, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256i codes = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)(x + i * 2)));
        _mm256_storeu_ps(y + i, canonical256(_mm256_castsi256_ps(_mm256_slli_epi32(codes, 16))));
    }
    widen_bf16(y + i, x + i * 2, n - i);
}

void
avx2_use_widen(struct kernels *k)
{
    k->widen[DTYPE_F64] = avx2_widen_f64;
    k->widen[DTYPE_F32] = avx2_widen_f32;
    k->widen[DTYPE_F16] = avx2_widen_f16;
    k->widen[DTYPE_BF16] = avx2_widen_bf16;
}

#endif
