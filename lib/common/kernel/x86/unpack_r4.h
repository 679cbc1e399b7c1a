/* unpack_r4: the interleaved types of ik_llama.cpp, and the types with a trellis. Layouts: kernel/ref, iqk_interleaved.c and
 * trellis.c. c counts runs of 32 codes; u->row is the row to unpack. */
#ifndef KERNEL_X86_UNPACK_R4_H
#define KERNEL_X86_UNPACK_R4_H

#include "kernel/x86/unpack_iqk.h"

/* Four bytes at `a` four times, then four bytes at `b`: for the halves of a run */
static ALWAYS_INLINE __m256i
fours(const uint8_t *a, const uint8_t *b)
{
    return _mm256_set_m128i(_mm_set1_epi32((int)load_le32(b)), _mm_set1_epi32((int)load_le32(a)));
}

static ALWAYS_INLINE __m256i
shifted_right(__m256i v, int a, int b, int c, int d, int then, int mask)
{
    const __m256i counts = _mm256_set_epi32(d + then, c + then, b + then, a + then, d, c, b, a);

    return _mm256_and_si256(_mm256_srlv_epi32(v, counts), _mm256_set1_epi8((char)mask));
}

/* Codes of 2 bits of run c */
static ALWAYS_INLINE __m256i
r4_codes2(const uint8_t *qs, int c, unsigned row)
{
    const uint8_t *p = qs + 32 * c + 4 * row;

    return shifted_right(fours(p, p + 16), 0, 2, 4, 6, 0, 3);
}

/* Codes of 4 bits */
static ALWAYS_INLINE __m256i
r4_codes4(const uint8_t *qs, int c, unsigned row)
{
    const uint8_t *p = qs + 64 * c + 4 * row;
    __m256i v = _mm256_blend_epi32(fours(p, p + 16), fours(p + 32, p + 48), 0xAA);

    return shifted_right(v, 0, 0, 4, 4, 0, 15);
}

/* Bit 4 of codes of 5 bits, as 0 or 0xFF */
static ALWAYS_INLINE __m256i
r4_bit4(const uint8_t *qh, int c, unsigned row)
{
    const uint8_t *p = qh + 16 * c + 4 * row;

    return mask_of_bit(shifted_right(fours(p, p), 0, 4, 1, 5, 2, 1), 0);
}

/* Byte 4k + row of p, for k of 0 to 7, as eight bytes */
static ALWAYS_INLINE uint64_t
r4_bytes(const uint8_t *p, unsigned row)
{
    __m256i v = _mm256_srl_epi32(load256(p), _mm_cvtsi32_si128((int)(8 * row)));

    v = _mm256_and_si256(v, _mm256_set1_epi32(0xFF));
    __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    return (uint64_t)_mm_cvtsi128_si64(_mm_packus_epi16(words, words));
}

/* Nibble 4g + row of 64, the low ones of 32 bytes first, for each group g */
static ALWAYS_INLINE __m128i
r4_nibbles(const uint8_t *p, unsigned row)
{
    uint64_t v = r4_bytes(p, row);

    return _mm_and_si128(_mm_set_epi64x((long long)(v >> 4), (long long)v), _mm_set1_epi8(15));
}

/* One bit for each group: bit 2r + t of the result is bit r of p[row + 4t] */
static ALWAYS_INLINE unsigned
r4_bits(const uint8_t *p, unsigned row)
{
    unsigned x = p[row] | (unsigned)p[4 + row] << 16;

    /* moves each bit to every second place, in both halves */
    x = (x | x << 4) & 0x0F0F0F0F;
    x = (x | x << 2) & 0x33333333;
    x = (x | x << 1) & 0x55555555;
    return (x | x >> 15) & 0xFFFF;
}

/* Multiplies the scales of groups of 16 by the factor of the row, at 2 * row. */
static ALWAYS_INLINE bool
r4_scales(struct block_unpacked *u, const uint8_t *src, __m128i s)
{
    scales16(u->scale, half_at(src + 2 * u->row), s, true);
    return half_finite(src + 2 * u->row);
}

