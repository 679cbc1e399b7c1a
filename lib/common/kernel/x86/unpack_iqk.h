/* unpack_iqk: the types of ik_llama.cpp with nonuniform levels. Layouts: kernel/ref, iqk.c and iqk_rows.c. c counts runs of 32
 * codes. */
#ifndef KERNEL_X86_UNPACK_IQK_H
#define KERNEL_X86_UNPACK_IQK_H

#include "kernel/iqk.h"
#include "kernel/x86/unpack_iq.h"

/* --- levels */

/* Looks up codes of 2 or 3 bits in n levels. */
static ALWAYS_INLINE __m256i
pick_few(const int8_t *levels, int n, __m256i codes)
{
    int8_t table[16] = { 0 };

    memcpy(table, levels, (size_t)n);
    return pick16(table, codes);
}

/* Looks up codes of 5 bits: `high` has bit 4 of each as 0 or 0xFF. */
static ALWAYS_INLINE __m256i
pick32_levels(const int8_t levels[32], __m256i low, __m256i high)
{
    return _mm256_blendv_epi8(pick16(levels, low), pick16(levels + 16, low), high);
}

/* Moves bit `from` of each byte to all bits. */
static ALWAYS_INLINE __m256i
mask_of_bit(__m256i v, int from)
{
    const __m256i one = _mm256_set1_epi8((char)(1 << from));

    return _mm256_cmpeq_epi8(_mm256_and_si256(v, one), one);
}

/* What the second levels add for two groups of 16: `second` in the halves whose bit of x is set, for groups 2c and 2c + 1. */
static ALWAYS_INLINE __m256i
second16(unsigned x, int c, int second)
{
    return _mm256_set_m128i(_mm_set1_epi8((char)((int)(x >> (2 * c + 1) & 1) * second)),
        _mm_set1_epi8((char)((int)(x >> 2 * c & 1) * second)));
}

static ALWAYS_INLINE __m256i
second32(unsigned bit, int second)
{
    return _mm256_set1_epi8((char)((int)(bit & 1) * second));
}

/* Codes of 2 bits of run c, as in iqk_low2() */
static ALWAYS_INLINE __m256i
low2(const uint8_t *qs, int c)
{
    return field(load256(qs + 32 * (c / 4)), 2 * (c % 4), 3);
}

/* Codes of 4 bits, as in iqk_low4() with halves of 32 */
static ALWAYS_INLINE __m256i
low4(const uint8_t *qs, int c)
{
    return field(load256(qs + 32 * (c / 2)), 4 * (c % 2), 15);
}

/* --- groups of 16 */

static ALWAYS_INLINE bool
iq2_k_unpack(struct block_unpacked *u, const uint8_t *src)
{
    unsigned x = load_le16(src + 2);

    for (int c = 0; c < 8; c++)
        put(u, c, _mm256_add_epi8(pick_few(iqk_levels2, 4, low2(src + 12, c)), second16(x, c, IQK_SECOND2)));
    scales16(u->scale, half_at(src), _mm_sub_epi8(nibbles16(src + 4), _mm_set1_epi8(8)), true);
    return half_finite(src);
}

static ALWAYS_INLINE bool
iq3_k_unpack(struct block_unpacked *u, const uint8_t *src)
{
    unsigned x = load_le16(src + 2);
    __m128i negative = _mm256_castsi256_si128(bits32(load_le16(src + 4))), s = odd(nibbles16(src + 6));
    __m256i high = load256(src + 78);

    for (int c = 0; c < 8; c++) {
        __m256i codes = _mm256_or_si256(low2(src + 14, c), bit(high, c, 2));

        put(u, c, _mm256_add_epi8(pick_few(iqk_levels3, 8, codes), second16(x, c, IQK_SECOND3)));
    }
    s = _mm_sub_epi8(_mm_xor_si128(s, negative), negative);
    scales16(u->scale, half_at(src), s, true);
    return half_finite(src);
}

