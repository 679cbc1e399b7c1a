/* avx2_encode_fp4: MXFP4 and NVFP4. The index of the nearest of the values 0, 1, 2, 3, 4, 6, 8, 12 times a scale is the
 * number of midpoints below the magnitude. The differences to the two neighbouring values are exact, so this equals a
 * comparison of the differences, with the lower value winning a tie. Magnitudes far beyond the largest value, where
 * differences round to equal numbers, and scales near the ends of the range are left to the scalar encoder. */
#if defined(__x86_64__)

#include "kernel/encode_fp4.h"

#include <immintrin.h>

#include "dtype/ggml_block.h"
#include "kernel/encode_math.h"
#include "kernel/x86/x86_priv.h"

static ALWAYS_INLINE __m256
magnitudes(__m256 x)
{
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x);
}

/* Returns the largest of eight magnitudes, ignoring NaN if `a` has none. */
static ALWAYS_INLINE float
largest(__m256 a)
{
    __m128 m = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));

    m = _mm_max_ps(m, _mm_movehl_ps(m, m));
    m = _mm_max_ss(m, _mm_shuffle_ps(m, m, 1));
    return _mm_cvtss_f32(m);
}

/* Returns the codes of eight floats, 0 for NaN. `inverse` is a power of two that scales them to the values above, or 1 if
 * the midpoints are multiplied by the scale. */
static ALWAYS_INLINE __m256i
codes_of(__m256 x, __m256 inverse, const __m256 midpoints[7])
{
    __m256 a = _mm256_mul_ps(magnitudes(x), inverse);
    __m256i steps = _mm256_setzero_si256(), sign;

    for (int i = 0; i < 7; i++)
        steps = _mm256_sub_epi32(steps, _mm256_castps_si256(_mm256_cmp_ps(a, midpoints[i], _CMP_GT_OQ)));
    sign = _mm256_and_si256(_mm256_srli_epi32(_mm256_castps_si256(x), 28), _mm256_set1_epi32(8));
    return _mm256_or_si256(steps, _mm256_and_si256(sign,
        _mm256_cmpgt_epi32(steps, _mm256_setzero_si256())));            /* no -0 */
}

static const float midpoint[7] = { 0.5f, 1.5f, 2.5f, 3.5f, 5.0f, 7.0f, 10.0f };

/* Returns the exponent for a magnitude that is not just below a power of two. */
static ALWAYS_INLINE uint8_t
exponent_of(float absmax)
{
    uint32_t bits = bits_of_float(absmax);

    if (bits - 0x00800000u < 0x7F000000u && (bits & 0x7FFFFFu) < 0x7FFF00u)
        return (uint8_t)((bits >> 23) - 2);
    return mxfp4_exponent(absmax);
}

static bool
avx2_encode_mxfp4(enum dtype dtype, uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols,
    const float *restrict importance)
{
    __m256 midpoints[7];

    for (int i = 0; i < 7; i++)
        midpoints[i] = _mm256_set1_ps(midpoint[i]);
    for (size_t i = rows * cols / MXFP4_ELEMS; i > 0; i--, y += MXFP4_BYTES, x += MXFP4_ELEMS) {
        __m256 v[4], a = _mm256_setzero_ps();
        __m256i codes[4];

        for (int j = 0; j < 4; j++) {
            v[j] = _mm256_loadu_ps(x + 8 * j);
            a = _mm256_max_ps(magnitudes(v[j]), a);                     /* yields the second operand for NaN */
        }
        uint8_t e = exponent_of(largest(a));
        if (e < 10 || e > 250) {
            encode_mxfp4(dtype, y, x, 1, MXFP4_ELEMS, importance);
            continue;
        }
        __m256 inverse = _mm256_set1_ps(float_of_bits((uint32_t)(128 + 127 - e) << 23));
        for (int j = 0; j < 4; j++)
            codes[j] = codes_of(v[j], inverse, midpoints);
        for (int j = 0; j < 2; j++)
            codes[j] = _mm256_or_si256(codes[j], _mm256_slli_epi32(codes[j + 2], 4));
        codes[0] = _mm256_permute4x64_epi64(_mm256_packus_epi32(codes[0], codes[1]), 0xD8);
        y[0] = e;
        _mm_storeu_si128((__m128i *)(void *)(y + 1), _mm_packus_epi16(_mm256_castsi256_si128(codes[0]),
            _mm256_extracti128_si256(codes[0], 1)));
    }
    return true;
}

/* Returns half of the E4M3 value of a code from 1 to 0x7E. */
static ALWAYS_INLINE float
scale_of(uint8_t code)
{
    if (code < 8)
        return (float)code * 0x1p-10f;
    return float_of_bits(((uint32_t)code << 20) + ((127u - 8u) << 23));
}

/* Encodes 16 elements. Returns false if the scalar encoder must do it. */
static ALWAYS_INLINE bool
nvfp4_group(uint8_t *restrict scale, uint8_t *restrict qs, const float *restrict x)
{
    __m256 v[2] = { _mm256_loadu_ps(x), _mm256_loadu_ps(x + 8) }, midpoints[7];
    float a = largest(_mm256_max_ps(magnitudes(v[1]), _mm256_max_ps(magnitudes(v[0]), _mm256_setzero_ps())));

    *scale = nvfp4_scale_code(a);
    if (*scale == 0 || a > 2700.0f)
        return false;
    for (int i = 0; i < 7; i++)
        midpoints[i] = _mm256_set1_ps(midpoint[i] * scale_of(*scale));
    __m256i low = codes_of(v[0], _mm256_set1_ps(1.0f), midpoints);
    __m256i high = codes_of(v[1], _mm256_set1_ps(1.0f), midpoints);
    low = _mm256_or_si256(low, _mm256_slli_epi32(high, 4));
    __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
    _mm_storel_epi64((__m128i *)(void *)qs, _mm_packus_epi16(words, words));
    return true;
}

static bool
avx2_encode_nvfp4(enum dtype dtype, uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols,
    const float *restrict importance)
{
    for (size_t i = rows * cols / NVFP4_ELEMS; i > 0; i--, y += NVFP4_BYTES, x += NVFP4_ELEMS)
        for (int s = 0; s < 4; s++)
            if (!nvfp4_group(y + s, y + 4 + 8 * s, x + 16 * s)) {
                encode_nvfp4(dtype, y, x, 1, NVFP4_ELEMS, importance);
                break;
            }
    return true;
}

void
avx2_use_encode_fp4(struct kernels *k)
{
    k->encode[DTYPE_MXFP4] = avx2_encode_mxfp4;
    k->encode[DTYPE_NVFP4] = avx2_encode_nvfp4;
}

#endif
