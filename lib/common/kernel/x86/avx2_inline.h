/* avx2_inline: rounds eight floats at a time and stores them. Included only by avx2_*.c. */
#ifndef KERNEL_X86_AVX2_INLINE_H
#define KERNEL_X86_AVX2_INLINE_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "dtype/dtype.h"
#include "kernel/nan.h"

/* Output format. A constant once inlined. */
enum avx2_to { TO_F32, TO_BF16 };

/* Returns the size of an element in bytes. */
static inline size_t
size_of(const enum avx2_to format)
{
    if (format == TO_F32)
        return sizeof(float);
    return sizeof(uint16_t);
}

/* Returns true if the exponent fields of all values are from low to high; finite values have exponent fields 0 .. 254. */
static inline bool
exponents_within(const float *values, size_t n, uint32_t low, uint32_t high)
{
    bool within = true;

    for (size_t i = 0; i < n; i++)
        within &= (bits_of_float(values[i]) >> 23 & 0xFF) - low <= high - low;
    return within;
}

/* Replaces any NaN among eight floats by the canonical one. */
static inline __m256
canonical256(__m256 v)
{
    __m256 nan = _mm256_cmp_ps(v, v, _CMP_UNORD_Q);

    return _mm256_blendv_ps(v, _mm256_castsi256_ps(_mm256_set1_epi32((int)NAN_CANONICAL)), nan);
}

/* Rounds eight floats to BF16, ties to even. The code is the upper half of each lane; the lower half is undefined. Only the
 * canonical NaN may be passed: a payload of ones would carry into the sign. */
static inline __m256i
bf16_high256(__m256 v)
{
    __m256i bits = _mm256_castps_si256(v);
    __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));

    return _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7FFF)), odd);
}

/* Rounds to values of a type: BF16, F16, or F32, which only makes NaN canonical. */
static inline __m256
rounded256(__m256 v, const enum dtype in)
{
    v = canonical256(v);
    if (in == DTYPE_BF16)
        return _mm256_castsi256_ps(_mm256_and_si256(bf16_high256(v), _mm256_set1_epi32((int)0xFFFF0000)));
    if (in == DTYPE_F16)
        return _mm256_cvtph_ps(_mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
    return v;
}

/* Returns the upper halves of 2 x 8 lanes as 16 codes, element 2i from even[i] and 2i + 1 from odd[i]. */
static inline __m256i
interleave256(__m256i even, __m256i odd)
{
    return _mm256_blend_epi16(_mm256_srli_epi32(even, 16), odd, 0xAA);
}

/* Returns the upper halves of 2 x 8 lanes as 16 codes, by half register: lanes 0..3 of lo and of hi, then 4..7. */
static inline __m256i
pack256(__m256i lo, __m256i hi)
{
    return _mm256_packus_epi32(_mm256_srli_epi32(lo, 16), _mm256_srli_epi32(hi, 16));
}

/* Returns the bytes of both in order, `lo` first. */
static inline __m256i
concat256(__m256i lo, __m256i hi)
{
    return _mm256_permute4x64_epi64(pack256(lo, hi), 0xD8);
}

/* The low and high bytes of 16 BF16 codes, as tables for the byte shuffle; both halves of a register are equal. */
struct words16 {
    __m256i low, high;
};

static inline struct words16
words16_of(__m256i words)
{
    const __m256i split = _mm256_broadcastsi128_si256(_mm_set_epi8(15, 13, 11, 9, 7, 5, 3, 1,
        14, 12, 10, 8, 6, 4, 2, 0));

    words = _mm256_shuffle_epi8(words, split);
    return (struct words16){ _mm256_permute4x64_epi64(words, 0x88), _mm256_permute4x64_epi64(words, 0xDD) };
}

/* Same from values to be rounded: entries 0..3 and 8..11 are in a, 4..7 and 12..15 in b. */
static inline struct words16
words16_rounded(__m256 a, __m256 b)
{
    return words16_of(pack256(bf16_high256(a), bf16_high256(b)));
}

/* Stores 32 entries, with a sign (0x80 or 0) flipped. Indices and signs are in the order that unpacking needs: elements
 * 0..7, 16..23; 8..15, 24..31. */
static inline void
pick32(uint16_t *y, const struct words16 *t, __m256i index, __m256i sign)
{
    __m256i low = _mm256_shuffle_epi8(t->low, index);
    __m256i high = _mm256_xor_si256(_mm256_shuffle_epi8(t->high, index), sign);

    _mm256_storeu_si256((__m256i *)y, _mm256_unpacklo_epi8(low, high));
    _mm256_storeu_si256((__m256i *)(y + 16), _mm256_unpackhi_epi8(low, high));
}

#endif
