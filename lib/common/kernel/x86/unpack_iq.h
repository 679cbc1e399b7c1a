/* unpack_iq: the codebook types of ggml. A codebook entry is 8 (or 4) bytes that stand for themselves; their
 * signs are put on 32 at a time. */
#ifndef KERNEL_X86_UNPACK_IQ_H
#define KERNEL_X86_UNPACK_IQ_H

#include "kernel/iq_grids.h"
#include "kernel/x86/unpack.h"

/* Four entries of 8 values; eight of 4. */
static ALWAYS_INLINE __m256i
entries4(const int8_t *a, const int8_t *b, const int8_t *c, const int8_t *d)
{
    return _mm256_set_epi64x((long long)load64(d), (long long)load64(c), (long long)load64(b), (long long)load64(a));
}

static ALWAYS_INLINE uint64_t
pair8(const int8_t *a, const int8_t *b)
{
    return load_le32((const uint8_t *)a) | (uint64_t)load_le32((const uint8_t *)b) << 32;
}

/* Values with the sign bits set negated. No value is 0, so no sign of zero is lost. */
static ALWAYS_INLINE __m256i
negate(__m256i values, uint32_t signs)
{
    __m256i minus = bits32(signs);

    return _mm256_sub_epi8(_mm256_xor_si256(values, minus), minus);
}

/* Four times seven signs, in bytes, each completed to eight with an even number of ones. */
static ALWAYS_INLINE uint32_t
even_signs(uint32_t signs)
{
    uint32_t parity = signs ^ signs >> 4;

    parity ^= parity >> 2;
    parity ^= parity >> 1;
    return signs | (parity & 0x01010101) << 7;
}

/* The four fields of seven bits of an IQ2_XXS or IQ3_XXS word, in bytes. */
static ALWAYS_INLINE uint32_t
sevens(uint32_t word)
{
    return (word & 0x7F) | (word << 1 & 0x7F00) | (word << 2 & 0x7F0000) | (word << 3 & 0x7F000000);
}

/* The nibbles of eight bytes, as 16 bytes, the low one of each first. */
static ALWAYS_INLINE __m128i
nibbles16(const uint8_t *p)
{
    __m128i v = _mm_loadl_epi64((const __m128i *)p);

    return _mm_and_si128(_mm_unpacklo_epi8(v, _mm_srli_epi16(v, 4)), _mm_set1_epi8(15));
}

/* d * (0.5 + s) * 0.25 = (d / 8) * (2s + 1), all exact */
static ALWAYS_INLINE __m128i
odd(__m128i s)
{
    return _mm_add_epi8(_mm_add_epi8(s, s), _mm_set1_epi8(1));
}

static ALWAYS_INLINE bool
iq2_xxs_unpack(struct unpacked *u, const uint8_t *src)
{
    const int8_t (*grid)[8] = iq_grids.iq2xxs;
    float d = half_at(src) * 0.125f;

    for (int c = 0; c < 8; c++) {
        const uint8_t *index = src + 2 + 8 * c;
        uint32_t word = load_le32(index + 4);
        __m256i v = entries4(grid[index[0]], grid[index[1]], grid[index[2]], grid[index[3]]);

        put(u, c, negate(v, even_signs(sevens(word))));
        u->scale[c] = d * (float)(int)(2 * (word >> 28) + 1);
    }
    return half_finite(src);
}

static ALWAYS_INLINE bool
iq2_xs_unpack(struct unpacked *u, const uint8_t *src)
{
    const int8_t (*grid)[8] = iq_grids.iq2xs;

    for (int c = 0; c < 8; c++) {
        uint64_t words = load_le64(src + 2 + 8 * c);        /* 4 times 7 signs, 9 bits of index */
        uint64_t signs = words >> 9 & 0x007F007F007F007F;
        __m256i v = entries4(grid[words & 511], grid[words >> 16 & 511], grid[words >> 32 & 511],
            grid[words >> 48 & 511]);

        signs = (signs | signs >> 8) & 0x0000FFFF0000FFFF;
        put(u, c, negate(v, even_signs((uint32_t)(signs | signs >> 16))));
    }
    scales16(u->scale, half_at(src) * 0.125f, odd(nibbles16(src + 66)), false);
    return half_finite(src);
}

static ALWAYS_INLINE bool
iq2_s_unpack(struct unpacked *u, const uint8_t *src)
{
    const int8_t (*grid)[8] = iq_grids.iq2s;

    for (int c = 0; c < 8; c++) {
        const uint8_t *low = src + 2 + 4 * c;
        unsigned high = src[66 + c];
        __m256i v = entries4(grid[low[0] | (high << 8 & 0x300)], grid[low[1] | (high << 6 & 0x300)],
            grid[low[2] | (high << 4 & 0x300)], grid[low[3] | (high << 2 & 0x300)]);

        put(u, c, negate(v, load_le32(src + 34 + 4 * c)));
    }
    scales16(u->scale, half_at(src) * 0.125f, odd(nibbles16(src + 74)), false);
    return half_finite(src);
}

