/* avx2_encode_q: Q4_0, Q4_1, Q5_0, Q5_1, Q8_0 without importance (with it: avx2_encode_weighted.c), some blocks of 32
 * floats at a time: extremes do not depend on the order, nor do codes on each other. Blocks among which a code does
 * not come out as for ordinary numbers (infinite, NaN, factors too small for an inverse) are left to the scalar
 * encoder. */
#if defined(__x86_64__)

#include "kernel/encode_q.h"

#include <immintrin.h>

#include "dtype/ggml_block.h"
#include "kernel/encode_math.h"
#include "kernel/x86/avx2_encode_bits.h"
#include "kernel/x86/x86_priv.h"

enum { ELEMS = 32 };

enum { BATCH = 4 };                             /* blocks whose extremes and factors share registers */

/* --- extremes */

/* The upper one of each pair of neighbours, of a in the lanes 0, 2 of both halves, of b in 1, 3. */
static ALWAYS_INLINE __m256
fold(__m256 a, __m256 b)
{
    return _mm256_max_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
}

/* The largest value and the largest of the negated ones, a lane for each of four blocks. */
static ALWAYS_INLINE void
extremes(__m128 *high, __m128 *minus_low, const float *x)
{
    __m256 v[2 * BATCH];

    for (int b = 0; b < BATCH; b++, x += ELEMS) {
        __m256 p = _mm256_loadu_ps(x), q = _mm256_loadu_ps(x + 8);
        __m256 r = _mm256_loadu_ps(x + 16), s = _mm256_loadu_ps(x + 24);

        v[b] = _mm256_max_ps(_mm256_max_ps(p, q), _mm256_max_ps(r, s));
        v[BATCH + b] = _mm256_xor_ps(_mm256_min_ps(_mm256_min_ps(p, q), _mm256_min_ps(r, s)), _mm256_set1_ps(-0.0f));
    }
    for (int b = 0; b < 2 * BATCH; b += 4)                      /* blocks 0, 1, 2, 3 of both halves */
        v[b] = fold(fold(v[b], v[b + 2]), fold(v[b + 1], v[b + 3]));
    v[0] = _mm256_max_ps(_mm256_permute2f128_ps(v[0], v[4], 0x20), _mm256_permute2f128_ps(v[0], v[4], 0x31));
    *high = _mm256_castps256_ps128(v[0]);
    *minus_low = _mm256_extractf128_ps(v[0], 1);
}

/* The first value of this magnitude in a block, which there is. */
static float
first_of(const float *x, float magnitude)
{
    while (fabsf(*x) != magnitude)
        x++;
    return *x;
}

/* The extreme values as extreme() has them. */
static ALWAYS_INLINE __m128
farther(__m128 high, __m128 minus_low, const float *x)
{
    __m128 sign = _mm_and_ps(_mm_cmpgt_ps(minus_low, high), _mm_set1_ps(-0.0f));
    __m128 value = _mm_or_ps(_mm_max_ps(high, minus_low), sign);
    int equal = _mm_movemask_ps(_mm_cmpeq_ps(high, minus_low));

    if (equal != 0) {
        float f[BATCH];

        _mm_storeu_ps(f, value);
        for (int b = 0; b < BATCH; b++)
            if (equal >> b & 1)
                f[b] = first_of(x + b * ELEMS, f[b]);
        value = _mm_loadu_ps(f);
    }
    return value;
}

/* --- bits */

