/* avx2_encode_ternary: TQ1_0, TQ2_0, Q2_0 and Q1_0. Values of a ternary block divided by its largest magnitude are from -1 to 1 or a little more, so that
 * rounding them, ties away from zero, is two comparisons. Blocks whose largest magnitude is 0, tiny, infinite or NaN are left to the scalar
 * encoder. */
#if defined(__x86_64__)

#include <immintrin.h>

#include "kernel/encode_math.h"
#include "kernel/encode_q.h"
#include "kernel/x86/avx2_encode_lanes.h"

enum { ELEMS = 32 };            /* codes in a register, a byte each */

/* Sets *d to the largest magnitude of a block. Returns false if its inverse may be infinite or not accurate. */
static ALWAYS_INLINE bool
is_ordinary(float *d, const float *x, size_t n)
{
    avx2_encode_absmax(d, x, n, n);
    return *d >= 0x1p-120f && *d <= 0x1p120f;
}

/* Returns the codes 0, 1, 2 of 32 elements. */
static ALWAYS_INLINE __m256i
codes32(const float *x, __m256 inverse)
{
    __m256i c[4];
    for (int i = 0; i < 4; i++) {
        __m256 v = _mm256_mul_ps(_mm256_loadu_ps(x + 8 * i), inverse);
        __m256i up = _mm256_castps_si256(_mm256_cmp_ps(v, _mm256_set1_ps(0.5f), _CMP_GE_OQ));
        __m256i down = _mm256_castps_si256(_mm256_cmp_ps(v, _mm256_set1_ps(-0.5f), _CMP_LE_OQ));
        c[i] = _mm256_sub_epi32(down, up);
    }
    __m256i v = _mm256_packs_epi16(_mm256_packs_epi32(c[0], c[1]), _mm256_packs_epi32(c[2], c[3]));
    v = _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    return _mm256_add_epi8(v, _mm256_set1_epi8(1));
}

/* --- TQ2_0 */

static ALWAYS_INLINE void
put_tq2_0(uint8_t *restrict y, const float *restrict x, float d)
{
    const __m256 inverse = _mm256_set1_ps(1.0f / d);
    for (int half = 0; half < 2; half++, y += ELEMS, x += 4 * ELEMS) {
        __m256i v = codes32(x, inverse);
        for (int i = 1; i < 4; i++)
            v = _mm256_or_si256(v, _mm256_slli_epi16(codes32(x + ELEMS * i, inverse), 2 * i));
        _mm256_storeu_si256((__m256i *)(void *)y, v);
    }
    store_half(y, d);
}

/* --- TQ1_0 */

/* Appends a digit to 32 numbers in base 3. */
static ALWAYS_INLINE __m256i
with_digit(__m256i number, __m256i digit)
{
    return _mm256_add_epi8(_mm256_add_epi8(number, number), _mm256_add_epi8(number, digit));
}

/* Returns 16 numbers below 243 as fractions of 243, rounded up: (256 n + 242) / 243 is n + (13 n + 242) / 243, and 17261 / 2^22 is so
 * little more than 1 / 243 that its error is less than the distance to the next integer. */
static ALWAYS_INLINE __m128i
fractions16(__m128i number)
{
    __m256i n = _mm256_cvtepu8_epi16(number);
    __m256i rest = _mm256_add_epi16(_mm256_mullo_epi16(n, _mm256_set1_epi16(13)), _mm256_set1_epi16(242));
    n = _mm256_add_epi16(n, _mm256_srli_epi16(_mm256_mulhi_epu16(rest, _mm256_set1_epi16(17261)), 6));
    return _mm_packus_epi16(_mm256_castsi256_si128(n), _mm256_extracti128_si256(n, 1));
}

static ALWAYS_INLINE void
put_tq1_0(uint8_t *restrict y, const float *restrict x, float d)
{
    const __m256 inverse = _mm256_set1_ps(1.0f / d);
    __m256i v = codes32(x, inverse);
    for (int i = 1; i < 5; i++)
        v = with_digit(v, codes32(x + ELEMS * i, inverse));
    _mm_storeu_si128((__m128i *)(void *)y, fractions16(_mm256_castsi256_si128(v)));
    _mm_storeu_si128((__m128i *)(void *)(y + 16), fractions16(_mm256_extracti128_si256(v, 1)));

    /* 16 numbers of five digits, 16 apart, then four of four digits, 4 apart, whose fifth digit is 0 */
    __m256i a = codes32(x + 160, inverse), b = codes32(x + 192, inverse), c = codes32(x + 224, inverse);
    __m256i low = _mm256_castsi128_si256(_mm256_extracti128_si256(a, 1)), last = _mm256_castsi128_si256(_mm256_extracti128_si256(b, 1));
    v = with_digit(with_digit(with_digit(with_digit(a, low), b), last), c);
    _mm_storeu_si128((__m128i *)(void *)(y + 32), fractions16(_mm256_castsi256_si128(v)));
    __m128i e = _mm256_extracti128_si256(c, 1);
    v = _mm256_castsi128_si256(e);
    for (int i = 0; i < 4; i++) {
        e = _mm_srli_si128(e, 4);               /* 0 after the fourth */
        v = with_digit(v, _mm256_castsi128_si256(e));
    }
    int four = _mm_cvtsi128_si32(fractions16(_mm256_castsi256_si128(v)));
    memcpy(y + 48, &four, sizeof four);
    store_half(y + 52, d);
}