/* The scales of IQ4_K and IQ5_K: nibbles, and pairs of bits from the lowest of four bytes */
static ALWAYS_INLINE __m128i
iqk_scales6(const uint8_t *src)
{
    __m128i high = _mm_cvtepu8_epi32(_mm_cvtsi32_si128((int)load_le32(src + 4)));

    high = _mm_or_si128(high, _mm_slli_epi32(high, 6));
    high = _mm_and_si128(_mm_or_si128(high, _mm_slli_epi32(high, 12)), _mm_set1_epi8(3));
    return _mm_sub_epi8(_mm_or_si128(nibbles16(src + 8), _mm_slli_epi16(high, 4)), _mm_set1_epi8(32));
}

static ALWAYS_INLINE bool
iq4_k_unpack(struct block_unpacked *u, const uint8_t *src)
{
    unsigned x = load_le16(src + 2);

    for (int c = 0; c < 8; c++)
        put(u, c, _mm256_add_epi8(pick16(iq4_levels, nibbles32(src + 16 + 16 * c)), second16(x, c, IQK_SECOND4)));
    scales16(u->scale, half_at(src), iqk_scales6(src), true);
    return half_finite(src);
}

static ALWAYS_INLINE bool
iq5_k_unpack(struct block_unpacked *u, const uint8_t *src)
{
    unsigned x = load_le16(src + 2);
    __m256i high = load256(src + 144);

    for (int c = 0; c < 8; c++) {
        __m256i v = pick32_levels(iqk_levels5, low4(src + 16, c), mask_of_bit(high, c));

        put(u, c, _mm256_add_epi8(v, second16(x, c, IQK_SECOND5)));
    }
    scales16(u->scale, half_at(src), iqk_scales6(src), true);
    return half_finite(src);
}

/* --- groups of 32, with the factor in the row's prefix */

/* Returns true if no product of the row's factor and a scale overflows, so that no result is NaN. */
static ALWAYS_INLINE bool
row_finite(const struct block_unpacked *u)
{
    return (bits_of_float(u->row_scale) & 0x7F800000u) < 0x7B000000u;
}

/* Scales of eight bytes without bit 0, minus 127 */
static ALWAYS_INLINE bool
byte_scales(struct block_unpacked *u, uint64_t sc)
{
    __m128i s = _mm_and_si128(_mm_cvtsi64_si128((long long)sc), _mm_set1_epi8((char)254));

    scales8(u->scale, u->row_scale, _mm_sub_epi8(s, _mm_set1_epi8(127)), true);
    return row_finite(u);
}

static ALWAYS_INLINE bool
iq4_ks_unpack(struct block_unpacked *u, const uint8_t *src)
{
    for (int c = 0; c < 8; c++)
        put(u, c, _mm256_add_epi8(pick16(iq4_levels, nibbles32(src + 8 + 16 * c)), second32(src[c], IQK_SECOND4)));
    return byte_scales(u, load_le64(src));
}

static ALWAYS_INLINE bool
iq5_ks_unpack(struct block_unpacked *u, const uint8_t *src)
{
    __m256i high = load256(src + 136);

    for (int c = 0; c < 8; c++) {
        __m256i v = pick32_levels(iqk_levels5, low4(src + 8, c), mask_of_bit(high, c));

        put(u, c, _mm256_add_epi8(v, second32(src[c], IQK_SECOND5)));
    }
    return byte_scales(u, load_le64(src));
}

/* Bit 0 of each of the 32 words at `src`, four groups of eight */
static ALWAYS_INLINE uint32_t
low_bits(const uint8_t *src)
{
    __m256i a = _mm256_slli_epi16(load256(src), 15), b = _mm256_slli_epi16(load256(src + 32), 15);

    return (uint32_t)_mm256_movemask_epi8(_mm256_permute4x64_epi64(_mm256_packs_epi16(a, b), 0xD8));
}

static ALWAYS_INLINE bool
iq4_kss_unpack(struct block_unpacked *u, const uint8_t *src)
{
    uint64_t sc = low_bits(src) | (uint64_t)low_bits(src + 64) << 32;
    uint8_t qs[QK_K / 2];

    for (int i = 0; i < 4; i++) {
        __m256i gray = _mm256_and_si256(load256(src + 32 * i), _mm256_set1_epi16((short)0xFFFE));

        _mm256_storeu_si256((__m256i *)(qs + 32 * i), _mm256_xor_si256(gray, _mm256_srli_epi16(gray, 1)));
    }
    keep_in_memory(qs);
    for (int c = 0; c < 8; c++)
        put(u, c, _mm256_add_epi8(pick16(iq4_levels, nibbles32(qs + 16 * c)),
            second32((unsigned)(sc >> 8 * c), IQK_SECOND4)));
    return byte_scales(u, sc);
}

