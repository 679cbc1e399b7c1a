/* avx512_blocks: the block types of ggml by unpacking and multiplying, 32 codes at a time. 4-bit types to BF16
 * are in avx512_nibbles and avx512_groups. */
#if defined(__x86_64__)

#include "kernel/x86/x86_priv.h"

#include "kernel/x86/avx512_inline.h"
#include "kernel/x86/factors.h"

static ALWAYS_INLINE __m512
product(const int8_t q[16], float scale, float min, bool has_min, bool canonical)
{
    __m512i wide = _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)q));
    __m512 v = _mm512_mul_ps(_mm512_cvtepi32_ps(wide), _mm512_set1_ps(scale));

    if (has_min)
        v = _mm512_sub_ps(v, _mm512_set1_ps(min));
    return canonical ? canonical512(v) : v;
}

static ALWAYS_INLINE void
emit32(void *y, enum format format, const int8_t *q, const struct factors f, bool canonical)
{
    __m512 lo = product(q, f.scale[0], f.min[0], f.has_min, canonical);
    __m512 hi = product(q + 16, f.scale[1], f.min[1], f.has_min, canonical);

    if (format == TO_F32) {
        _mm512_storeu_ps(y, lo);
        _mm512_storeu_ps((float *)y + 16, hi);
    } else {
        _mm512_storeu_si512(y, bf16_of32(lo, hi));
    }
}

#include "kernel/x86/decode.h"

void
avx512_use_blocks(struct kernels *k)
{
    blocks_use(k);
}

#endif
