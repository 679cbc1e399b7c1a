/* unpack_q: the plain blocks of ggml, its 4-bit floats and its ternary types. */
#ifndef KERNEL_X86_UNPACK_Q_H
#define KERNEL_X86_UNPACK_Q_H

#include "kernel/x86/unpack.h"

static ALWAYS_INLINE bool
one_scale(struct block_unpacked *u, const uint8_t *d)
{
    u->scale[0] = half_at(d);
    return half_finite(d);
}

/* y = scale * q + m has the bits of scale * q - (-m). */
static ALWAYS_INLINE bool
scale_and_sum(struct block_unpacked *u, const uint8_t *d)
{
    u->min[0] = -half_at(d + 2);
    u->scale[0] = half_at(d);
    return half_finite(d) && half_finite(d + 2);
}

static ALWAYS_INLINE bool
q4_0_unpack(struct block_unpacked *u, const uint8_t *src)
{
    put(u, 0, _mm256_sub_epi8(nibbles32(src + 2), _mm256_set1_epi8(8)));
    return one_scale(u, src);
}

static ALWAYS_INLINE bool
q4_1_unpack(struct block_unpacked *u, const uint8_t *src)
{
    put(u, 0, nibbles32(src + 4));
    return scale_and_sum(u, src);
}

static ALWAYS_INLINE bool
q5_0_unpack(struct block_unpacked *u, const uint8_t *src)
{
    /* subtract 16 unless the fifth bit is set: the upper four bits become ones */
    __m256i clear = _mm256_andnot_si256(bits32(load_le32(src + 2)), _mm256_set1_epi8((char)0xF0));

    put(u, 0, _mm256_or_si256(nibbles32(src + 6), clear));
    return one_scale(u, src);
}

static ALWAYS_INLINE bool
q5_1_unpack(struct block_unpacked *u, const uint8_t *src)
{
    __m256i fifth = _mm256_and_si256(bits32(load_le32(src + 4)), _mm256_set1_epi8(16));

    put(u, 0, _mm256_or_si256(nibbles32(src + 8), fifth));
    return scale_and_sum(u, src);
}

static ALWAYS_INLINE bool
q8_0_unpack(struct block_unpacked *u, const uint8_t *src)
{
    u->codes = (const int8_t *)src + 2;
    return one_scale(u, src);
}

static ALWAYS_INLINE bool
q8_1_unpack(struct block_unpacked *u, const uint8_t *src)
{
    u->codes = (const int8_t *)src + 4;
    return one_scale(u, src);
}

static ALWAYS_INLINE bool
q1_0_unpack(struct block_unpacked *u, const uint8_t *src)
{
    for (int c = 0; c < Q1_0_ELEMS / 32; c++) {
        __m256i set = bits32(load_le32(src + 2 + 4 * c));

        /* set: 1; clear: -1 */
        put(u, c, _mm256_or_si256(_mm256_andnot_si256(set, _mm256_set1_epi8(-1)), _mm256_set1_epi8(1)));
    }
    return one_scale(u, src);
}

/* Expands the 32 pairs of bits in 8 bytes, lowest first, to bytes. */
static ALWAYS_INLINE __m256i
pairs32(const uint8_t *p)
{
    /* one byte in each 32-bit lane; copies shifted up by 6 and 12 put a pair at the bottom of every byte */
    __m256i v = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p));

    v = _mm256_or_si256(v, _mm256_slli_epi32(v, 6));
    v = _mm256_or_si256(v, _mm256_slli_epi32(v, 12));
    return _mm256_and_si256(v, _mm256_set1_epi8(3));
}

static ALWAYS_INLINE bool
q2_0_unpack(struct block_unpacked *u, const uint8_t *src)
{
    for (int c = 0; c < Q2_0_ELEMS / 32; c++)
        put(u, c, _mm256_sub_epi8(pairs32(src + 2 + 8 * c), _mm256_set1_epi8(1)));
    return one_scale(u, src);
}

static ALWAYS_INLINE bool
q6_0_unpack(struct block_unpacked *u, const uint8_t *src)
{
    __m256i high = _mm256_srlv_epi64(_mm256_set1_epi64x((long long)load_le64(src + 2)), _mm256_set_epi64x(6, 2, 4, 0));

    high = _mm256_slli_epi16(_mm256_and_si256(high, _mm256_set1_epi8(3)), 4);
    put(u, 0, _mm256_sub_epi8(_mm256_or_si256(nibbles32(src + 10), high), _mm256_set1_epi8(32)));
    return one_scale(u, src);
}

static ALWAYS_INLINE bool
pq2_0_unpack(struct block_unpacked *u, const uint8_t *src)
{
    for (int c = 0; c < PQ2_0_ELEMS / 32; c++)
        put(u, c, _mm256_sub_epi8(pairs32(src + 2 + 8 * c), _mm256_set1_epi8(1)));
    return one_scale(u, src);
}

static ALWAYS_INLINE bool
iq4_nl_unpack(struct block_unpacked *u, const uint8_t *src)
{
    put(u, 0, pick16(iq4_levels, nibbles32(src + 2)));
    return one_scale(u, src);
}

