/* avx2_same_mx: the formulas are in same_mx.h. 32 values at a time, as the words that their upper halves are: values with a code are numbers of
 * BF16. Blocks that take more are left to the scalar functions. */
#if defined(__x86_64__)

#include "base/bytes.h"
#include "kernel/same_mx.h"
#include "kernel/x86/x86_priv.h"

#include "kernel/x86/avx2_inline.h"

enum { STEP = 32 };

/* The upper halves of 32 values, and the bits of all. */
struct mx_words {
    __m256i w[2], any;
};

/* Loads them. `apart`: words 2i and 2i + 1 are values that are `apart` elements apart; 0: they are in the order of pack256(). */
static ALWAYS_INLINE struct mx_words
load(const float *x, const size_t apart)
{
    __m256i v[4];
    for (int i = 0; i < 4; i++)
        v[i] = _mm256_loadu_si256((const __m256i *)(const void *)(x + 8 * i));
    const __m256i any = _mm256_or_si256(_mm256_or_si256(v[0], v[1]), _mm256_or_si256(v[2], v[3]));
    if (apart == 0)
        return (struct mx_words){ { pack256(v[0], v[1]), pack256(v[2], v[3]) }, any };
    return apart == 8 ? (struct mx_words){ { interleave256(v[0], v[1]), interleave256(v[2], v[3]) }, any }
        : (struct mx_words){ { interleave256(v[0], v[2]), interleave256(v[1], v[3]) }, any };
}

static ALWAYS_INLINE __m256i
magnitude(__m256i w)
{
    return _mm256_and_si256(w, _mm256_set1_epi16(0x7FFF));
}

/* Returns the largest of 16 magnitudes, as the bits of a float. */
static ALWAYS_INLINE uint32_t
most_of(__m256i w)
{
    __m128i m = _mm_max_epu16(_mm256_castsi256_si128(w), _mm256_extracti128_si256(w, 1));
    m = _mm_minpos_epu16(_mm_xor_si128(m, _mm_set1_epi32(-1)));
    return ~(uint32_t)_mm_cvtsi128_si32(m) << 16;
}

/* Returns the sign bits of 32 words, one in each byte. */
static ALWAYS_INLINE __m256i
signs(const struct mx_words *v)
{
    return _mm256_and_si256(_mm256_packs_epi16(v->w[0], v->w[1]), _mm256_set1_epi8((char)0x80));
}

/* Returns bytes that are not 0 where exactly one of two bytes is 0. */
static ALWAYS_INLINE __m256i
one_zero(__m256i a, __m256i b)
{
    const __m256i zero = _mm256_setzero_si256();
    return _mm256_xor_si256(_mm256_cmpeq_epi8(a, zero), _mm256_cmpeq_epi8(b, zero));
}

/* Joins pairs of codes to 16 bytes, in order. */
static ALWAYS_INLINE __m128i
nibbles(__m256i code, const bool halves)
{
    __m256i bytes = _mm256_maddubs_epi16(code, _mm256_set1_epi16(0x1001));      /* the first plus 16 times the second */
    bytes = _mm256_packus_epi16(bytes, bytes);
    __m128i low = _mm256_castsi256_si128(bytes), high = _mm256_extracti128_si256(bytes, 1);
    return halves ? _mm_unpacklo_epi32(low, high) : _mm_unpacklo_epi16(low, high);
}

/* Finds the scale of a block; returns false without one. */
static ALWAYS_INLINE bool
find_scale(uint8_t *scale, __m256i *below, uint32_t most, const struct same_e2m1 *how)
{
    int t = most == 0 ? -127 : same_e2m1_power(most, how);
    *scale = (uint8_t)(t + 127);
    *below = _mm256_set1_epi16((short)(2 * (t + 126) - 1 + 4 * (most == 0)));
    return t != SAME_MX_NONE;
}

/* Encodes one block of 32, or two of 16. The number of a magnitude counts exponents and its second bit: the number of one half
 * is one more than `below`. */
static ALWAYS_INLINE bool
put_e2m1(uint8_t *scale, uint8_t *code, const float *x, const struct same_e2m1 *how, const size_t block, const bool halves)
{
    const struct mx_words v = load(x, halves ? block / 2 : 0);
    const __m256i one = _mm256_set1_epi8(1), a = magnitude(v.w[0]), b = magnitude(v.w[1]);
    __m256i below[2];
    bool scaled = find_scale(scale, &below[0], most_of(block == 32 ? _mm256_max_epu16(a, b) : a), how);
    if (block == 32)
        below[1] = below[0];
    else
        scaled = find_scale(scale + 1, &below[1], most_of(b), how) && scaled;
    const __m256i number[2] = { _mm256_srli_epi16(a, 6), _mm256_srli_epi16(b, 6) };
    const __m256i d = _mm256_packus_epi16(_mm256_subs_epu16(number[0], below[0]), _mm256_subs_epu16(number[1], below[1]));
    __m256i wrong = _mm256_and_si256(v.any, _mm256_set1_epi32(0x3FFFFF));
    wrong = _mm256_or_si256(wrong, _mm256_cmpeq_epi8(d, _mm256_set1_epi8(2)));
    wrong = _mm256_or_si256(wrong, one_zero(d, _mm256_packus_epi16(number[0], number[1])));
    if (!scaled || !_mm256_testz_si256(wrong, wrong))
        return false;
    if (code) {
        __m256i q = _mm256_add_epi8(d, _mm256_cmpgt_epi8(d, one));
        q = _mm256_or_si256(q, _mm256_srli_epi16(signs(&v), 4));
        _mm_storeu_si128((__m128i *)(void *)code, nibbles(q, halves));
    }
    return true;
}