static ALWAYS_INLINE bool
iq3_xxs_unpack(struct unpacked *u, const uint8_t *src)
{
    const int8_t (*grid)[4] = iq_grids.iq3xxs;
    float d = half_at(src) * 0.25f;         /* d * (0.5 + s) * 0.5 */

    for (int c = 0; c < 8; c++) {
        const uint8_t *index = src + 2 + 8 * c;
        uint32_t word = load_le32(src + 66 + 4 * c);
        __m256i v = _mm256_set_epi64x((long long)pair8(grid[index[6]], grid[index[7]]),
            (long long)pair8(grid[index[4]], grid[index[5]]), (long long)pair8(grid[index[2]], grid[index[3]]),
            (long long)pair8(grid[index[0]], grid[index[1]]));

        put(u, c, negate(v, even_signs(sevens(word))));
        u->scale[c] = d * (float)(int)(2 * (word >> 28) + 1);
    }
    return half_finite(src);
}

static ALWAYS_INLINE bool
iq3_s_unpack(struct unpacked *u, const uint8_t *src)
{
    const int8_t (*grid)[4] = iq_grids.iq3s;
    __m128i nibbles = nibbles16(src + 102);        /* scales are the last four of these eight bytes */

    for (int c = 0; c < 8; c++) {
        const uint8_t *low = src + 2 + 8 * c;
        unsigned high = src[66 + c];
        uint64_t four[4];

        for (int k = 0; k < 4; k++)
            four[k] = pair8(grid[low[2 * k] | (high << (8 - 2 * k) & 0x100)],
                grid[low[2 * k + 1] | (high << (7 - 2 * k) & 0x100)]);
        put(u, c, negate(_mm256_set_epi64x((long long)four[3], (long long)four[2], (long long)four[1],
            (long long)four[0]), load_le32(src + 74 + 4 * c)));
    }
    scales8(u->scale, half_at(src), odd(_mm_srli_si128(nibbles, 8)), false);
    return half_finite(src);
}

/* grid + 1/8 or - 1/8, times 8: the eighth goes into the scale, exactly. `minus`: 0xFF where it is -1/8. */
static ALWAYS_INLINE __m256i
shifted(__m256i values, __m256i minus)
{
    __m256i times8 = _mm256_and_si256(_mm256_slli_epi16(values, 3), _mm256_set1_epi8((char)0xF8));

    return _mm256_add_epi8(times8, _mm256_or_si256(minus, _mm256_set1_epi8(1)));
}

static ALWAYS_INLINE bool
iq1_s_unpack(struct unpacked *u, const uint8_t *src)
{
    const int8_t (*grid)[8] = iq_grids.iq1s;
    float d = half_at(src) * 0.125f;

    for (int c = 0; c < 8; c++) {
        const uint8_t *low = src + 2 + 4 * c;
        unsigned h = load_le16(src + 34 + 2 * c);
        __m256i v = entries4(grid[low[0] | (h << 8 & 0x700)], grid[low[1] | (h << 5 & 0x700)],
            grid[low[2] | (h << 2 & 0x700)], grid[low[3] | (h >> 1 & 0x700)]);

        put(u, c, shifted(v, _mm256_set1_epi8((char)-(int)(h >> 15))));
        u->scale[c] = d * (float)(int)(2 * (h >> 12 & 7) + 1);
    }
    return half_finite(src);
}

static ALWAYS_INLINE bool
iq1_m_unpack(struct unpacked *u, const uint8_t *src)
{
    const int8_t (*grid)[8] = iq_grids.iq1s;
    const uint8_t *words = src + 48;
    uint8_t half[2] = { (uint8_t)(words[1] >> 4 | (words[3] & 0xF0)), (uint8_t)(words[5] >> 4 | (words[7] & 0xF0)) };
    float d = half_at(half) * 0.125f;

    for (int c = 0; c < 8; c++) {
        const uint8_t *low = src + 4 * c;
        unsigned h = load_le16(src + 32 + 2 * c);           /* a nibble per group */
        unsigned scales = (unsigned)load_le16(words + c / 2 * 2) >> 6 * (c % 2);
        __m256i v = entries4(grid[low[0] | (h << 8 & 0x700)], grid[low[1] | (h << 4 & 0x700)],
            grid[low[2] | (h & 0x700)], grid[low[3] | (h >> 4 & 0x700)]);
        __m256i minus = _mm256_set_epi64x(-(long long)(h >> 15), -(long long)(h >> 11 & 1),
            -(long long)(h >> 7 & 1), -(long long)(h >> 3 & 1));

        put(u, c, shifted(v, minus));
        u->scale[2 * c] = d * (float)(int)(2 * (scales & 7) + 1);
        u->scale[2 * c + 1] = d * (float)(int)(2 * (scales >> 3 & 7) + 1);
    }
    return half_finite(half);
}

#endif