/* Returns the nibbles of four bytes as eight bytes: in order, or all low ones first. */
static ALWAYS_INLINE uint64_t
nibbles8(const uint8_t *p, bool low_first)
{
    uint64_t v = load_le32(p);

    if (low_first)
        return (v & 0x0F0F0F0F) | (v >> 4 & 0x0F0F0F0F) << 32;
    v = (v | v << 16) & 0x0000FFFF0000FFFF;
    v = (v | v << 8) & 0x00FF00FF00FF00FF;
    return (v | v << 4) & 0x0F0F0F0F0F0F0F0F;
}

/* Returns fields of `bits` bits, 1 or 2, as eight bytes. */
static ALWAYS_INLINE uint64_t
fields8(uint64_t v, int bits)
{
    v = (v | v << (32 - 4 * bits)) & (bits == 1 ? 0x0000000F0000000F : 0x000000FF000000FF);
    v = (v | v << (16 - 2 * bits)) & (bits == 1 ? 0x0003000300030003 : 0x000F000F000F000F);
    return (v | v << (8 - bits)) & (bits == 1 ? 0x0101010101010101 : 0x0303030303030303);
}

/* scale = row's factor * (v - minus), for eight bytes */
static ALWAYS_INLINE bool
row_scales(struct block_unpacked *u, uint64_t v, int minus)
{
    scales8(u->scale, u->row_scale, _mm_sub_epi8(_mm_cvtsi64_si128((long long)v), _mm_set1_epi8((char)minus)), true);
    return row_finite(u);
}

static ALWAYS_INLINE bool
iq2_ks_unpack(struct block_unpacked *u, const uint8_t *src)
{
    unsigned x = load_le16(src);

    for (int c = 0; c < 8; c++)
        put(u, c, _mm256_add_epi8(pick_few(iqk_levels2, 4, low2(src + 6, c)), second32(x >> c, IQK_SECOND2)));
    return row_scales(u, nibbles8(src + 2, false) | fields8(x >> 8, 1) << 4, 16);
}

static ALWAYS_INLINE bool
iq3_ks_unpack(struct block_unpacked *u, const uint8_t *src)
{
    unsigned x = load_le16(src);
    __m256i high = load256(src + 70);

    for (int c = 0; c < 8; c++) {
        __m256i codes = _mm256_or_si256(low2(src + 6, c), bit(high, c, 2));

        put(u, c, _mm256_add_epi8(pick_few(iqk_levels3, 8, codes), second32(x >> (8 + c), IQK_SECOND3)));
    }
    return row_scales(u, nibbles8(src + 2, true) | fields8(x & 255, 1) << 4, 16);
}

/* 16 codes of 5 bits become the first levels of 16 pairs and the second ones. */
static ALWAYS_INLINE bool
iq2_kl_unpack(struct block_unpacked *u, const uint8_t *src)
{
    __m128i high = load128(src + 70);

    for (int c = 0; c < 8; c++) {
        __m128i low = load128(src + 6 + 16 * (c / 2)), bits = _mm_set1_epi8((char)(1 << c));
        low = _mm_and_si128(_mm_srli_epi16(low, 4 * (c % 2)), _mm_set1_epi8(15));
        __m128i upper = _mm_cmpeq_epi8(_mm_and_si128(high, bits), bits), v[2];

        for (int i = 0; i < 2; i++)
            v[i] = _mm_blendv_epi8(_mm_shuffle_epi8(load128((const uint8_t *)iqk_pairs[i]), low),
                _mm_shuffle_epi8(load128((const uint8_t *)iqk_pairs[i] + 16), low), upper);
        put(u, c, _mm256_set_m128i(_mm_unpackhi_epi8(v[0], v[1]), _mm_unpacklo_epi8(v[0], v[1])));
    }
    return row_scales(u, nibbles8(src + 2, true) | fields8(load_le16(src), 2) << 4, 32);
}

#endif
