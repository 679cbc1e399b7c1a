/* avx2_encode_q: Q4_0, Q4_1, Q5_0, Q5_1, Q8_0 without importance, a block of 32 floats at a time: extremes do not depend on
 * the order, nor do codes on each other. A block in which a code does not come out as for ordinary numbers (infinite, NaN,
 * factors too small for an inverse) is left to the scalar encoder. */
#if defined(__x86_64__)

#include "kernel/x86/x86_priv.h"

#include <immintrin.h>

#include "dtype/ggml_block.h"
#include "kernel/encode_math.h"
#include "kernel/encode_q.h"

enum { ELEMS = 32 };

struct block {
    __m256 x[4];
};

static ALWAYS_INLINE struct block
block_load(const float *x)
{
    return (struct block){ { _mm256_loadu_ps(x), _mm256_loadu_ps(x + 8), _mm256_loadu_ps(x + 16),
        _mm256_loadu_ps(x + 24) } };
}

/* The largest value and the largest of the negated ones. */
static ALWAYS_INLINE void
extremes(float *high, float *minus_low, const struct block *b)
{
    __m256 max = _mm256_max_ps(_mm256_max_ps(b->x[0], b->x[1]), _mm256_max_ps(b->x[2], b->x[3]));
    __m256 min = _mm256_min_ps(_mm256_min_ps(b->x[0], b->x[1]), _mm256_min_ps(b->x[2], b->x[3]));
    __m128 p = _mm_max_ps(_mm256_castps256_ps128(max), _mm256_extractf128_ps(max, 1));
    __m128 n = _mm_min_ps(_mm256_castps256_ps128(min), _mm256_extractf128_ps(min, 1));

    n = _mm_xor_ps(n, _mm_set1_ps(-0.0f));
    p = _mm_max_ps(_mm_unpacklo_ps(p, n), _mm_unpackhi_ps(p, n));       /* p n p n */
    p = _mm_max_ps(p, _mm_movehl_ps(p, p));
    *high = _mm_cvtss_f32(p);
    *minus_low = _mm_cvtss_f32(_mm_shuffle_ps(p, p, 1));
}

static ALWAYS_INLINE void
put_factor(uint8_t *p, float v)
{
    uint16_t h = (uint16_t)_mm_cvtsi128_si32(_mm_cvtps_ph(_mm_set_ss(v), _MM_FROUND_TO_NEAREST_INT));

    memcpy(p, &h, sizeof h);
}

