/* unpack_iq: the codebook types of ggml. A codebook entry is 8 (or 4) bytes with the values themselves; their signs are
 * applied to 32 at a time. Entries are loaded one by one: a gather of four measured slower (IQ2_XXS and IQ2_XS to BF16, G
 * elements/s: 6.1 against 6.9, Zen 5), and the codebooks of 2 to 16 KiB are too large for permutes. */
#ifndef KERNEL_X86_UNPACK_IQ_H
#define KERNEL_X86_UNPACK_IQ_H

#include "kernel/iq_grids.h"
#include "kernel/x86/unpack.h"

/* Loads four entries of 8 values. */
static ALWAYS_INLINE __m256i
entries4(const int8_t *a, const int8_t *b, const int8_t *c, const int8_t *d)
{
    return _mm256_set_epi64x((long long)load64(d), (long long)load64(c), (long long)load64(b), (long long)load64(a));
}

/* Loads two entries of 4 values as one of 8. */
static ALWAYS_INLINE uint64_t
pair8(const int8_t *a, const int8_t *b)
{
    uint32_t low, high;

    memcpy(&low, a, sizeof low);
    memcpy(&high, b, sizeof high);
    return low | (uint64_t)high << 32;
}

/* Negates the values whose bit is set in the 32 bits at `signs`. No value is 0, so no sign of zero is lost. */
static ALWAYS_INLINE __m256i
negate(__m256i values, const uint8_t *signs)
{
    __m256i minus = bits32(load_le32(signs));

    return _mm256_sub_epi8(_mm256_xor_si256(values, minus), minus);
}

/* Completes 32 times seven signs, in bytes, to eight with an even number of ones. */
static ALWAYS_INLINE void
even_signs(uint8_t signs[32], __m256i sevens)
{
    const __m256i odd = _mm256_broadcastsi128_si256(_mm_set_epi8(0, -128, -128, 0, -128, 0, 0, -128,
        -128, 0, 0, -128, 0, -128, -128, 0));
    __m256i low = _mm256_shuffle_epi8(odd, _mm256_and_si256(sevens, _mm256_set1_epi8(15)));
    __m256i high = _mm256_shuffle_epi8(odd, field(sevens, 4, 15));

    _mm256_storeu_si256((__m256i *)signs, _mm256_or_si256(sevens, _mm256_xor_si256(low, high)));
}

/* Unpacks eight words as in IQ2_XXS and IQ3_XXS: four fields of seven signs, and a scale s in the top four bits. */
static ALWAYS_INLINE void
signs_and_scales(uint8_t signs[32], float scale[8], float d, __m256i words)
{
    __m256i sevens = _mm256_setzero_si256();
    __m256i s = _mm256_srli_epi32(words, 28);

    for (int k = 0; k < 4; k++) {
        __m256i moved = _mm256_slli_epi32(words, k);

        sevens = _mm256_or_si256(sevens, _mm256_and_si256(moved, _mm256_set1_epi32(0x7F << 8 * k)));
    }
    even_signs(signs, sevens);
    s = _mm256_add_epi32(_mm256_add_epi32(s, s), _mm256_set1_epi32(1));
    _mm256_storeu_ps(scale, _mm256_mul_ps(_mm256_cvtepi32_ps(s), _mm256_set1_ps(d)));
}

/* Unpacks the nibbles of eight bytes to 16 bytes, the low one of each first. */
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
iq2_xxs_unpack(struct block_unpacked *u, const uint8_t *src)
{
    const int8_t (*grid)[8] = iq_grids.iq2xxs;
    const __m256 a = _mm256_castsi256_ps(load256(src + 2)), b = _mm256_castsi256_ps(load256(src + 34));
    const __m256i second = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xDD));     /* of each record's two words */
    uint8_t signs[32];

    signs_and_scales(signs, u->scale, half_at(src) * 0.125f, _mm256_permute4x64_epi64(second, 0xD8));
    keep_in_memory(signs);
    for (int c = 0; c < 8; c++) {
        const uint8_t *index = src + 2 + 8 * c;

        put(u, c, negate(entries4(grid[index[0]], grid[index[1]], grid[index[2]], grid[index[3]]), signs + 4 * c));
    }
    return half_finite(src);
}