static ALWAYS_INLINE bool
iq2_k_r4_unpack(struct block_unpacked *u, const uint8_t *src)
{
    unsigned x = r4_bits(src + 8, u->row);

    for (int c = 0; c < 8; c++)
        put(u, c, _mm256_add_epi8(pick_few(iqk_levels2, 4, r4_codes2(src + 48, c, u->row)), second16(x, c, IQK_SECOND2)));
    return r4_scales(u, src, _mm_sub_epi8(r4_nibbles(src + 16, u->row), _mm_set1_epi8(8)));
}

static ALWAYS_INLINE bool
iq3_k_r4_unpack(struct block_unpacked *u, const uint8_t *src)
{
    unsigned x = r4_bits(src + 8, u->row);

    for (int c = 0; c < 8; c++) {
        const uint8_t *p = src + 312 + 16 * c + 4 * u->row;
        __m256i high = _mm256_slli_epi16(shifted_right(fours(p, p), 0, 1, 2, 3, 4, 1), 2);
        __m256i codes = _mm256_or_si256(r4_codes2(src + 56, c, u->row), high);

        put(u, c, _mm256_add_epi8(pick_few(iqk_levels3, 8, codes), second16(x, c, IQK_SECOND3)));
    }
    __m128i s = odd(r4_nibbles(src + 24, u->row)), negative = _mm256_castsi256_si128(bits32(r4_bits(src + 16, u->row)));

    return r4_scales(u, src, _mm_sub_epi8(_mm_xor_si128(s, negative), negative));
}

/* The scales of IQ4_K_R4 and IQ5_K_R4 */
static ALWAYS_INLINE bool
r4_scales6(struct block_unpacked *u, const uint8_t *src)
{
    const __m128i counts = _mm_set_epi32(6, 4, 2, 0), two = _mm_set1_epi8(3);
    uint32_t high = (uint32_t)r4_bytes(src + 16, u->row);       /* of four groups each */
    __m128i v = _mm_and_si128(_mm_srlv_epi32(_mm_set1_epi32((int)high), counts), two);

    v = _mm_or_si128(r4_nibbles(src + 32, u->row), _mm_slli_epi16(v, 4));
    return r4_scales(u, src, _mm_sub_epi8(v, _mm_set1_epi8(32)));
}

static ALWAYS_INLINE bool
iq4_k_r4_unpack(struct block_unpacked *u, const uint8_t *src)
{
    unsigned x = r4_bits(src + 8, u->row);

    for (int c = 0; c < 8; c++)
        put(u, c, _mm256_add_epi8(pick16(iq4_levels, r4_codes4(src + 64, c, u->row)), second16(x, c, IQK_SECOND4)));
    return r4_scales6(u, src);
}

static ALWAYS_INLINE bool
iq5_k_r4_unpack(struct block_unpacked *u, const uint8_t *src)
{
    unsigned x = r4_bits(src + 8, u->row);

    for (int c = 0; c < 8; c++) {
        __m256i v = pick32_levels(iqk_levels5, r4_codes4(src + 64, c, u->row), r4_bit4(src + 576, c, u->row));

        put(u, c, _mm256_add_epi8(v, second16(x, c, IQK_SECOND5)));
    }
    return r4_scales6(u, src);
}

static ALWAYS_INLINE bool
iq4_ks_r4_unpack(struct block_unpacked *u, const uint8_t *src)
{
    uint64_t sc = r4_bytes(src, u->row);

    for (int c = 0; c < 8; c++)
        put(u, c, _mm256_add_epi8(pick16(iq4_levels, r4_codes4(src + 32, c, u->row)),
            second32((unsigned)(sc >> 8 * c), IQK_SECOND4)));
    return byte_scales(u, sc);
}

