/* avx512_round: floats to BF16 and F16, 32 at a time; the tail by masked loads and stores. */
#if defined(__x86_64__)

#include "kernel/x86/x86_priv.h"

#include "kernel/x86/avx512_inline.h"

static void
round_bf16(uint16_t *restrict y, const float *restrict x, size_t n)
{
    size_t i = 0;

    for (; n - i >= 32; i += 32)
        _mm512_storeu_si512(y + i, bf16_of32(canonical512(_mm512_loadu_ps(x + i)),
            canonical512(_mm512_loadu_ps(x + i + 16))));
    if (i < n) {
        __mmask32 left = ((uint32_t)1 << (n - i)) - 1;
        __m512 lo = _mm512_maskz_loadu_ps((__mmask16)left, x + i);
        __m512 hi = _mm512_maskz_loadu_ps((__mmask16)(left >> 16), x + i + 16);

        _mm512_mask_storeu_epi16(y + i, left, bf16_of32(canonical512(lo), canonical512(hi)));
    }
}

/* The instruction rounds as we want, subnormals too, but hands on NaN payloads. */
static inline __m256i
f16_of16(__m512 v)
{
    __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    __m256i h = _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);

    return _mm256_mask_mov_epi16(h, nan, _mm256_set1_epi16(0x7E00));
}

static void
round_f16(uint16_t *restrict y, const float *restrict x, size_t n)
{
    size_t i = 0;

    for (; n - i >= 16; i += 16)
        _mm256_storeu_si256((__m256i *)(y + i), f16_of16(_mm512_loadu_ps(x + i)));
    if (i < n) {
        __mmask16 left = (__mmask16)((1u << (n - i)) - 1);

        _mm256_mask_storeu_epi16(y + i, left, f16_of16(_mm512_maskz_loadu_ps(left, x + i)));
    }
}

void
avx512_use_round(struct kernels *k)
{
    k->round_bf16 = round_bf16;
    k->round_f16 = round_f16;
}

#endif
