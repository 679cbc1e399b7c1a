/* avx2_encode_bnb: the formulas are in encode_bnb.h. The number of limits below a value is found by binary search in three
 * or four steps: a register holds the limits, and a permutation gives each lane its own. The limits of NF4 are so even that one step is
 * enough: floor(10.4 y + 0.14), from -8 to 7, is another number for each of the 15 limits, so that any value has at most one limit to
 * be compared with. The limits are at least 0.17 away from where that number changes: its rounding does not matter. */
#if defined(__x86_64__)

#include "dtype/half.h"
#include "kernel/encode_bnb.h"
#include "kernel/x86/x86_priv.h"

#include "kernel/x86/avx2_inline.h"

enum bnb_rule { NF4, FP4, FP4_CPU };

/* The eighth of 15 limits, the seven below it and the seven above it. Seven limits use only `low`. NF4: the limits of negative numbers
 * and of the others, by their lowest three bits. */
struct bnb_limits {
    __m256 middle, low, high;
    __m256i codes;              /* by count: 16 bytes, twice */
};

static ALWAYS_INLINE struct bnb_limits
limits_of(enum bnb_rule rule)
{
    const uint32_t *m = encode_fp4_midpoints;
    if (rule == NF4)
        m = encode_nf4_midpoints;
    uint32_t half[2][8] = { { 0 } };
    uint8_t codes[16] = { 0 };
    if (rule == FP4) {
        memcpy(half[0], encode_fp4_limits, sizeof encode_fp4_limits);
        memcpy(codes, encode_fp4_magnitudes, sizeof encode_fp4_magnitudes);
    } else if (rule == NF4) {
        memcpy(half[0], m, 2 * sizeof *m);
        half[0][2] = 0x7F800000;                    /* -6 has none */
        memcpy(half[0] + 3, m + 2, 5 * sizeof *m);
        memcpy(half[1], m + 7, 8 * sizeof *m);
    } else {
        memcpy(half[0], m, 7 * sizeof *m);
        memcpy(half[1], m + 8, 7 * sizeof *m);
        memcpy(codes, encode_fp4_order, sizeof codes);
    }
    return (struct bnb_limits){
        .middle = _mm256_castsi256_ps(_mm256_set1_epi32((int)m[7])),
        .low = _mm256_castsi256_ps(_mm256_loadu_si256((const __m256i *)(const void *)half[0])),
        .high = _mm256_castsi256_ps(_mm256_loadu_si256((const __m256i *)(const void *)half[1])),
        .codes = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)codes)),
    };
}

/* Returns -1 in lanes where y is above the limit, or NaN. */
static ALWAYS_INLINE __m256i
above(__m256 y, __m256 limit)
{
    return _mm256_castps_si256(_mm256_cmp_ps(y, limit, _CMP_NLE_UQ));
}

/* Returns limit `at` of each lane's half. */
static ALWAYS_INLINE __m256
limit_at(__m256i at, __m256i upper, const struct bnb_limits *l, enum bnb_rule rule)
{
    __m256 limit = _mm256_permutevar8x32_ps(l->low, at);
    if (rule == FP4)
        return limit;
    return _mm256_blendv_ps(limit, _mm256_permutevar8x32_ps(l->high, at), _mm256_castsi256_ps(upper));
}

/* Returns the number of limits below each y, in its lane. */
static ALWAYS_INLINE __m256i
counts(__m256 y, const struct bnb_limits *l, enum bnb_rule rule)
{
    __m256i upper = _mm256_setzero_si256();
    if (rule == FP4)
        y = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), y);
    else
        upper = above(y, l->middle);
    __m256i hit = above(y, limit_at(_mm256_set1_epi32(3), upper, l, rule));
    __m256i at = _mm256_sub_epi32(_mm256_set1_epi32(1), _mm256_slli_epi32(hit, 2));
    hit = above(y, limit_at(at, upper, l, rule));
    at = _mm256_sub_epi32(_mm256_sub_epi32(at, _mm256_set1_epi32(1)), _mm256_slli_epi32(hit, 1));
    at = _mm256_sub_epi32(at, above(y, limit_at(at, upper, l, rule)));
    return _mm256_sub_epi32(at, _mm256_slli_epi32(upper, 3));
}