static ALWAYS_INLINE bool
iq5_ks_r4_unpack(struct block_unpacked *u, const uint8_t *src)
{
    uint64_t sc = r4_bytes(src, u->row);

    for (int c = 0; c < 8; c++) {
        __m256i v = pick32_levels(iqk_levels5, r4_codes4(src + 32, c, u->row), r4_bit4(src + 544, c, u->row));

        put(u, c, _mm256_add_epi8(v, second32((unsigned)(sc >> 8 * c), IQK_SECOND5)));
    }
    return byte_scales(u, sc);
}

/* The values are 8 times as large and the scale an eighth, as in unpack_iq.h. */
static ALWAYS_INLINE bool
iq1_s_r4_unpack(struct block_unpacked *u, const uint8_t *src)
{
    const int8_t (*grid)[8] = iq_grids.iq1s;
    const uint8_t *low = src + u->row;
    unsigned h = load_le16(src + 16 + 2 * u->row);
    __m256i v = entries4(grid[low[0] | (h << 8 & 0x700)], grid[low[4] | (h << 5 & 0x700)],
        grid[low[8] | (h << 2 & 0x700)], grid[low[12] | (h >> 1 & 0x700)]);

    put(u, 0, shifted(v, _mm256_set1_epi8((char)-(int)(h >> 15))));
    u->scale[0] = u->row_scale * (float)(2 * (h >> 12 & 7) + 1) * 0.125f;
    return row_finite(u);
}

static ALWAYS_INLINE bool
iq1_m_r4_unpack(struct block_unpacked *u, const uint8_t *src)
{
    const __m256i delta = _mm256_set_epi64x((long long)0x8000800080008000, 0x0800080008000800, 0x0080008000800080,
        0x0008000800080008);
    const int8_t (*grid)[8] = iq_grids.iq1s;
    const uint8_t *low = src + u->row;
    unsigned h = src[16 + u->row] | (unsigned)src[20 + u->row] << 8;
    __m256i v = entries4(grid[low[0] | (h << 8 & 0x700)], grid[low[4] | (h << 4 & 0x700)],
        grid[low[8] | (h & 0x700)], grid[low[12] | (h >> 4 & 0x700)]);
    __m256i minus = _mm256_and_si256(_mm256_set1_epi16((short)h), delta);

    put(u, 0, shifted(v, _mm256_cmpeq_epi16(minus, delta)));
    u->scale[0] = u->row_scale * (float)(src[24 + u->row] & 15) * 0.125f;
    u->scale[1] = u->row_scale * (float)(src[24 + u->row] >> 4) * 0.125f;
    return row_finite(u);
}

/* --- trellis */

/* Powers of the generator's factor: lane k has its power k + 1. */
#define KT_FACTOR 0xCBAC1FEDu
#define KT_2 (KT_FACTOR * KT_FACTOR)
#define KT_3 (KT_2 * KT_FACTOR)
#define KT_4 (KT_2 * KT_2)

static ALWAYS_INLINE __m256i
kt_powers(bool eight)
{
    uint32_t more = 1;
    if (eight)
        more = KT_4;

    return _mm256_set_epi32((int)(KT_4 * more), (int)(KT_3 * more), (int)(KT_2 * more), (int)(KT_FACTOR * more), (int)KT_4,
        (int)KT_3, (int)KT_2, (int)KT_FACTOR);
}

/* Returns the values, in 32-bit lanes, of states r. */
static ALWAYS_INLINE __m256i
kt_values(__m256i r)
{
    __m256i pairs = _mm256_maddubs_epi16(_mm256_and_si256(r, _mm256_set1_epi8(0x3F)), _mm256_set1_epi8(1));

    return _mm256_sub_epi32(_mm256_madd_epi16(pairs, _mm256_set1_epi16(1)), _mm256_set1_epi32(126));
}

/* Narrows four times eight lanes to 32 bytes, in order. */
static ALWAYS_INLINE __m256i
kt_narrow(const __m256i v[4])
{
    const __m256i order = _mm256_set_epi32(7, 3, 6, 2, 5, 1, 4, 0);
    __m256i words = _mm256_packs_epi16(_mm256_packs_epi32(v[0], v[1]), _mm256_packs_epi32(v[2], v[3]));

    return _mm256_permutevar8x32_epi32(words, order);
}

