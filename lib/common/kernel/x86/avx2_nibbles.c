/* avx2_nibbles: 4-bit codes to BF16. The low and the high bytes of a group's 16 values are two tables for the
 * byte shuffle. */
#if defined(__x86_64__)

#include "kernel/x86/x86_priv.h"

#include "kernel/x86/avx2_inline.h"
#include "kernel/x86/pick.h"

/* Such that pack256 gives them in order: [0] has 0..3 and 8..11, [1] has 4..7 and 12..15. */
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

/* Bytes of the 16 values; both halves of a register alike. */
struct table {
    __m256i low, high;
};

static inline __attribute__((always_inline)) struct table
table_of(const struct values *values, const struct pick f)
{
    const __m256i split = _mm256_broadcastsi128_si256(_mm_set_epi8(15, 13, 11, 9, 7, 5, 3, 1, 14, 12, 10, 8, 6, 4, 2, 0));
    __m256 v[2];

    for (int i = 0; i < 2; i++) {
        v[i] = _mm256_mul_ps(values->v[i], _mm256_set1_ps(f.scale));
        if (f.has_min)
            v[i] = _mm256_sub_ps(v[i], _mm256_set1_ps(f.min));
    }
    if (!f.finite) {
        v[0] = canonical256(v[0]);
        v[1] = canonical256(v[1]);
    }

    __m256i words = _mm256_shuffle_epi8(pack256(bf16_high256(v[0]), bf16_high256(v[1])), split);
    return (struct table){ _mm256_permute4x64_epi64(words, 0x88), _mm256_permute4x64_epi64(words, 0xDD) };
}

/* Pick 32 values. Codes in this order: elements 0..7, 16..23; 8..15, 24..31. */
static inline __attribute__((always_inline)) void
pick32(uint16_t *y, __m256i code, const struct table t)
{
    __m256i low = _mm256_shuffle_epi8(t.low, code), high = _mm256_shuffle_epi8(t.high, code);

    _mm256_storeu_si256((__m256i *)y, _mm256_unpacklo_epi8(low, high));
    _mm256_storeu_si256((__m256i *)(y + 16), _mm256_unpackhi_epi8(low, high));
}

static inline __attribute__((always_inline)) void
pick_pair(uint16_t *const y[2], const uint8_t *const qs[2], const struct values *values, const struct pick f[2])
{
    const __m256i shift = _mm256_set_epi64x(4, 0, 4, 0), nibble = _mm256_set1_epi8(15);

    for (int i = 0; i < 2; i++) {
        __m256i bytes = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)qs[i]));
        __m256i code = _mm256_srlv_epi64(_mm256_permute4x64_epi64(bytes, 0x50), shift);

        pick32(y[i], _mm256_and_si256(code, nibble), table_of(values, f[i]));
    }
}

static inline __attribute__((always_inline)) void
pick_planes(uint16_t *const y[2], const uint8_t *qs, const struct values *values, const struct pick f[2])
{
    const __m256i nibble = _mm256_set1_epi8(15);
    __m256i bytes = _mm256_permute4x64_epi64(_mm256_loadu_si256((const __m256i *)qs), 0xD8);

    pick32(y[0], _mm256_and_si256(bytes, nibble), table_of(values, f[0]));
    pick32(y[1], _mm256_and_si256(_mm256_srli_epi16(bytes, 4), nibble), table_of(values, f[1]));
}

#include "kernel/x86/nibbles.h"

void
avx2_use_nibbles(struct kernels *k)
{
    nibbles_use(k);
}

#endif