/* --- Q2_0 */

static ALWAYS_INLINE void
put_q2_0(uint8_t *restrict y, const float *restrict x, float d)
{
    const __m256 inverse = _mm256_set1_ps(1.0f / d);
    const __m256i lowest = _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
        0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    store_half(y, d);
    y += 2;
    for (int i = 0; i < Q2_0_ELEMS; i += ELEMS, y += 8) {
        __m256i v = _mm256_maddubs_epi16(codes32(x + i, inverse), _mm256_set1_epi16(0x0401));
        v = _mm256_shuffle_epi8(_mm256_madd_epi16(v, _mm256_set1_epi32(0x00100001)), lowest);
        v = _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(0, 4, 1, 1, 1, 1, 1, 1));
        _mm_storel_epi64((__m128i *)(void *)y, _mm256_castsi256_si128(v));
    }
}

/* --- Q1_0 */

/* Encodes eight blocks side by side, since the sum of a block has an order. Returns false if a value is NaN. */
static ALWAYS_INLINE bool
put_q1_0(uint8_t *restrict y, const float *restrict x)
{
    __m256 sum = _mm256_setzero_ps();
    float mean[LANES];
    for (int i = 0; i < Q1_0_ELEMS; i += LANES) {
        __m256 v[LANES];
        for (int g = 0; g < LANES; g++) {
            v[g] = _mm256_loadu_ps(x + g * Q1_0_ELEMS + i);
            y[g * Q1_0_BYTES + 2 + i / 8] = (uint8_t)_mm256_movemask_ps(_mm256_cmp_ps(v[g], _mm256_setzero_ps(), _CMP_GE_OQ));
        }
        lanes_transpose(v);
        for (int k = 0; k < LANES; k++)
            sum = _mm256_add_ps(sum, lanes_abs(v[k]));
    }
    _mm256_storeu_ps(mean, _mm256_div_ps(sum, _mm256_set1_ps(Q1_0_ELEMS)));
    for (int g = 0; g < LANES; g++)
        store_half(y + g * Q1_0_BYTES, mean[g]);
    return _mm256_movemask_ps(_mm256_cmp_ps(sum, sum, _CMP_UNORD_Q)) == 0;
}

static bool
avx2_encode_q1_0(enum dtype dtype, uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols,
    const float *restrict importance)
{
    size_t left = rows * cols / Q1_0_ELEMS;
    for (; left >= LANES; left -= LANES, y += LANES * Q1_0_BYTES, x += LANES * Q1_0_ELEMS)
        if (!put_q1_0(y, x))
            encode_q1_0(dtype, y, x, LANES, Q1_0_ELEMS, importance);
    return encode_q1_0(dtype, y, x, left, Q1_0_ELEMS, importance);
}

/* --- all */

static ALWAYS_INLINE bool
encode_blocks(const enum dtype dtype, const size_t elems, const size_t bytes, uint8_t *restrict y, const float *restrict x, size_t n)
{
    for (; n != 0; n--, y += bytes, x += elems) {
        float d;
        bool ordinary = is_ordinary(&d, x, elems);
        if (dtype == DTYPE_TQ1_0 && ordinary)
            put_tq1_0(y, x, d);
        else if (dtype == DTYPE_TQ1_0)
            encode_tq1_0(dtype, y, x, 1, elems, NULL);
        else if (dtype == DTYPE_TQ2_0 && ordinary)
            put_tq2_0(y, x, d);
        else if (dtype == DTYPE_TQ2_0)
            encode_tq2_0(dtype, y, x, 1, elems, NULL);
        else if (ordinary)
            put_q2_0(y, x, d);
        else
            encode_q2_0(dtype, y, x, 1, elems, NULL);
    }
    return true;
}

static bool
avx2_encode_ternary(enum dtype dtype, uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols,
    const float *restrict importance)
{
    (void)importance;
    if (dtype == DTYPE_TQ1_0)
        return encode_blocks(DTYPE_TQ1_0, QK_K, TQ1_0_BYTES, y, x, rows * cols / QK_K);
    if (dtype == DTYPE_TQ2_0)
        return encode_blocks(DTYPE_TQ2_0, QK_K, TQ2_0_BYTES, y, x, rows * cols / QK_K);
    return encode_blocks(DTYPE_Q2_0, Q2_0_ELEMS, Q2_0_BYTES, y, x, rows * cols / Q2_0_ELEMS);
}

void
avx2_use_encode_ternary(struct kernels *k)
{
    k->encode[DTYPE_TQ1_0] = k->encode[DTYPE_TQ2_0] = k->encode[DTYPE_Q2_0] = avx2_encode_ternary;
    k->encode[DTYPE_Q1_0] = avx2_encode_q1_0;
}

#endif
