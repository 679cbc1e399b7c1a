/* avx2_encode_bits: where the bits of 32 codes go in Q4_0 to Q5_1. Shared by the avx2_encode_*.c files only. */
#ifndef KERNEL_X86_AVX2_ENCODE_BITS_H
#define KERNEL_X86_AVX2_ENCODE_BITS_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "kernel/x86/x86_priv.h"

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

#endif