/* The values of four units of eight */
static ALWAYS_INLINE __m256i
kt_units(const uint32_t index[4])
{
    __m256i v[4];

    for (int i = 0; i < 4; i++)
        v[i] = kt_values(_mm256_mullo_epi32(_mm256_set1_epi32((int)(index[i] + 4096)), kt_powers(true)));
    return kt_narrow(v);
}

/* The scales of a level of 4 bits */
static ALWAYS_INLINE bool
level_scales(struct block_unpacked *u, uint64_t codes)
{
    __m128i s = _mm_shuffle_epi8(load128((const uint8_t *)iq4_levels), _mm_cvtsi64_si128((long long)codes));

    scales8(u->scale, u->row_scale, s, true);
    return row_finite(u);
}

static ALWAYS_INLINE bool
iq1_kt_unpack(struct block_unpacked *u, const uint8_t *src)
{
    const uint8_t *ql = src + 8, *qh = src + 40;

    for (unsigned c = 0; c < 8; c++) {
        uint32_t index[4];

        for (unsigned i = 0; i < 4; i++) {
            unsigned n = 4 * c + i;

            index[i] = ql[n] | (qh[n % 16] >> 4 * (n / 16) & 15u) << 8 | (src[c] >> (4 + i) & 1u) << 12;
        }
        put(u, (int)c, kt_units(index));
    }
    return level_scales(u, load_le64(src) & 0x0F0F0F0F0F0F0F0F);
}

static ALWAYS_INLINE bool
iq2_kt_unpack(struct block_unpacked *u, const uint8_t *src)
{
    for (int c = 0; c < 8; c++) {
        const uint8_t *p = src + 4 + 8 * c;

        put(u, c, kt_units((uint32_t[]){ load_le16(p), load_le16(p + 2), load_le16(p + 4), load_le16(p + 6) }));
    }
    return level_scales(u, nibbles8(src, true));
}

/* Absolute values; the caller applies the signs, because 0 has one too. */
static ALWAYS_INLINE bool
iq3_kt_unpack(struct block_unpacked *u, const uint8_t *src)
{
    iq2_kt_unpack(u, src);
    for (int c = 0; c < 8; c++)
        put(u, c, _mm256_abs_epi8(_mm256_load_si256((const __m256i *)(u->q + 32 * c))));
    return row_scales(u, nibbles8(src, true), 0);
}

static ALWAYS_INLINE bool
iq4_kt_unpack(struct block_unpacked *u, const uint8_t *src)
{
    const __m256i places = _mm256_set_epi32(29, 26, 23, 20, 17, 14, 11, 8), seven = _mm256_set1_epi32(7);
    const __m256i powers = kt_powers(false), next = _mm256_set1_epi32(2);
    uint64_t scales = 0;

    for (int c = 0; c < 8; c++) {
        uint32_t sh = load_le32(src + 4 * c);
        __m256i ql = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(src + 32 + 8 * c)));
        __m256i qh = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(src + 96 + 8 * (c % 4))));
        __m256i top = _mm256_and_si256(_mm256_srlv_epi32(_mm256_set1_epi32((int)sh), places), seven);
        __m256i index = _mm256_or_si256(ql, _mm256_slli_epi32(field(qh, 4 * (c / 4), 15), 8)), v[4];
        __m256i lanes = _mm256_set_epi32(1, 1, 1, 1, 0, 0, 0, 0);

        index = _mm256_or_si256(index, _mm256_slli_epi32(top, 12));
        index = _mm256_add_epi32(index, _mm256_set1_epi32((int)(4096 + ((sh & 1) << 15))));
        for (int i = 0; i < 4; i++, lanes = _mm256_add_epi32(lanes, next))
            v[i] = kt_values(_mm256_mullo_epi32(_mm256_permutevar8x32_epi32(index, lanes), powers));
        put(u, c, kt_narrow(v));
        scales |= (uint64_t)(sh >> 1 & 127) << 8 * c;
    }
    return row_scales(u, scales, 64);
}

#endif
