/* avx2_encode_fp8: the formula is in encode_fp8.h. The bits of floats are rounded as integers, 8 at a time. */
#if defined(__x86_64__)

#include "dtype/bfloat16.h"
#include "dtype/half.h"
#include "kernel/encode_fp8.h"
#include "kernel/x86/x86_priv.h"

#include "kernel/x86/avx2_inline.h"

/* A format: mantissa bits, bits of its smallest normal value, its largest finite value. */
struct encode_fp8_form {
    int mantissa;
    uint32_t least;
    float most;
};

static const struct encode_fp8_form E4M3 = { 3, 0x3C800000u, 448 };
static const struct encode_fp8_form E5M2 = { 2, 0x38800000u, 57344 };

/* Returns the codes of eight magnitudes, one in each lane, plus the exponent of subnormals, which is that of the smallest normal value. The
 * sum with a power of two whose last place is that of the code rounds a magnitude. The code of NaN is the largest. */
static ALWAYS_INLINE __m256i
codes8(__m256 v, const struct encode_fp8_form f)
{
    const int shift = 23 - f.mantissa;
    __m256 u = _mm256_min_ps(_mm256_andnot_ps(_mm256_set1_ps(-0.0f), v), _mm256_set1_ps(f.most));
    __m256i exponent = _mm256_and_si256(_mm256_castps_si256(u), _mm256_set1_epi32(0x7F800000));
    exponent = _mm256_max_epi32(exponent, _mm256_set1_epi32((int)f.least));
    __m256i power = _mm256_add_epi32(exponent, _mm256_set1_epi32(shift << 23));
    __m256i sum = _mm256_castps_si256(_mm256_add_ps(u, _mm256_castsi256_ps(power)));
    return _mm256_add_epi32(_mm256_sub_epi32(sum, power), _mm256_srli_epi32(exponent, shift));
}

/* Rounds 32 floats to 32 codes. `how` is a constant except for its scale. */
static ALWAYS_INLINE __m256i
codes32(const float *x, const struct encode_fp8 how, const struct encode_fp8_form f)
{
    const __m256 scale = _mm256_set1_ps(how.scale);
    __m256 v[4];
    __m256i c[4];
    for (int i = 0; i < 4; i++) {
        v[i] = _mm256_loadu_ps(x + 8 * i);
        if (how.multiplies)
            v[i] = _mm256_mul_ps(v[i], scale);
        else
            v[i] = _mm256_div_ps(v[i], scale);
        if (how.quotient != DTYPE_F32)
            v[i] = rounded256(v[i], how.quotient);
        if (how.adds_zero)
            v[i] = _mm256_add_ps(v[i], _mm256_setzero_ps());
        c[i] = codes8(v[i], f);
    }
    const __m256i over = _mm256_set1_epi16((short)(f.least >> (23 - f.mantissa)));
    __m256i low = _mm256_sub_epi16(_mm256_packus_epi32(c[0], c[1]), over);
    __m256i codes = _mm256_packus_epi16(low, _mm256_sub_epi16(_mm256_packus_epi32(c[2], c[3]), over));
    __m256i signs = _mm256_packs_epi16(_mm256_packs_epi32(_mm256_castps_si256(v[0]), _mm256_castps_si256(v[1])),
        _mm256_packs_epi32(_mm256_castps_si256(v[2]), _mm256_castps_si256(v[3])));
    codes = _mm256_or_si256(codes, _mm256_and_si256(signs, _mm256_set1_epi8(-128)));
    __m256 nan = _mm256_or_ps(_mm256_cmp_ps(v[0], v[1], _CMP_UNORD_Q), _mm256_cmp_ps(v[2], v[3], _CMP_UNORD_Q));
    if (!_mm256_testz_si256(_mm256_castps_si256(nan), _mm256_castps_si256(nan))) {
        for (int i = 0; i < 4; i++)
            c[i] = _mm256_castps_si256(_mm256_cmp_ps(v[i], v[i], _CMP_UNORD_Q));
        __m256i which = _mm256_packs_epi16(_mm256_packs_epi32(c[0], c[1]), _mm256_packs_epi32(c[2], c[3]));
        codes = _mm256_blendv_epi8(codes, _mm256_set1_epi8(0x7F), which);
    }
    return _mm256_permutevar8x32_epi32(codes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

static ALWAYS_INLINE void
avx2_encode_fp8_run(uint8_t *restrict y, const float *restrict x, size_t n, const struct encode_fp8 how,
    const struct encode_fp8_form f)
{
    size_t i = 0;
    for (; n - i >= 32; i += 32)
        _mm256_storeu_si256((__m256i *)(void *)(y + i), codes32(x + i, how, f));
    if (i < n) {
        float last[32] = { 0 };
        memcpy(last, x + i, (n - i) * sizeof *x);
        __m256i v = codes32(last, how, f);
        memcpy(y + i, &v, n - i);
    }
}

/* Compiles a loop for each combination that quantizers use. */
static ALWAYS_INLINE void
avx2_encode_fp8_encode(uint8_t *restrict y, const float *restrict x, size_t n, const struct encode_fp8 *how,
    const struct encode_fp8_form f)
{
    const float scale = how->scale;
    if (how->quotient == DTYPE_F32 && !how->adds_zero && !how->multiplies)
        avx2_encode_fp8_run(y, x, n, (struct encode_fp8){ scale, false, false, DTYPE_F32 }, f);
    else if (how->quotient == DTYPE_BF16 && how->adds_zero && !how->multiplies)
        avx2_encode_fp8_run(y, x, n, (struct encode_fp8){ scale, false, true, DTYPE_BF16 }, f);
    else
        avx2_encode_fp8_run(y, x, n, *how, f);
}

static void
avx2_encode_e4m3(uint8_t *restrict y, const float *restrict x, size_t n, const struct encode_fp8 *how)
{
    avx2_encode_fp8_encode(y, x, n, how, E4M3);
}

static void
avx2_encode_e5m2(uint8_t *restrict y, const float *restrict x, size_t n, const struct encode_fp8 *how)
{
    avx2_encode_fp8_encode(y, x, n, how, E5M2);
}

static ALWAYS_INLINE __m256i
most8(__m256i most, const float *x)
{
    __m256i u = _mm256_loadu_si256((const __m256i *)(const void *)x);
    return _mm256_max_epi32(most, _mm256_and_si256(u, _mm256_set1_epi32(0x7FFFFFFF)));
}

static ALWAYS_INLINE float
absmax(const float *x, size_t n)
{
    __m256i a = _mm256_setzero_si256(), b = a, c = a, d = a;
    float last[8] = { 0 };
    size_t i = 0;
    for (; n - i >= 32; i += 32) {
        a = most8(a, x + i);
        b = most8(b, x + i + 8);
        c = most8(c, x + i + 16);
        d = most8(d, x + i + 24);
    }
    for (; n - i >= 8; i += 8)
        a = most8(a, x + i);
    if (i < n) {
        memcpy(last, x + i, (n - i) * sizeof *x);
        a = most8(a, last);
    }
    a = _mm256_max_epi32(_mm256_max_epi32(a, b), _mm256_max_epi32(c, d));
    __m128i m = _mm_max_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4E));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0xB1));
    return float_of_bits((uint32_t)_mm_cvtsi128_si32(m));
}