/* Returns for each y of NF4 the number of its limit, plus 1 if y is above that limit: 7 less than the number of limits below y, or 8 less
 * if that is below -5. */
static ALWAYS_INLINE __m256i
numbers_nf4(__m256 y, const struct bnb_limits *l)
{
    __m256 at = _mm256_fmadd_ps(y, _mm256_set1_ps(10.4f), _mm256_set1_ps(0.14f - 0.5f));
    at = _mm256_max_ps(_mm256_min_ps(at, _mm256_set1_ps(7)), _mm256_set1_ps(-8));          /* 7 for NaN */
    __m256i number = _mm256_cvtps_epi32(at);
    __m256 limit = _mm256_blendv_ps(_mm256_permutevar8x32_ps(l->high, number), _mm256_permutevar8x32_ps(l->low, number),
        _mm256_castsi256_ps(number));
    return _mm256_sub_epi32(number, above(y, limit));
}

/* Encodes 32 values to 16 bytes. `divides`: divide by a, else multiply by it. */
static ALWAYS_INLINE __m128i
bytes16(const float *x, __m256 a, bool divides, const struct bnb_limits *l, enum bnb_rule rule)
{
    __m256i c[4];
    for (int i = 0; i < 4; i++) {
        __m256 v = _mm256_loadu_ps(x + 8 * i);
        __m256 y = divides ? _mm256_div_ps(v, a) : _mm256_mul_ps(v, a);
        if (rule == NF4)
            c[i] = numbers_nf4(y, l);
        else
            c[i] = counts(y, l, rule);
        if (rule == FP4)            /* the count has 3 bits, so the sign goes to bit 4 */
            c[i] = _mm256_or_si256(c[i], _mm256_slli_epi32(_mm256_srli_epi32(_mm256_castps_si256(v), 31), 4));
    }
    __m256i n = _mm256_packs_epi16(_mm256_packs_epi32(c[0], c[1]), _mm256_packs_epi32(c[2], c[3]));
    n = _mm256_permutevar8x32_epi32(n, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    if (rule == NF4) {
        __m256i lowest = _mm256_cmpgt_epi8(_mm256_set1_epi8(-5), n);
        n = _mm256_sub_epi8(_mm256_add_epi8(n, _mm256_set1_epi8(7)), lowest);
    } else if (rule == FP4) {
        __m256i sign = _mm256_and_si256(_mm256_srli_epi16(n, 1), _mm256_set1_epi8(8));
        n = _mm256_or_si256(_mm256_shuffle_epi8(l->codes, _mm256_and_si256(n, _mm256_set1_epi8(7))), sign);
    } else if (rule == FP4_CPU)
        n = _mm256_shuffle_epi8(l->codes, n);
    n = _mm256_maddubs_epi16(n, _mm256_set1_epi16(0x0110));         /* 16 times the first plus the second */
    n = _mm256_permute4x64_epi64(_mm256_packus_epi16(n, n), 0x08);
    return _mm256_castsi256_si128(n);
}

/* Encodes n values, a whole block or its end, starting at an even place. */
static ALWAYS_INLINE void
avx2_encode_bnb_run(uint8_t *restrict y, const float *restrict x, size_t n, float a, bool divides, const struct bnb_limits *l,
    enum bnb_rule rule)
{
    const __m256 v = _mm256_set1_ps(a);
    size_t i = 0;
    for (; n - i >= 32; i += 32)
        _mm_storeu_si128((__m128i *)(void *)(y + i / 2), bytes16(x + i, v, divides, l, rule));
    if (i < n) {
        float last[32] = { 0 };
        memcpy(last, x + i, (n - i) * sizeof *x);
        __m128i bytes = bytes16(last, v, divides, l, rule);
        memcpy(y + i / 2, &bytes, (n - i + 1) / 2);
    }
    if (n % 2 != 0)
        y[n / 2] = (uint8_t)((y[n / 2] & 0xF0) | (rule == NF4 ? 7 : 0));
}

static ALWAYS_INLINE void
avx2_encode_bnb_encode(uint8_t *restrict y, float *restrict absmax, const float *restrict x, size_t n, size_t block,
    enum bnb_rule rule)
{
    const struct bnb_limits l = limits_of(rule);
    size_t whole = n / block, rest = n % block;
    for (size_t i = 0; i < whole; i++) {
        avx2_encode_absmax(absmax + i, x + i * block, block, block);
        float least = absmax[i] < ENCODE_BNB_LEAST ? ENCODE_BNB_LEAST : absmax[i];
        avx2_encode_bnb_run(y + i * (block / 2), x + i * block, block, 1.0f / least, false, &l, rule);
    }
    if (rest != 0) {
        avx2_encode_absmax(absmax + whole, x + whole * block, rest, block);
        if (absmax[whole] < ENCODE_BNB_LEAST)
            absmax[whole] = ENCODE_BNB_LEAST;
        avx2_encode_bnb_run(y + whole * (block / 2), x + whole * block, rest, absmax[whole], true, &l, rule);
    }
}

static void
avx2_encode_nf4(uint8_t *restrict y, float *restrict absmax, const float *restrict x, size_t n, size_t block)
{
    avx2_encode_bnb_encode(y, absmax, x, n, block, NF4);
}

static void
avx2_encode_fp4(uint8_t *restrict y, float *restrict absmax, const float *restrict x, size_t n, size_t block)
{
    avx2_encode_bnb_encode(y, absmax, x, n, block, FP4);
}

static void
avx2_encode_fp4_cpu(uint8_t *restrict y, float *restrict absmax, const float *restrict x, size_t n, size_t block)
{
    avx2_encode_bnb_encode(y, absmax, x, n, block, FP4_CPU);
}

/* Rounds 32 floats to F16, multiplies them by r and rounds to integers. */
static ALWAYS_INLINE __m256i
integers32(const float *x, __m256 r)
{
    __m256i c[4];
    for (int i = 0; i < 4; i++) {
        __m256 v = _mm256_cvtph_ps(_mm256_cvtps_ph(_mm256_loadu_ps(x + 8 * i), _MM_FROUND_TO_NEAREST_INT));
        v = _mm256_mul_ps(v, r);
        c[i] = _mm256_cvtps_epi32(_mm256_and_ps(v, _mm256_cmp_ps(v, v, _CMP_ORD_Q)));
    }
    __m256i n = _mm256_packs_epi16(_mm256_packs_epi32(c[0], c[1]), _mm256_packs_epi32(c[2], c[3]));
    return _mm256_permutevar8x32_epi32(n, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

/* rounding preserves the order, so it is enough to round the largest magnitude */
static float
avx2_encode_int8_row(int8_t *restrict y, const float *restrict x, size_t n)
{
    float absmax = 0.0f;
    size_t i = 0;
    avx2_encode_absmax(&absmax, x, n, n);
    absmax = half_to_float(half_of_float(absmax));
    const __m256 r = _mm256_set1_ps(1.0f / absmax * 127.0f);
    for (; n - i >= 32; i += 32)
        _mm256_storeu_si256((__m256i *)(void *)(y + i), integers32(x + i, r));
    if (i < n) {
        float last[32] = { 0 };
        memcpy(last, x + i, (n - i) * sizeof *x);
        __m256i v = integers32(last, r);
        memcpy(y + i, &v, n - i);
    }
    return absmax;
}

void
avx2_use_encode_bnb(struct kernels *k)
{
    k->encode_nf4 = avx2_encode_nf4;
    k->encode_fp4 = avx2_encode_fp4;
    k->encode_fp4_cpu = avx2_encode_fp4_cpu;
    k->encode_int8_row = avx2_encode_int8_row;
}

#endif