static ALWAYS_INLINE bool
iq2_xs_unpack(struct block_unpacked *u, const uint8_t *src)
{
    const int8_t (*grid)[8] = iq_grids.iq2xs;
    const uint8_t *qs = src + 2;            /* 7 signs, 9 bits of index */
    __m256i lower = _mm256_srli_epi16(load256(qs), 9), upper = _mm256_srli_epi16(load256(qs + 32), 9);
    uint8_t signs[32];

    even_signs(signs, _mm256_permute4x64_epi64(_mm256_packus_epi16(lower, upper), 0xD8));
    keep_in_memory(signs);
    for (int c = 0; c < 8; c++) {
        uint64_t words = load_le64(qs + 8 * c);

        put(u, c, negate(entries4(grid[words & 511], grid[words >> 16 & 511], grid[words >> 32 & 511],
            grid[words >> 48 & 511]), signs + 4 * c));
    }
    scales16(u->scale, half_at(src) * 0.125f, odd(nibbles16(src + 66)), false);
    return half_finite(src);
}

static ALWAYS_INLINE bool
iq2_s_unpack(struct block_unpacked *u, const uint8_t *src)
{
    const int8_t (*grid)[8] = iq_grids.iq2s;

    for (int c = 0; c < 8; c++) {
        const uint8_t *low = src + 2 + 4 * c;
        unsigned high = src[66 + c];
        __m256i v = entries4(grid[low[0] | (high << 8 & 0x300)], grid[low[1] | (high << 6 & 0x300)],
            grid[low[2] | (high << 4 & 0x300)], grid[low[3] | (high << 2 & 0x300)]);

        put(u, c, negate(v, src + 34 + 4 * c));
    }
    scales16(u->scale, half_at(src) * 0.125f, odd(nibbles16(src + 74)), false);
    return half_finite(src);
}

static ALWAYS_INLINE bool
iq3_xxs_unpack(struct block_unpacked *u, const uint8_t *src)
{
    const int8_t (*grid)[4] = iq_grids.iq3xxs;
    uint8_t signs[32];

    signs_and_scales(signs, u->scale, half_at(src) * 0.25f, load256(src + 66));     /* d * (0.5 + s) * 0.5 */
    keep_in_memory(signs);
    for (int c = 0; c < 8; c++) {
        const uint8_t *index = src + 2 + 8 * c;
        uint64_t two[4];

        for (int k = 0; k < 4; k++)
            two[k] = pair8(grid[index[2 * k]], grid[index[2 * k + 1]]);
        put(u, c, negate(_mm256_set_epi64x((long long)two[3], (long long)two[2], (long long)two[1],
            (long long)two[0]), signs + 4 * c));
    }
    return half_finite(src);
}

static ALWAYS_INLINE bool
iq3_s_unpack(struct block_unpacked *u, const uint8_t *src)
{
    const int8_t (*grid)[4] = iq_grids.iq3s;
    __m128i nibbles = nibbles16(src + 102);        /* the scales are the last four of these eight bytes */

    for (int c = 0; c < 8; c++) {
        const uint8_t *low = src + 2 + 8 * c;
        unsigned high = src[66 + c];
        uint64_t two[4];

        for (int k = 0; k < 4; k++)
            two[k] = pair8(grid[low[2 * k] | (high << (8 - 2 * k) & 0x100)],
                grid[low[2 * k + 1] | (high << (7 - 2 * k) & 0x100)]);
        put(u, c, negate(_mm256_set_epi64x((long long)two[3], (long long)two[2], (long long)two[1],
            (long long)two[0]), src + 74 + 4 * c));
    }
    scales8(u->scale, half_at(src), odd(_mm_srli_si128(nibbles, 8)), false);
    return half_finite(src);
}

