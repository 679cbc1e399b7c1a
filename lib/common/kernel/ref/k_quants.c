/* k_quants: super-blocks of 256 elements. Groups of 16 or 32 elements have small integer scales (and mins), which one or two
 * binary16 factors of the super-block scale to floats. Byte offsets:
 *
 *     Q2_K     0 scales[16]     16 qs[64]        80 d:f16       82 dmin:f16
 *     Q3_K     0 hmask[32]      32 qs[64]        96 scales[12] 108 d:f16
 *     Q4_K     0 d:f16           2 dmin:f16       4 scales[12]  16 qs[128]
 *     Q5_K     0 d:f16           2 dmin:f16       4 scales[12]  16 qh[32]   48 qs[128]
 *     Q6_K     0 ql[128]       128 qh[64]       192 scales[16] 208 d:f16
 *     Q8_K     0 d:f32           4 qs[256]      260 bsums[32], not used
 *
 * y = (d * scale) * q - (dmin * min), in that order. A binary16 times integers of this size is exact, so the subtraction is
 * the only rounding; it comes last, on two finished products.
 *
 * Source: ggml-quants.c, dequantize_row_<type>.
 */
#include "kernel/blocks.h"

#include "dtype/ggml_block.h"
#include "dtype/half.h"
#include "kernel/nan.h"

#include <stdbool.h>

/* Two bits per element, 4 elements in a byte 32 apart; byte 32h + l of qs, h = 0 or 1, l < 32:
 *
 *     7 6        5 4        3 2        1 0
 *     128h+96+l  128h+64+l  128h+32+l  128h+l
 *
 * scales[g] = min << 4 | scale, for elements 16g .. 16g + 15. */
static void
q2_k_block(float *restrict y, const uint8_t *restrict scales, const uint8_t *restrict qs, float d, float dmin)
{
    for (int g = 0; g < 16; g++) {
        const uint8_t *q = qs + 32 * (g / 8) + 16 * (g % 2);
        int shift = 2 * (g % 8 / 2);
        float dl = d * (float)(scales[g] & 15);
        float ml = dmin * (float)(scales[g] >> 4);

        for (int l = 0; l < 16; l++)
            y[16 * g + l] = dl * (float)(q[l] >> shift & 3) - ml;
    }
}

void
q2_k_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    for (size_t i = 0; i < nblocks; i++, src += Q2_K_BYTES, y += QK_K) {
        q2_k_block(y, src, src + 16, half_load(src + 80), half_load(src + 82));
        nan_canonical_by(y, QK_K, src + 80);
        nan_canonical_by(y, QK_K, src + 82);
    }
}

/* The 16 scales of 6 bits, stored plus 32. Low nibbles first, then the upper two bits of all:
 *
 *     scales[j], j < 8         7 6 5 4: low bits of scale j + 8    3 2 1 0: low bits of scale j
 *     scales[8 + j], j < 4     7 6: scale j + 12   5 4: j + 8   3 2: j + 4   1 0: j (upper bits)
 */
static void
q3_k_scales(int8_t scale[16], const uint8_t *restrict scales)
{
    for (int g = 0; g < 16; g++) {
        int low = g < 8 ? scales[g] & 15 : scales[g - 8] >> 4;
        int high = scales[8 + g % 4] >> 2 * (g / 4) & 3;

        scale[g] = (int8_t)((low | high << 4) - 32);
    }
}

/* qs as in Q2_K; if bit e / 32 of hmask[e % 32] is set, 4 is not subtracted: q = -4 .. 3. */
static void
q3_k_block(float *restrict y, const uint8_t *restrict hmask, const uint8_t *restrict qs,
    const uint8_t *restrict scales, float d)
{
    int8_t scale[16];

    q3_k_scales(scale, scales);
    for (int g = 0; g < 16; g++) {
        const uint8_t *q = qs + 32 * (g / 8) + 16 * (g % 2);
        const uint8_t *high = hmask + 16 * (g % 2);
        int shift = 2 * (g % 8 / 2);
        float dl = d * (float)scale[g];

        for (int l = 0; l < 16; l++)
            y[16 * g + l] = dl * (float)((q[l] >> shift & 3) + (high[l] >> g / 2 & 1) * 4 - 4);
    }
}

