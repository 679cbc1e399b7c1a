/* unpack_k: the super-blocks of ggml, 256 elements, and IQ4_XS, which has the same structure. */
#ifndef KERNEL_X86_UNPACK_K_H
#define KERNEL_X86_UNPACK_K_H

#include "kernel/x86/unpack.h"

static ALWAYS_INLINE bool
q2_k_factors(struct block_unpacked *u, const uint8_t *src)
{
    __m128i scales = load128(src), low = _mm_set1_epi8(15);

    scales16(u->scale, half_at(src + 80), _mm_and_si128(scales, low), false);
    scales16(u->min, half_at(src + 82), _mm_and_si128(_mm_srli_epi16(scales, 4), low), false);
    return half_finite(src + 80) && half_finite(src + 82);
}

static ALWAYS_INLINE bool
q2_k_unpack(struct block_unpacked *u, const uint8_t *src)
{
    for (int h = 0; h < 2; h++) {
        __m256i v = load256(src + 16 + 32 * h);

        for (int t = 0; t < 4; t++)
            put(u, 4 * h + t, field(v, 2 * t, 3));
    }
    return q2_k_factors(u, src);
}

/* Unpacks the 16 signed scales of Q3_K: 8 bytes of nibbles, and 4 bytes with the upper two bits of four scales each. */
static ALWAYS_INLINE __m128i
q3_k_scales(const uint8_t *scales)
{
    const uint64_t nibble = 0x0F0F0F0F0F0F0F0F, pair = 0x0303030303030303;
    uint64_t low = load_le64(scales);
    uint64_t high = load_le32(scales + 8);

    high |= high >> 2 << 32;        /* shifted by one pair; bits that leak between bytes are masked */
    return _mm_sub_epi8(_mm_set_epi64x((long long)((low >> 4 & nibble) | (high >> 4 & pair) << 4),
        (long long)((low & nibble) | (high & pair) << 4)), _mm_set1_epi8(32));
}

static ALWAYS_INLINE bool
q3_k_factors(struct block_unpacked *u, const uint8_t *src)
{
    scales16(u->scale, half_at(src + 108), q3_k_scales(src + 96), true);
    return half_finite(src + 108);
}

static ALWAYS_INLINE bool
q3_k_unpack(struct block_unpacked *u, const uint8_t *src)
{
    __m256i mask = load256(src);

    for (int c = 0; c < 8; c++) {
        __m256i low = field(load256(src + 32 + c / 4 * 32), 2 * (c % 4), 3);

        put(u, c, _mm256_sub_epi8(_mm256_or_si256(low, bit(mask, c, 2)), _mm256_set1_epi8(4)));
    }
    return q3_k_factors(u, src);
}

/* Unpacks the eight scales of Q4_K and Q5_K, with the eight mins in the upper half. */
static ALWAYS_INLINE __m128i
k_scales(const uint8_t *scales)
{
    uint32_t a = load_le32(scales), b = load_le32(scales + 4), c = load_le32(scales + 8);
    uint32_t scale = (c & 0x0F0F0F0F) | (a >> 2 & 0x30303030);
    uint32_t min = (c >> 4 & 0x0F0F0F0F) | (b >> 2 & 0x30303030);

    return _mm_set_epi32((int)min, (int)(b & 0x3F3F3F3F), (int)scale, (int)(a & 0x3F3F3F3F));
}

static ALWAYS_INLINE bool
k_factors(struct block_unpacked *u, const uint8_t *src)
{
    __m128i scales = k_scales(src + 4);

    scales8(u->scale, half_at(src), scales, false);
    scales8(u->min, half_at(src + 2), _mm_srli_si128(scales, 8), false);
    return half_finite(src) && half_finite(src + 2);
}

static ALWAYS_INLINE bool
q4_k_unpack(struct block_unpacked *u, const uint8_t *src)
{
    for (int c = 0; c < 8; c++)
        put(u, c, field(load256(src + 16 + c / 2 * 32), 4 * (c % 2), 15));
    return k_factors(u, src);
}

static ALWAYS_INLINE bool
q5_k_unpack(struct block_unpacked *u, const uint8_t *src)
{
    __m256i high = load256(src + 16);

    for (int c = 0; c < 8; c++) {
        __m256i low = field(load256(src + 48 + c / 2 * 32), 4 * (c % 2), 15);

        put(u, c, _mm256_or_si256(low, bit(high, c, 4)));
    }
    return k_factors(u, src);
}

static ALWAYS_INLINE bool
q6_k_unpack(struct block_unpacked *u, const uint8_t *src)
{
    for (int h = 0; h < 2; h++) {
        __m256i high = load256(src + 128 + 32 * h);

        for (int t = 0; t < 4; t++) {
            __m256i low = field(load256(src + 64 * h + 32 * (t % 2)), 4 * (t / 2), 15);
            __m256i up = t < 2 ? _mm256_slli_epi16(high, 4 - 2 * t) : _mm256_srli_epi16(high, 2 * t - 4);
            __m256i q = _mm256_or_si256(low, _mm256_and_si256(up, _mm256_set1_epi8(0x30)));

            put(u, 4 * h + t, _mm256_sub_epi8(q, _mm256_set1_epi8(32)));
        }
    }
    scales16(u->scale, half_at(src + 208), load128(src + 192), true);
    return half_finite(src + 208);
}

static ALWAYS_INLINE bool
q8_k_unpack(struct block_unpacked *u, const uint8_t *src)
{
    u->codes = (const int8_t *)src + 4;
    u->scale[0] = float_of_bits(load_le32(src));
    return (load_le32(src) & 0x7F800000) != 0x7F800000;
}

/* Unpacks the eight signed scales of IQ4_XS: 4 bytes of nibbles, and a word with the upper two bits. */
static ALWAYS_INLINE __m128i
iq4_xs_scales(const uint8_t *src)
{
    uint64_t low = load_le32(src + 4), high = load_le16(src + 2);

    /* moves every second nibble and every pair of bits to its own byte: halve and spread three times */
    low = (low | low << 16) & 0x0000FFFF0000FFFF;
    low = (low | low << 8) & 0x00FF00FF00FF00FF;
    low = (low | low << 4) & 0x0F0F0F0F0F0F0F0F;
    high = (high | high << 24) & 0x000000FF000000FF;
    high = (high | high << 12) & 0x000F000F000F000F;
    high = (high | high << 6) & 0x0303030303030303;
    return _mm_sub_epi8(_mm_cvtsi64_si128((long long)(low | high << 4)), _mm_set1_epi8(32));
}

static ALWAYS_INLINE bool
iq4_xs_unpack(struct block_unpacked *u, const uint8_t *src)
{
    for (int c = 0; c < 8; c++)
        put(u, c, pick16(iq4_levels, nibbles32(src + 8 + 16 * c)));
    scales8(u->scale, half_at(src), iq4_xs_scales(src), true);
    return half_finite(src);
}

#endif
