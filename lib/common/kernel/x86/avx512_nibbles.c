/* avx512_nibbles: 4-bit codes to BF16. The values of two groups are 32 words, one register; a code, with 16
 * added for the second group, is an index into it, 32 at a time. */
#if defined(__x86_64__)

#include "kernel/x86/x86_priv.h"

#include "kernel/x86/avx512_inline.h"
#include "kernel/x86/factors.h"

struct values {
    __m512 v;
};

static inline struct values
values_of(const int8_t table[16])
{
    return (struct values){ _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)table))) };
}

static ALWAYS_INLINE __m512
scaled(const struct values *values, const struct pick f)
{
    __m512 v = _mm512_mul_ps(values->v, _mm512_set1_ps(f.scale));

    return f.has_min ? _mm512_sub_ps(v, _mm512_set1_ps(f.min)) : v;
}

/* The 16 + 16 values of two groups. */
static ALWAYS_INLINE __m512i
table_of(const struct values *values, const struct pick f[2])
{
    __m512 a = scaled(values, f[0]), b = scaled(values, f[1]);

    if (!f[0].finite || !f[1].finite) {
        a = canonical512(a);
        b = canonical512(b);
    }
    return bf16_of32(a, b);
}

/* A nibble at the foot of each of 32 words, the low nibbles of 16 bytes first; above them rubbish. Four bytes
 * go to each 64 bits, from where a field of eight bits is fetched for every byte. */
static ALWAYS_INLINE __m512i
spread(const uint8_t *qs)
{
    const __m512i from = _mm512_set_epi64(0x1C1C14140C0C0404, 0x1C1C14140C0C0404, 0x1C1C14140C0C0404,
        0x1C1C14140C0C0404, 0x1818101008080000, 0x1818101008080000, 0x1818101008080000, 0x1818101008080000);
    __m256i twice = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)qs));

    return _mm512_multishift_epi64_epi8(from, _mm512_cvtepu32_epi64(twice));
}

/* (code & 15) | 16 */
static ALWAYS_INLINE __m512i
second(__m512i code)
{
    return _mm512_ternarylogic_epi32(code, _mm512_set1_epi16(15), _mm512_set1_epi16(16), 0xEA);
}

static ALWAYS_INLINE void
pick_pair(uint16_t *const y[2], const uint8_t *const qs[2], const struct values *values, const struct pick f[2])
{
    __m512i table = table_of(values, f);
    __m512i a = _mm512_and_si512(spread(qs[0]), _mm512_set1_epi16(15)), b = second(spread(qs[1]));

    _mm512_storeu_si512(y[0], _mm512_permutexvar_epi16(a, table));
    _mm512_storeu_si512(y[1], _mm512_permutexvar_epi16(b, table));
}

static ALWAYS_INLINE void
pick_planes(uint16_t *const y[2], const uint8_t *qs, const struct values *values, const struct pick f[2])
{
    __m512i table = table_of(values, f);
    __m512i code = _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)qs));
    __m512i a = _mm512_and_si512(code, _mm512_set1_epi16(15)), b = second(_mm512_srli_epi16(code, 4));

    _mm512_storeu_si512(y[0], _mm512_permutexvar_epi16(a, table));
    _mm512_storeu_si512(y[1], _mm512_permutexvar_epi16(b, table));
}

#include "kernel/x86/nibbles.h"

void
avx512_use_nibbles(struct kernels *k)
{
    nibbles_use(k);
}

#endif
