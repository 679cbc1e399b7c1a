/* avx2_encode_fp8: the formula is in encode_fp8.h. The bits of floats are rounded as integers, 8 at a time. */
#if defined(__x86_64__)

#include "kernel/encode_fp8.h"
#include "kernel/x86/x86_priv.h"

#include "kernel/x86/avx2_inline.h"

/* A format: mantissa bits, bias, bits of its smallest normal value, a float whose last place is its smallest value, its
 * largest finite code. */
struct encode_fp8_form {
    int mantissa, bias;
    uint32_t least;
    float magic;
    int largest;
};

static const struct encode_fp8_form E4M3 = { 3, 7, 0x3C800000u, 0x1p14f, 0x7E };
static const struct encode_fp8_form E5M2 = { 2, 15, 0x38800000u, 0x1p7f, 0x7B };

/* Rounds eight floats to codes, one in each lane; larger values become the largest code. */
static ALWAYS_INLINE __m256i
codes8(__m256 v, const struct encode_fp8_form f)
{
    const int shift = 23 - f.mantissa;
    __m256i bits = _mm256_castps_si256(v);
    __m256i u = _mm256_and_si256(bits, _mm256_set1_epi32(0x7FFFFFFF));
    __m256i odd = _mm256_and_si256(_mm256_srli_epi32(u, shift), _mm256_set1_epi32(1));
    __m256i up = _mm256_add_epi32(u, _mm256_set1_epi32((1 << (shift - 1)) - 1 - ((127 - f.bias) << 23)));
    __m256i normal = _mm256_srli_epi32(_mm256_add_epi32(up, odd), shift);
    __m256i small = _mm256_sub_epi32(_mm256_castps_si256(_mm256_add_ps(_mm256_castsi256_ps(u), _mm256_set1_ps(f.magic))),
        _mm256_castps_si256(_mm256_set1_ps(f.magic)));
    __m256i is_small = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)f.least), u);
    __m256i code = _mm256_min_epu32(_mm256_blendv_epi8(normal, small, is_small), _mm256_set1_epi32(f.largest));
    __m256i nan = _mm256_cmpgt_epi32(u, _mm256_set1_epi32(0x7F800000));
    __m256i sign = _mm256_and_si256(_mm256_srli_epi32(bits, 24), _mm256_set1_epi32(0x80));
    return _mm256_blendv_epi8(_mm256_or_si256(code, sign), _mm256_set1_epi32(0x7F), nan);
}

/* Rounds 32 floats to 32 codes. `how` is a constant except for its scale. */
static ALWAYS_INLINE __m256i
codes32(const float *x, const struct encode_fp8 how, const struct encode_fp8_form f)
{
    const __m256 scale = _mm256_set1_ps(how.scale);
    __m256i c[4];
    for (int i = 0; i < 4; i++) {
        __m256 v = _mm256_loadu_ps(x + 8 * i);
        if (how.multiplies)
            v = _mm256_mul_ps(v, scale);
        else
            v = _mm256_div_ps(v, scale);
        if (how.quotient != DTYPE_F32)
            v = rounded256(v, how.quotient);
        c[i] = codes8(how.adds_zero ? _mm256_add_ps(v, _mm256_setzero_ps()) : v, f);
    }
    __m256i words = _mm256_packus_epi16(_mm256_packus_epi32(c[0], c[1]), _mm256_packus_epi32(c[2], c[3]));
    return _mm256_permutevar8x32_epi32(words, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
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

void
avx2_use_encode_fp8(struct kernels *k)
{
    k->encode_e4m3 = avx2_encode_e4m3;
    k->encode_e5m2 = avx2_encode_e5m2;
    k->encode_absmax = avx2_encode_absmax;
}

#endif