/* Computes 8 times (grid + 1/8 or - 1/8); the scale is divided by 8, exactly. `minus` is 0xFF where it is -1/8. */
static ALWAYS_INLINE __m256i
shifted(__m256i values, __m256i minus)
{
    __m256i times8 = _mm256_and_si256(_mm256_slli_epi16(values, 3), _mm256_set1_epi8((char)0xF8));

    return _mm256_add_epi8(times8, _mm256_or_si256(minus, _mm256_set1_epi8(1)));
}

static ALWAYS_INLINE bool
iq1_s_unpack(struct block_unpacked *u, const uint8_t *src)
{
    const int8_t (*grid)[8] = iq_grids.iq1s;

    for (int c = 0; c < 8; c++) {
        const uint8_t *low = src + 2 + 4 * c;
        unsigned h = load_le16(src + 34 + 2 * c);
        __m256i v = entries4(grid[low[0] | (h << 8 & 0x700)], grid[low[1] | (h << 5 & 0x700)],
            grid[low[2] | (h << 2 & 0x700)], grid[low[3] | (h >> 1 & 0x700)]);

        put(u, c, shifted(v, _mm256_set1_epi8((char)-(int)(h >> 15))));
    }

    /* Returns 2s + 1 for s in bits 14 .. 12. */
    __m128i s = _mm_and_si128(_mm_srli_epi16(load128(src + 34), 11), _mm_set1_epi16(14));
    s = _mm_or_si128(s, _mm_set1_epi16(1));
    scales8(u->scale, half_at(src) * 0.125f, _mm_packus_epi16(s, s), false);
    return half_finite(src);
}

/* Unpacks the 16 scales of three bits, four in each of four words, as 2s + 1. */
static ALWAYS_INLINE __m128i
iq1_m_scales(const uint8_t *words)
{
    const __m256i four_times = _mm256_set_epi8(7, 6, 7, 6, 7, 6, 7, 6, 5, 4, 5, 4, 5, 4, 5, 4,
        3, 2, 3, 2, 3, 2, 3, 2, 1, 0, 1, 0, 1, 0, 1, 0);
    const __m256i up = _mm256_set1_epi64x(1LL << 52 | 1LL << 39 | 1LL << 26 | 1LL << 13);   /* to the top of a word */
    __m256i v = _mm256_shuffle_epi8(_mm256_set1_epi64x((long long)load_le64(words)), four_times);

    v = _mm256_srli_epi16(_mm256_mullo_epi16(v, up), 13);
    return odd(_mm_packus_epi16(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1)));
}

static ALWAYS_INLINE bool
iq1_m_unpack(struct block_unpacked *u, const uint8_t *src)
{
    const __m256i delta = _mm256_set_epi64x((long long)0x8000800080008000, 0x0800080008000800, 0x0080008000800080,
        0x0008000800080008);
    const int8_t (*grid)[8] = iq_grids.iq1s;
    const uint8_t *words = src + 48;
    uint8_t half[2] = { (uint8_t)(words[1] >> 4 | (words[3] & 0xF0)), (uint8_t)(words[5] >> 4 | (words[7] & 0xF0)) };

    for (int c = 0; c < 8; c++) {
        const uint8_t *low = src + 4 * c;
        unsigned h = load_le16(src + 32 + 2 * c);           /* one nibble per group */
        __m256i v = entries4(grid[low[0] | (h << 8 & 0x700)], grid[low[1] | (h << 4 & 0x700)],
            grid[low[2] | (h & 0x700)], grid[low[3] | (h >> 4 & 0x700)]);
        __m256i minus = _mm256_and_si256(_mm256_set1_epi16((short)h), delta);

        put(u, c, shifted(v, _mm256_cmpeq_epi16(minus, delta)));
    }
    scales16(u->scale, half_at(half) * 0.125f, iq1_m_scales(words), false);
    return half_finite(half);
}

#endif