void
q3_k_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    for (size_t i = 0; i < nblocks; i++, src += Q3_K_BYTES, y += QK_K) {
        q3_k_block(y, src, src + 32, src + 96, half_load(src + 108));
        nan_canonical_by(y, QK_K, src + 108);
    }
}

/* Byte 32p + l of qs, p < 4, l < 32:  7 6 5 4: element 64p + 32 + l    3 2 1 0: element 64p + l
 * Scale and min j = e / 32. Q5_K: bit e / 32 of qh[e % 32] is bit 4 of element e. Q4_K has no qh. */
static ALWAYS_INLINE void
q45_k_block(float *restrict y, const uint8_t *restrict scales, const uint8_t *restrict qh,
    const uint8_t *restrict qs, float d, float dmin)
{
    uint8_t scale[8], min[8];

    blocks_k_scales(scale, min, scales);
    for (int j = 0; j < 8; j++, y += 32) {
        const uint8_t *q = qs + 32 * (j / 2);
        int shift = 4 * (j % 2);
        float dl = d * (float)scale[j];
        float ml = dmin * (float)min[j];

        for (int l = 0; l < 32; l++)
            y[l] = dl * (float)((q[l] >> shift & 15) | (qh ? (qh[l] >> j & 1) << 4 : 0)) - ml;
    }
}

static ALWAYS_INLINE void
q45_k_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks, const size_t nbytes)
{
    const bool fifth = nbytes == Q5_K_BYTES;

    for (size_t i = 0; i < nblocks; i++, src += nbytes, y += QK_K) {
        q45_k_block(y, src + 4, fifth ? src + 16 : NULL, src + (fifth ? 48 : 16), half_load(src), half_load(src + 2));
        nan_canonical_by(y, QK_K, src);
        nan_canonical_by(y, QK_K, src + 2);
    }
}

void
q4_k_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    q45_k_dequantize(y, src, nblocks, Q4_K_BYTES);
}

void
q5_k_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    q45_k_dequantize(y, src, nblocks, Q5_K_BYTES);
}

/* Halves h of 128 elements, quarters t of 32, l < 32; element 128h + 32t + l:
 *
 *     low nibble   t = 0, 2: low and high nibble of byte 64h + l of ql; t = 1, 3: of byte 64h + 32 + l
 *     upper bits   bits 2t .. of byte 32h + l of qh
 *
 * q = (low | upper << 4) - 32; one signed scale for 16 elements. */
static void
q6_k_block(float *restrict y, const uint8_t *restrict ql, const uint8_t *restrict qh,
    const uint8_t *restrict scales, float d)
{
    for (int g = 0; g < 16; g++, y += 16) {
        int h = g / 8, t = g % 8 / 2, half = g % 2;
        const uint8_t *low = ql + 64 * h + 32 * (t % 2) + 16 * half;
        const uint8_t *high = qh + 32 * h + 16 * half;
        int low_shift = 4 * (t / 2), high_shift = 2 * t;
        float dl = d * (float)(int8_t)scales[g];

        for (int l = 0; l < 16; l++)
            y[l] = dl * (float)(((low[l] >> low_shift & 15) | (high[l] >> high_shift & 3) << 4) - 32);
    }
}

void
q6_k_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    for (size_t i = 0; i < nblocks; i++, src += Q6_K_BYTES, y += QK_K) {
        q6_k_block(y, src, src + 128, src + 192, half_load(src + 208));
        nan_canonical_by(y, QK_K, src + 208);
    }
}

/* y[e] = d * q, the one type with a binary32 factor: this product is rounded. */
void
q8_k_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    for (size_t i = 0; i < nblocks; i++, src += Q8_K_BYTES, y += QK_K) {
        uint32_t scale = load_le32(src);
        bool finite = (scale & 0x7F800000u) != 0x7F800000u;
        const uint8_t *qs = src + 4;
        float d = float_of_bits(scale);

        for (int j = 0; j < QK_K; j++)
            y[j] = d * (float)(int8_t)qs[j];
        if (!finite)
            nan_canonical_all(y, QK_K);
    }
}
