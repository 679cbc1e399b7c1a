/* avx512_inline: rounding sixteen floats at a time. Shared by the avx512_*.c files only. */
#ifndef KERNEL_X86_AVX512_INLINE_H
#define KERNEL_X86_AVX512_INLINE_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernel/nan.h"

/* Sixteen floats, any NaN among them made the canonical one. */
static inline __m512
canonical512(__m512 v)
{
    __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);

    return _mm512_mask_mov_ps(v, nan, _mm512_castsi512_ps(_mm512_set1_epi32((int)NAN_CANONICAL)));
}

/* 2 x 16 floats, `lo` first, rounded to 32 BF16 codes, ties to even. The sum of the float's upper word and a
 * carry: it is carried when the lower word is above one half, or just that and the upper word odd. No NaN but
 * the canonical one may come in. (vcvtneps2bf16 would flush subnormals.) */
static inline __m512i
bf16_of32(__m512 lo, __m512 hi)
{
    const __m512i even = _mm512_set_epi16(62, 60, 58, 56, 54, 52, 50, 48, 46, 44, 42, 40, 38, 36, 34, 32,
        30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    const __m512i odd = _mm512_or_si512(even, _mm512_set1_epi16(1));
    __m512i lower = _mm512_permutex2var_epi16(_mm512_castps_si512(lo), even, _mm512_castps_si512(hi));
    __m512i upper = _mm512_permutex2var_epi16(_mm512_castps_si512(lo), odd, _mm512_castps_si512(hi));

    /* lower | (upper & 1) */
    lower = _mm512_ternarylogic_epi32(lower, upper, _mm512_set1_epi16(1), 0xF8);
    return _mm512_mask_sub_epi16(upper, _mm512_cmpgt_epu16_mask(lower, _mm512_set1_epi16((short)0x8000)),
        upper, _mm512_set1_epi16(-1));
}

#endif
