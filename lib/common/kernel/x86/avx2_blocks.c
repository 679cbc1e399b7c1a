/* avx2_blocks: the block types of ggml by unpacking and multiplying, 16 codes at a time. 4-bit types to BF16 are
 * in avx2_nibbles and avx2_groups.
 *
 * For BF16 the codes are widened to 16 bits; the even ones are then the lower halves of lanes of 32 bits, the
 * odd ones the upper halves, and the rounded products go back to the same halves without a shuffle. */
#if defined(__x86_64__)

#include "kernel/x86/x86_priv.h"

#include "kernel/x86/avx2_inline.h"
#include "kernel/x86/factors.h"

static ALWAYS_INLINE __m256
product(__m256i q, float scale, float min, bool has_min, bool canonical)
{
    __m256 v = _mm256_mul_ps(_mm256_cvtepi32_ps(q), _mm256_set1_ps(scale));

    if (has_min)
        v = _mm256_sub_ps(v, _mm256_set1_ps(min));
    return canonical ? canonical256(v) : v;
}

static ALWAYS_INLINE void
emit32(void *y, enum format format, const int8_t *q, const struct factors f, bool canonical)
{
    if (format == TO_F32) {
        for (int i = 0; i < 4; i++) {
            __m256i wide = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(q + 8 * i)));

            _mm256_storeu_ps((float *)y + 8 * i, product(wide, f.scale[i / 2], f.min[i / 2], f.has_min, canonical));
        }
        return;
    }
    for (int i = 0; i < 2; i++) {
        __m256i wide = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(q + 16 * i)));
        __m256i even = _mm256_srai_epi32(_mm256_slli_epi32(wide, 16), 16), odd = _mm256_srai_epi32(wide, 16);

        even = bf16_high256(product(even, f.scale[i], f.min[i], f.has_min, canonical));
        odd = bf16_high256(product(odd, f.scale[i], f.min[i], f.has_min, canonical));
        _mm256_storeu_si256((__m256i *)y + i, interleave256(even, odd));
    }
}

#include "kernel/x86/decode.h"

void
avx2_use_blocks(struct kernels *k)
{
    blocks_use(k);
}

#endif
