/* avx2_nibbles: 4-bit codes to BF16. The low and the high bytes of a group's 16 values are two tables for the
 * byte shuffle. */
#if defined(__x86_64__)

#include "kernel/x86/x86_priv.h"

#include "kernel/x86/avx2_inline.h"
#include "kernel/x86/factors.h"

/* In the order of words16_rounded: [0] has 0..3 and 8..11, [1] has 4..7 and 12..15. */
struct values {
    __m256 v[2];
};

static inline struct values
values_of(const int8_t table[16])
{
    __m128i t = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)table), 0xD8);

    return (struct values){ {
        _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(t)),
        _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(t, 8))),
    } };
}

static ALWAYS_INLINE struct words16
table_of(const struct values *values, const struct pick f)
{
    __m256 v[2];

    for (int i = 0; i < 2; i++) {
        v[i] = _mm256_mul_ps(values->v[i], _mm256_set1_ps(f.scale));
        if (f.has_min)
            v[i] = _mm256_sub_ps(v[i], _mm256_set1_ps(f.min));
        if (!f.finite)
            v[i] = canonical256(v[i]);
    }
    return words16_rounded(v[0], v[1]);
}

static ALWAYS_INLINE void
pick_pair(uint16_t *const y[2], const uint8_t *const qs[2], const struct values *values, const struct pick f[2])
{
    const __m256i shift = _mm256_set_epi64x(4, 0, 4, 0), nibble = _mm256_set1_epi8(15);

    for (int i = 0; i < 2; i++) {
        struct words16 table = table_of(values, f[i]);
        __m256i bytes = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)qs[i]));
        __m256i code = _mm256_srlv_epi64(_mm256_permute4x64_epi64(bytes, 0x50), shift);

        pick32(y[i], &table, _mm256_and_si256(code, nibble), _mm256_setzero_si256());
    }
}

static ALWAYS_INLINE void
pick_planes(uint16_t *const y[2], const uint8_t *qs, const struct values *values, const struct pick f[2])
{
    const __m256i nibble = _mm256_set1_epi8(15);
    __m256i bytes = _mm256_permute4x64_epi64(_mm256_loadu_si256((const __m256i *)qs), 0xD8);

    for (int i = 0; i < 2; i++) {
        struct words16 table = table_of(values, f[i]);

        pick32(y[i], &table, _mm256_and_si256(_mm256_srli_epi16(bytes, 4 * i), nibble), _mm256_setzero_si256());
    }
}

#include "kernel/x86/nibbles.h"

void
avx2_use_nibbles(struct kernels *k)
{
    nibbles_use(k);
}

#endif