static ALWAYS_INLINE bool
mxfp4_unpack(struct block_unpacked *u, const uint8_t *src)
{
    put(u, 0, pick16(fp4_levels, nibbles32(src + 1)));
    u->scale[0] = mxfp4_scale(src[0]);
    return true;
}

/* Returns half of four E4M3 values without sign. 0x7F is 0, but 0xFF is 240. */
static ALWAYS_INLINE void
nvfp4_scales(float scale[4], const uint8_t *d)
{
    __m128i code = _mm_cvtepu8_epi32(_mm_cvtsi32_si128((int)load_le32(d)));
    __m128i zero = _mm_cmpeq_epi32(code, _mm_set1_epi32(0x7F));
    __m128i half = _mm_slli_epi32(_mm_and_si128(_mm_andnot_si128(zero, code), _mm_set1_epi32(0x7F)), 7);

    /* as a binary16 it is 2^-8 times the E4M3 value */
    half = _mm_packus_epi32(half, half);
    _mm_storeu_ps(scale, _mm_mul_ps(_mm_cvtph_ps(half), _mm_set1_ps(128)));
}

static ALWAYS_INLINE bool
nvfp4_unpack(struct block_unpacked *u, const uint8_t *src)
{
    for (int c = 0; c < NVFP4_ELEMS / 32; c++) {
        /* nibbles32() returns the low nibbles of two groups, then the high ones; a group is 8 low ones and 8 high ones */
        __m256i v = _mm256_permute4x64_epi64(nibbles32(src + 4 + 16 * c), 0xD8);

        put(u, c, pick16(fp4_levels, v));
    }
    nvfp4_scales(u->scale, src);
    return true;
}

/* y = (q - 1) * d for the 32 codes of two bits at `shift` of the bytes v */
static ALWAYS_INLINE __m256i
less_one(__m256i v, int shift)
{
    return _mm256_sub_epi8(field(v, shift, 3), _mm256_set1_epi8(1));
}

static ALWAYS_INLINE bool
tq2_0_unpack(struct block_unpacked *u, const uint8_t *src)
{
    for (int h = 0; h < 2; h++) {
        __m256i v = load256(src + 32 * h);

        for (int t = 0; t < 4; t++)
            put(u, 4 * h + t, less_one(v, 2 * t));
    }
    return one_scale(u, src + 64);
}

/* Returns the leading trit of bytes that are fractions of 256, minus 1: 0 below 256/3, 2 from 512/3 up. */
static ALWAYS_INLINE __m256i
leading_trit(__m256i v)
{
    __m256i one = _mm256_cmpeq_epi8(_mm256_max_epu8(v, _mm256_set1_epi8(86)), v);
    __m256i two = _mm256_cmpeq_epi8(_mm256_max_epu8(v, _mm256_set1_epi8((char)171)), v);

    return _mm256_sub_epi8(_mm256_sub_epi8(_mm256_set1_epi8(-1), one), two);
}

/* Multiplied by 3, the next trit leads. */
static ALWAYS_INLINE __m256i
times3(__m256i v)
{
    return _mm256_add_epi8(v, _mm256_add_epi8(v, v));
}

static ALWAYS_INLINE bool
tq1_0_unpack(struct block_unpacked *u, const uint8_t *src)
{
    __m256i v = load256(src);
    __m256i w = _mm256_castsi128_si256(load128(src + 32));
    __m256i x = _mm256_castsi128_si256(_mm_cvtsi32_si128((int)load_le32(src + 48)));

    for (int n = 0; n < 5; n++, v = times3(v))
        put(u, n, leading_trit(v));
    for (int n = 0; n < 5; n++, w = times3(w))
        _mm_store_si128((__m128i *)(u->q + 160 + 16 * n), _mm256_castsi256_si128(leading_trit(w)));
    for (int n = 0; n < 4; n++, x = times3(x)) {
        int four = _mm256_extract_epi32(leading_trit(x), 0);

        memcpy(u->q + 240 + 4 * n, &four, sizeof four);
    }
    return one_scale(u, src + 52);
}

static ALWAYS_INLINE bool
ptq1_0_unpack(struct block_unpacked *u, const uint8_t *src)
{
    __m256i v = _mm256_castsi128_si256(load128(src));
    __m256i w = _mm256_castsi128_si256(_mm_loadl_epi64((const __m128i *)(src + 16)));
    __m256i x = _mm256_castsi128_si256(_mm_cvtsi32_si128(load_le16(src + 24)));

    for (int n = 0; n < 5; n++, v = times3(v))
        _mm_store_si128((__m128i *)(u->q + 16 * n), _mm256_castsi256_si128(leading_trit(v)));
    for (int n = 0; n < 5; n++, w = times3(w))
        _mm_storel_epi64((__m128i *)(u->q + 80 + 8 * n), _mm256_castsi256_si128(leading_trit(w)));
    for (int n = 0; n < 4; n++, x = times3(x)) {
        int two = _mm256_extract_epi16(leading_trit(x), 0);

        memcpy(u->q + 120 + 2 * n, &two, 2);
    }
    return one_scale(u, src + 26);
}

#endif