void
avx2_encode_absmax(float *restrict y, const float *restrict x, size_t n, size_t group)
{
    for (size_t at = 0; at < n; at += group)
        *y++ = absmax(x + at, n - at < group ? n - at : group);
}

static ALWAYS_INLINE __m256i
most16(__m256i most, const uint8_t *x)
{
    __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)x);
    return _mm256_max_epu16(most, _mm256_and_si256(v, _mm256_set1_epi16(0x7FFF)));
}

/* Returns the largest of n codes without their signs. */
static ALWAYS_INLINE uint16_t
largest_code(const uint8_t *x, size_t n)
{
    __m256i a = _mm256_setzero_si256(), b = a;
    uint8_t last[32] = { 0 };
    size_t i = 0;
    for (; n - i >= 32; i += 32) {
        a = most16(a, x + 2 * i);
        b = most16(b, x + 2 * i + 32);
    }
    for (; n - i >= 16; i += 16)
        a = most16(a, x + 2 * i);
    if (i < n) {
        memcpy(last, x + 2 * i, (n - i) * 2);
        a = most16(a, last);
    }
    a = _mm256_max_epu16(a, b);
    __m128i m = _mm_max_epu16(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    m = _mm_minpos_epu16(_mm_xor_si128(m, _mm_set1_epi16(-1)));         /* the smallest complement */
    return (uint16_t)~_mm_cvtsi128_si32(m);
}

static void
avx2_encode_absmax_bf16(float *restrict y, const uint8_t *restrict x, size_t n, size_t group)
{
    for (size_t at = 0; at < n; at += group)
        *y++ = bfloat16_to_float(largest_code(x + at * 2, n - at < group ? n - at : group));
}

static void
avx2_encode_absmax_f16(float *restrict y, const uint8_t *restrict x, size_t n, size_t group)
{
    for (size_t at = 0; at < n; at += group)
        *y++ = half_to_float(largest_code(x + at * 2, n - at < group ? n - at : group));
}

void
avx2_use_encode_fp8(struct kernels *k)
{
    k->encode_e4m3 = avx2_encode_e4m3;
    k->encode_e5m2 = avx2_encode_e5m2;
    k->encode_absmax = avx2_encode_absmax;
    k->absmax_of[DTYPE_BF16] = avx2_encode_absmax_bf16;
    k->absmax_of[DTYPE_F16] = avx2_encode_absmax_f16;
}

#endif
