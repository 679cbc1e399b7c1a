/* avx2_round: floats to BF16 and F16, 16 at a time, and to integers, 32 at a time; the tail goes through a full-size buffer. */
#if defined(__x86_64__)

#include "kernel/x86/x86_priv.h"

#include "kernel/x86/avx2_inline.h"

static inline __m256i
bf16_of16(const float *x)
{
    return concat256(bf16_high256(canonical256(_mm256_loadu_ps(x))),
        bf16_high256(canonical256(_mm256_loadu_ps(x + 8))));
}

/* The instruction rounds correctly, including subnormals, but keeps NaN payloads. */
static inline __m256i
f16_of16(const float *x)
{
    __m256 lo = canonical256(_mm256_loadu_ps(x)), hi = canonical256(_mm256_loadu_ps(x + 8));

    return _mm256_set_m128i(_mm256_cvtps_ph(hi, _MM_FROUND_TO_NEAREST_INT),
        _mm256_cvtps_ph(lo, _MM_FROUND_TO_NEAREST_INT));
}

static ALWAYS_INLINE void
each16(uint16_t *restrict y, const float *restrict x, size_t n, __m256i round(const float *))
{
    float last[16] = { 0 };
    uint16_t code[16];

    for (; n >= 16; n -= 16, x += 16, y += 16)
        _mm256_storeu_si256((__m256i *)y, round(x));
    if (n > 0) {
        memcpy(last, x, n * sizeof *x);
        _mm256_storeu_si256((__m256i *)code, round(last));
        memcpy(y, code, n * sizeof *y);
    }
}

static void
round_bf16(uint16_t *restrict y, const float *restrict x, size_t n)
{
    each16(y, x, n, bf16_of16);
}

static void
round_f16(uint16_t *restrict y, const float *restrict x, size_t n)
{
    each16(y, x, n, f16_of16);
}

/* Converts to eight integers; the comparison turns NaN into 0. */
static inline __m256i
int_of8(const float *x)
{
    __m256 v = _mm256_loadu_ps(x), ordered = _mm256_cmp_ps(v, v, _CMP_ORD_Q);

    v = _mm256_max_ps(_mm256_min_ps(_mm256_and_ps(v, ordered), _mm256_set1_ps(127)), _mm256_set1_ps(-127));
    return _mm256_cvtps_epi32(v);
}

static inline __m256i
int8_of32(const float *x)
{
    __m256i a = _mm256_packs_epi32(int_of8(x), int_of8(x + 8)), b = _mm256_packs_epi32(int_of8(x + 16), int_of8(x + 24));

    return _mm256_permutevar8x32_epi32(_mm256_packs_epi16(a, b), _mm256_set_epi32(7, 3, 6, 2, 5, 1, 4, 0));
}

static void
round_int8(int8_t *restrict y, const float *restrict x, size_t n)
{
    float last[32] = { 0 };
    int8_t code[32];

    for (; n >= 32; n -= 32, x += 32, y += 32)
        _mm256_storeu_si256((__m256i *)y, int8_of32(x));
    if (n > 0) {
        memcpy(last, x, n * sizeof *x);
        _mm256_storeu_si256((__m256i *)code, int8_of32(last));
        memcpy(y, code, n);
    }
}

void
avx2_use_round(struct kernels *k)
{
    k->round_bf16 = round_bf16;
    k->round_f16 = round_f16;
    k->round_int8 = round_int8;
}

#endif
