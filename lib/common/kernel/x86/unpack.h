/* unpack: splits ggml blocks into integers and factors, y = scale * q - min. The multiplication, the same for all types, is
 * in avx2_blocks.c. Instructions up to AVX2 and F16C: 32 codes at a time.
 *
 * Layouts are drawn in kernel/ref/, next to the definitions; this header only has the vector operations on them.
 */
#ifndef KERNEL_X86_UNPACK_H
#define KERNEL_X86_UNPACK_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"
#include "dtype/ggml_block.h"
#include "kernel/blocks.h"
#include "kernel/x86/x86_priv.h"

/* One block. There is one scale and min for every `struct block_codec`.group elements. */
struct block_unpacked {
    int8_t q[QK_K] __attribute__((aligned(32)));
    const int8_t *codes;            /* points to q, or into the block if its codes are bytes there */
    float scale[16], min[16];
    float row_scale;                /* set before unpacking: the factor in the prefix of the row, and its number among */
    unsigned row;                   /* interleaved rows */
};

/* Unpacks the block at src. Returns false if a factor is infinite or NaN, so that products may be NaN. */
typedef bool unpack_fn(struct block_unpacked *u, const uint8_t *src);

static ALWAYS_INLINE __m256i
load256(const uint8_t *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

static ALWAYS_INLINE __m128i
load128(const uint8_t *p)
{
    return _mm_loadu_si128((const __m128i *)p);
}

static ALWAYS_INLINE uint64_t
load64(const void *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof v);
    return v;
}

/* Makes the compiler assume that *p has just changed. Factors are best read back by broadcasting loads; compilers that see
 * through the arrays extract them from registers instead, at twice the cost. */
static ALWAYS_INLINE void
keep_in_memory(void *p)
{
    __asm__ volatile("" : : "r"(p) : "memory");
}

/* Prefetches the size of one block, 2 KiB ahead, because input may come from memory. */
static ALWAYS_INLINE void
fetch_ahead(const uint8_t *block, int bytes)
{
    for (int at = 0; at < bytes; at += 64)
        _mm_prefetch((const char *)block + 2048 + at, _MM_HINT_T0);
}

/* Returns codes 32c .. 32c + 31. */
static ALWAYS_INLINE void
put(struct block_unpacked *u, int c, __m256i q)
{
    _mm256_store_si256((__m256i *)(u->q + 32 * c), q);
}

/* Reads the binary16 at p. A NaN may keep its payload, because products are made canonical later. */
static ALWAYS_INLINE float
half_at(const uint8_t *p)
{
    return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(load_le16(p))));
}

static ALWAYS_INLINE bool
half_finite(const uint8_t *p)
{
    return (p[1] & 0x7C) != 0x7C;
}

/* scale[0..7] = d * low eight bytes of v, signed or not */
static ALWAYS_INLINE void
scales8(float scale[8], float d, __m128i v, bool is_signed)
{
    __m256i wide = is_signed ? _mm256_cvtepi8_epi32(v) : _mm256_cvtepu8_epi32(v);

    _mm256_storeu_ps(scale, _mm256_mul_ps(_mm256_set1_ps(d), _mm256_cvtepi32_ps(wide)));
}

static ALWAYS_INLINE void
scales16(float scale[16], float d, __m128i v, bool is_signed)
{
    scales8(scale, d, v, is_signed);
    scales8(scale + 8, d, _mm_srli_si128(v, 8), is_signed);
}

/* Returns fields of `mask` bits of each byte, shifted right by `shift`. */
static ALWAYS_INLINE __m256i
field(__m256i v, int shift, int mask)
{
    return _mm256_and_si256(_mm256_srli_epi16(v, shift), _mm256_set1_epi8((char)mask));
}

/* Moves bit `from` of each byte to bit `to`. */
static ALWAYS_INLINE __m256i
bit(__m256i v, int from, int to)
{
    if (from > to)
        v = _mm256_srli_epi16(v, from - to);
    else
        v = _mm256_slli_epi16(v, to - from);
    return _mm256_and_si256(v, _mm256_set1_epi8((char)(1 << to)));
}

/* Expands 32 bits, the lowest first, to bytes 0 or 0xFF. */
static ALWAYS_INLINE __m256i
bits32(uint32_t bits)
{
    const __m256i spread = _mm256_set_epi8(3, 3, 3, 3, 3, 3, 3, 3, 2, 2, 2, 2, 2, 2, 2, 2,
        1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0);
    const __m256i one = _mm256_set1_epi64x((long long)0x8040201008040201);
    __m256i v = _mm256_shuffle_epi8(_mm256_set1_epi32((int)bits), spread);

    return _mm256_cmpeq_epi8(_mm256_and_si256(v, one), one);
}

/* Returns the 32 nibbles of 16 bytes: all low ones, then all high ones. */
static ALWAYS_INLINE __m256i
nibbles32(const uint8_t *qs)
{
    __m128i v = load128(qs);

    return _mm256_and_si256(_mm256_set_m128i(_mm_srli_epi16(v, 4), v), _mm256_set1_epi8(15));
}

/* Looks up each nibble in a table of 16. */
static ALWAYS_INLINE __m256i
pick16(const int8_t table[16], __m256i nibbles)
{
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(load128((const uint8_t *)table)), nibbles);
}

#endif