/* Four times eight codes as 32 bytes in order. */
static ALWAYS_INLINE __m256i
codes_of(const __m256i v[4])
{
    __m256i bytes = _mm256_packs_epi16(_mm256_packs_epi32(v[0], v[1]), _mm256_packs_epi32(v[2], v[3]));

    return _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

/* --- 32 elements, 4 or 5 bits */

/* What becomes of four blocks: factors and minima of binary16, and 32 codes each. */
struct batch {
    uint16_t d[BATCH], m[BATCH];
    __m256i codes[BATCH];
};

static ALWAYS_INLINE void
put_halves(uint16_t h[BATCH], __m128 v)
{
    _mm_storel_epi64((__m128i *)(void *)h, _mm_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}

/* x = code * factor + low, with `half` for the rounding (and for a code that is not 0 where x is). A conversion to
 * integers that meets what is none gives a negative one, as no code is: false then. */
static ALWAYS_INLINE bool
batch_codes(struct batch *batch, const float *x, __m128 factor, __m128 low, const bool with_low, const float half)
{
    __m256i any = _mm256_setzero_si256();
    float inverses[BATCH], lows[BATCH];

    _mm_storeu_ps(inverses, _mm_div_ps(_mm_set1_ps(1.0f), factor));
    _mm_storeu_ps(lows, low);
    for (int b = 0; b < BATCH; b++) {
        __m256i v[4];

        for (int i = 0; i < 4; i++, x += 8) {
            __m256 f = _mm256_loadu_ps(x);

            if (with_low)
                f = _mm256_sub_ps(f, _mm256_set1_ps(lows[b]));
            f = _mm256_add_ps(_mm256_mul_ps(f, _mm256_set1_ps(inverses[b])), _mm256_set1_ps(half));
            v[i] = _mm256_cvttps_epi32(f);
            any = _mm256_or_si256(any, v[i]);
        }
        batch->codes[b] = codes_of(v);
    }
    return _mm256_movemask_ps(_mm256_castsi256_ps(any)) == 0;
}

/* x = (code - top) * d. */
static ALWAYS_INLINE bool
symmetric_batch(struct batch *batch, const float *x, const int top)
{
    __m128 high, minus_low, factor;

    extremes(&high, &minus_low, x);
    if (_mm_movemask_ps(_mm_cmpgt_ps(_mm_max_ps(high, minus_low), _mm_set1_ps(0x1p-120f))) != 15)
        return false;
    factor = _mm_div_ps(farther(high, minus_low, x), _mm_set1_ps(-(float)top));
    put_halves(batch->d, factor);
    if (!batch_codes(batch, x, factor, factor, false, (float)top + 0.5f))
        return false;
    for (int b = 0; b < BATCH; b++)
        batch->codes[b] = _mm256_min_epu8(batch->codes[b], _mm256_set1_epi8((char)(2 * top - 1)));
    return true;
}

/* x = code * d + m. The sign of a minimum that is 0 is left to the scalar encoder. */
static ALWAYS_INLINE bool
min_batch(struct batch *batch, const float *x, const int top)
{
    __m128 high, minus_low, low, factor;

    extremes(&high, &minus_low, x);
    low = _mm_xor_ps(minus_low, _mm_set1_ps(-0.0f));
    factor = _mm_div_ps(_mm_sub_ps(high, low), _mm_set1_ps((float)top));
    if (_mm_movemask_ps(_mm_and_ps(_mm_cmpgt_ps(factor, _mm_set1_ps(0x1p-120f)),
            _mm_cmpneq_ps(low, _mm_setzero_ps()))) != 15)
        return false;
    put_halves(batch->d, factor);
    put_halves(batch->m, low);
    if (!batch_codes(batch, x, factor, low, true, 0.5f))
        return false;
    if (top == 15)
        for (int b = 0; b < BATCH; b++)
            batch->codes[b] = _mm256_min_epu8(batch->codes[b], _mm256_set1_epi8(15));
    return true;
}

static bool
q4_0_avx2(uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols, const float *restrict importance)
{
    size_t left = rows * cols / ELEMS;
    struct batch batch;

    if (importance != NULL)
        return q4_0_weighted_avx2(y, x, rows, cols, importance);
    for (; left >= BATCH; left -= BATCH, x += BATCH * ELEMS) {
        if (!symmetric_batch(&batch, x, 8)) {
            q4_0_encode(y, x, BATCH, ELEMS, NULL);
            y += BATCH * Q4_0_BYTES;
            continue;
        }
        for (int b = 0; b < BATCH; b++, y += Q4_0_BYTES) {
            memcpy(y, &batch.d[b], 2);
            put_nibbles(y + 2, batch.codes[b]);
        }
    }
    return q4_0_encode(y, x, left, ELEMS, NULL);
}

static bool
q4_1_avx2(uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols, const float *restrict importance)
{
    size_t left = rows * cols / ELEMS;
    struct batch batch;

    if (importance != NULL)
        return q4_1_weighted_avx2(y, x, rows, cols, importance);
    for (; left >= BATCH; left -= BATCH, x += BATCH * ELEMS) {
        if (!min_batch(&batch, x, 15)) {
            q4_1_encode(y, x, BATCH, ELEMS, NULL);
            y += BATCH * Q4_1_BYTES;
            continue;
        }
        for (int b = 0; b < BATCH; b++, y += Q4_1_BYTES) {
            memcpy(y, &batch.d[b], 2);
            memcpy(y + 2, &batch.m[b], 2);
            put_nibbles(y + 4, batch.codes[b]);
        }
    }
    return q4_1_encode(y, x, left, ELEMS, NULL);
}

static bool
q5_0_avx2(uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols, const float *restrict importance)
{
    size_t left = rows * cols / ELEMS;
    struct batch batch;

    if (importance != NULL)
        return q5_0_weighted_avx2(y, x, rows, cols, importance);
    for (; left >= BATCH; left -= BATCH, x += BATCH * ELEMS) {
        if (!symmetric_batch(&batch, x, 16)) {
            q5_0_encode(y, x, BATCH, ELEMS, NULL);
            y += BATCH * Q5_0_BYTES;
            continue;
        }
        for (int b = 0; b < BATCH; b++, y += Q5_0_BYTES) {
            memcpy(y, &batch.d[b], 2);
            put_fifth_bits(y + 2, batch.codes[b]);
            put_nibbles(y + 6, batch.codes[b]);
        }
    }
    return q5_0_encode(y, x, left, ELEMS, NULL);
}

static bool
q5_1_avx2(uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols, const float *restrict importance)
{
    size_t left = rows * cols / ELEMS;
    struct batch batch;

    if (importance != NULL)
        return q5_1_weighted_avx2(y, x, rows, cols, importance);
    for (; left >= BATCH; left -= BATCH, x += BATCH * ELEMS) {
        if (!min_batch(&batch, x, 31)) {
            q5_1_encode(y, x, BATCH, ELEMS, NULL);
            y += BATCH * Q5_1_BYTES;
            continue;
        }
        for (int b = 0; b < BATCH; b++, y += Q5_1_BYTES) {
            memcpy(y, &batch.d[b], 2);
            memcpy(y + 2, &batch.m[b], 2);
            put_fifth_bits(y + 4, batch.codes[b]);
            put_nibbles(y + 8, batch.codes[b]);
        }
    }
    return q5_1_encode(y, x, left, ELEMS, NULL);
}

/* --- Q8_0 */

/* The largest magnitude as bits, which for NaN and infinity are larger than for any number. */
static ALWAYS_INLINE uint32_t
magnitude_bits(const float *x)
{
    __m256i a[4];

    for (int i = 0; i < 4; i++)
        a[i] = _mm256_castps_si256(_mm256_andnot_ps(_mm256_set1_ps(-0.0f), _mm256_loadu_ps(x + 8 * i)));
    a[0] = _mm256_max_epi32(_mm256_max_epi32(a[0], a[1]), _mm256_max_epi32(a[2], a[3]));
    __m128i m = _mm_max_epi32(_mm256_castsi256_si128(a[0]), _mm256_extracti128_si256(a[0], 1));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4E));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0xB1));
    return (uint32_t)_mm_cvtsi128_si32(m);
}