/* Four times eight codes as 32 bytes in order. */
static ALWAYS_INLINE __m256i
codes_of(const __m256i v[4])
{
    __m256i bytes = _mm256_packs_epi16(_mm256_packs_epi32(v[0], v[1]), _mm256_packs_epi32(v[2], v[3]));

    return _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

/* Whether a conversion to integers met what is none: such a one is negative, and these are not. */
static ALWAYS_INLINE bool
any_negative(const __m256i v[4])
{
    __m256i any = _mm256_or_si256(_mm256_or_si256(v[0], v[1]), _mm256_or_si256(v[2], v[3]));

    return _mm256_movemask_ps(_mm256_castsi256_ps(any)) != 0;
}

static ALWAYS_INLINE void
put_nibbles(uint8_t *qs, __m256i codes)
{
    codes = _mm256_and_si256(codes, _mm256_set1_epi8(15));
    _mm_storeu_si128((__m128i *)(void *)qs, _mm_or_si128(_mm256_castsi256_si128(codes),
        _mm_slli_epi16(_mm256_extracti128_si256(codes, 1), 4)));
}

static ALWAYS_INLINE void
put_fifth_bits(uint8_t *qh, __m256i codes)
{
    uint32_t bits = (uint32_t)_mm256_movemask_epi8(_mm256_slli_epi16(codes, 3));

    memcpy(qh, &bits, sizeof bits);
}

/* The sign bit of the first value of this magnitude, which there is. */
static ALWAYS_INLINE uint32_t
first_sign(const struct block *b, float magnitude)
{
    for (int i = 0; i < 4; i++) {
        int minus = _mm256_movemask_ps(_mm256_cmp_ps(b->x[i], _mm256_set1_ps(-magnitude), _CMP_EQ_OQ));
        int plus = _mm256_movemask_ps(_mm256_cmp_ps(b->x[i], _mm256_set1_ps(magnitude), _CMP_EQ_OQ));

        if ((minus | plus) != 0)
            return minus != 0 && (plus == 0 || (minus & -minus) < (plus & -plus)) ? 0x80000000u : 0;
    }
    return 0;
}

/* x = (code - top) * d. */
static ALWAYS_INLINE bool
symmetric_block(uint8_t *restrict d, __m256i *codes, const float *restrict x, const int top)
{
    struct block b = block_load(x);
    float high, minus_low;
    __m256i v[4];

    extremes(&high, &minus_low, &b);
    float magnitude = high > minus_low ? high : minus_low;
    if (!(magnitude > 0x1p-120f))
        return false;
    uint32_t sign = (uint32_t)(minus_low > high) << 31;         /* as likely as not: no branch */
    if (high == minus_low)
        sign = first_sign(&b, magnitude);
    float factor = float_of_bits(bits_of_float(magnitude) | sign) / -(float)top;
    __m256 inverse = _mm256_set1_ps(1.0f / factor);
    for (int i = 0; i < 4; i++)
        v[i] = _mm256_cvttps_epi32(_mm256_add_ps(_mm256_mul_ps(b.x[i], inverse), _mm256_set1_ps((float)top + 0.5f)));
    if (any_negative(v))
        return false;
    put_factor(d, factor);
    *codes = _mm256_min_epu8(codes_of(v), _mm256_set1_epi8((char)(2 * top - 1)));
    return true;
}

/* x = code * d + m. */
static ALWAYS_INLINE bool
min_block(uint8_t *restrict dm, __m256i *codes, const float *restrict x, const int top)
{
    struct block b = block_load(x);
    float high, minus_low;
    __m256i v[4];

    extremes(&high, &minus_low, &b);
    if (minus_low == 0.0f)                          /* of which sign? */
        return false;
    float low = -minus_low, factor = (high - low) / (float)top;
    __m256 inverse = _mm256_set1_ps(factor != 0.0f ? 1.0f / factor : 0.0f);
    for (int i = 0; i < 4; i++)
        v[i] = _mm256_cvttps_epi32(_mm256_add_ps(_mm256_mul_ps(_mm256_sub_ps(b.x[i], _mm256_set1_ps(low)), inverse),
            _mm256_set1_ps(0.5f)));
    if (any_negative(v))
        return false;
    put_factor(dm, factor);
    put_factor(dm + 2, low);
    *codes = codes_of(v);
    if (top == 15)
        *codes = _mm256_min_epu8(*codes, _mm256_set1_epi8(15));
    return true;
}

static bool
q4_0_avx2(uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols, const float *restrict importance)
{
    __m256i codes;

    if (importance != NULL)
        return q4_0_encode(y, x, rows, cols, importance);
    for (size_t i = rows * cols / ELEMS; i > 0; i--, y += Q4_0_BYTES, x += ELEMS)
        if (symmetric_block(y, &codes, x, 8))
            put_nibbles(y + 2, codes);
        else
            q4_0_encode(y, x, 1, ELEMS, NULL);
    return true;
}

static bool
q4_1_avx2(uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols, const float *restrict importance)
{
    __m256i codes;

    if (importance != NULL)
        return q4_1_encode(y, x, rows, cols, importance);
    for (size_t i = rows * cols / ELEMS; i > 0; i--, y += Q4_1_BYTES, x += ELEMS)
        if (min_block(y, &codes, x, 15))
            put_nibbles(y + 4, codes);
        else
            q4_1_encode(y, x, 1, ELEMS, NULL);
    return true;
}

static bool
q5_0_avx2(uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols, const float *restrict importance)
{
    __m256i codes;

    if (importance != NULL)
        return q5_0_encode(y, x, rows, cols, importance);
    for (size_t i = rows * cols / ELEMS; i > 0; i--, y += Q5_0_BYTES, x += ELEMS)
        if (symmetric_block(y, &codes, x, 16)) {
            put_fifth_bits(y + 2, codes);
            put_nibbles(y + 6, codes);
        } else
            q5_0_encode(y, x, 1, ELEMS, NULL);
    return true;
}

static bool
q5_1_avx2(uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols, const float *restrict importance)
{
    __m256i codes;

    if (importance != NULL)
        return q5_1_encode(y, x, rows, cols, importance);
    for (size_t i = rows * cols / ELEMS; i > 0; i--, y += Q5_1_BYTES, x += ELEMS)
        if (min_block(y, &codes, x, 31)) {
            put_fifth_bits(y + 4, codes);
            put_nibbles(y + 8, codes);
        } else
            q5_1_encode(y, x, 1, ELEMS, NULL);
    return true;
}

/* --- Q8_0 */

/* The largest magnitude as bits, which for NaN and infinity are larger than for any number. */
static ALWAYS_INLINE uint32_t
magnitude_bits(const struct block *b)
{
    const __m256i mask = _mm256_set1_epi32(0x7FFFFFFF);
    __m256i a[4];

    for (int i = 0; i < 4; i++)
        a[i] = _mm256_and_si256(_mm256_castps_si256(b->x[i]), mask);
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
        struct block b = block_load(x);
        uint32_t bits = magnitude_bits(&b);
        __m256i v[4];

        if (bits - 0x02000000u >= 0x7F800000u - 0x02000000u) {     /* 0 .. 2^-123, infinite, NaN */
            q8_0_encode(y, x, 1, ELEMS, importance);
            continue;
        }
        float d = float_of_bits(bits) / 127.0f;
        __m256 inverse = _mm256_set1_ps(1.0f / d);
        for (int j = 0; j < 4; j++)
            v[j] = rounded_away(_mm256_mul_ps(b.x[j], inverse));
        put_factor(y, d);
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