static ALWAYS_INLINE size_t
run(uint8_t *scale, uint8_t *code, const float *x, size_t nblocks, const struct same_e2m1 *how, const size_t block, const bool halves)
{
    const struct same_e2m1 own = *how;
    const size_t step = STEP / block;
    size_t i = 0;
    for (size_t n = step; nblocks - i >= step; i += step) {
        uint8_t *to = code ? code + i * (block / 2) : NULL;
        if (!put_e2m1(scale + i, to, x + i * block, &own, block, halves)
            && (n = same_e2m1(scale + i, to, x + i * block, step, &own)) != step)
            return i + n;
    }
    return i + same_e2m1(scale + i, code ? code + i * (block / 2) : NULL, x + i * block, nblocks - i, &own);
}

static size_t
avx2_same_e2m1(uint8_t *scale, uint8_t *code, const float *x, size_t nblocks, const struct same_e2m1 *how)
{
    if (how->block == 32)
        return how->halves ? run(scale, code, x, nblocks, how, 32, true) : run(scale, code, x, nblocks, how, 32, false);
    return how->halves ? run(scale, code, x, nblocks, how, 16, true) : run(scale, code, x, nblocks, how, 16, false);
}

/* Encodes a block whose codes are normal numbers, or 0. The number of a magnitude counts exponents and its three other bits:
 * the number of the smallest normal code is 8. */
static ALWAYS_INLINE bool
put_e4m3(uint8_t *scale, uint8_t *code, const float *x)
{
    const struct mx_words v = load(x, 0);
    const __m256i a = magnitude(v.w[0]), b = magnitude(v.w[1]);
    const uint32_t most = most_of(_mm256_max_epu16(a, b));
    const int t = most == 0 ? -127 : same_e4m3_power(most);
    const __m256i base = _mm256_set1_epi16((short)(most == 0 ? 0 : 8 * (t + 120)));
    const __m256i number[2] = { _mm256_srli_epi16(a, 4), _mm256_srli_epi16(b, 4) };
    const __m256i q = _mm256_packus_epi16(_mm256_subs_epu16(number[0], base), _mm256_subs_epu16(number[1], base));
    __m256i wrong = _mm256_and_si256(v.any, _mm256_set1_epi32(0xFFFFF));
    wrong = _mm256_or_si256(wrong, one_zero(_mm256_subs_epu8(q, _mm256_set1_epi8(7)), _mm256_packus_epi16(number[0], number[1])));
    *scale = (uint8_t)(t + 127);
    if (t == SAME_MX_NONE || !_mm256_testz_si256(wrong, wrong))
        return false;
    if (code) {
        const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
        _mm256_storeu_si256((__m256i *)(void *)code, _mm256_permutevar8x32_epi32(_mm256_or_si256(q, signs(&v)), order));
    }
    return true;
}

static size_t
avx2_same_e4m3(uint8_t *scale, uint8_t *code, const float *x, size_t nblocks)
{
    for (size_t i = 0; i < nblocks; i++) {
        uint8_t *to = code ? code + i * SAME_MX : NULL;
        if (!put_e4m3(scale + i, to, x + i * SAME_MX) && same_e4m3(scale + i, to, x + i * SAME_MX, 1) == 0)
            return i;
    }
    return nblocks;
}

/* Returns the smallest of 16 words. */
static ALWAYS_INLINE int
least_of(__m256i w)
{
    __m128i m = _mm_min_epu16(_mm256_castsi256_si128(w), _mm256_extracti128_si256(w, 1));
    return _mm_cvtsi128_si32(_mm_minpos_epu16(m)) & 0xFFFF;
}

/* The last bit of a value has the value's exponent, or one less; here exponents count from 0, for the smallest subnormal
 * numbers. */
static size_t
avx2_e2m1_range(struct e2m1_range *range, const float *x, size_t nblocks)
{
    const __m256i one = _mm256_set1_epi16(1);
    size_t i = 0;
    int all = range->lo, least = range->hi;
    for (; i < nblocks; i++, x += 16) {
        const __m256i v[2] = { _mm256_loadu_si256((const __m256i *)(const void *)x), _mm256_loadu_si256((const __m256i *)(const void *)(x + 8)) };
        const __m256i rest = _mm256_and_si256(_mm256_or_si256(v[0], v[1]), _mm256_set1_epi32(0x3FFFFF));
        const __m256i a = magnitude(interleave256(v[0], v[1])), number = _mm256_srli_epi16(a, 6);
        __m256i last = _mm256_sub_epi16(_mm256_add_epi16(_mm256_srli_epi16(number, 1), one), _mm256_and_si256(number, one));
        last = _mm256_or_si256(last, _mm256_cmpeq_epi16(a, _mm256_setzero_si256()));
        const uint32_t most = most_of(a);
        const int lo = (int)(most >> 23) - 129, hi = least_of(last) - 127;
        if (!_mm256_testz_si256(rest, rest) || (most != 0 && (most >= 0x7F800000 || hi == -127 || lo > hi)))
            break;
        all = most != 0 && lo > all ? lo : all;
        least = most != 0 && hi < least ? hi : least;
    }
    *range = (struct e2m1_range){ all, least };
    return i;
}

void
avx2_use_same_mx(struct kernels *k)
{
    k->same_e2m1 = avx2_same_e2m1;
    k->same_e4m3 = avx2_same_e4m3;
    k->e2m1_range = avx2_e2m1_range;
}

#endif