/* To the nearest, ties away from zero, for magnitudes up to 2^22: the largest float below a half is added, since a half
 * would lift that one, too. */
static ALWAYS_INLINE __m256i
rounded_away(__m256 v)
{
    __m256 half = _mm256_or_ps(_mm256_and_ps(v, _mm256_set1_ps(-0.0f)), _mm256_set1_ps(0x1.fffffep-2f));

    return _mm256_cvttps_epi32(_mm256_add_ps(v, half));
}

static bool
q8_0_avx2(uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols, const float *restrict importance)
{
    for (size_t i = rows * cols / ELEMS; i > 0; i--, y += Q8_0_BYTES, x += ELEMS) {
        uint32_t bits = magnitude_bits(x);
        __m256i v[4];

        if (bits - 0x02000000u >= 0x7F800000u - 0x02000000u) {     /* 0 .. 2^-123, infinite, NaN */
            q8_0_encode(y, x, 1, ELEMS, importance);
            continue;
        }
        float d = float_of_bits(bits) / 127.0f;
        __m256 inverse = _mm256_set1_ps(1.0f / d);
        for (int j = 0; j < 4; j++)
            v[j] = rounded_away(_mm256_mul_ps(_mm256_loadu_ps(x + 8 * j), inverse));
        uint16_t h = half_of_float(d);
        memcpy(y, &h, sizeof h);
        _mm256_storeu_si256((__m256i *)(void *)(y + 2), codes_of(v));
    }
    return true;
}

void
avx2_use_encode_q(struct kernels *k)
{
    k->encode[DTYPE_Q4_0] = q4_0_avx2;
    k->encode[DTYPE_Q4_1] = q4_1_avx2;
    k->encode[DTYPE_Q5_0] = q5_0_avx2;
    k->encode[DTYPE_Q5_1] = q5_1_avx2;
    k->encode[DTYPE_Q8_0] = q8_0_avx2;
}

#endif
