/* iq_quants: groups of 8 (or 4) elements are entries of a codebook (kernel/iq_grids.h), with separate signs and scales.
 * Offsets in bytes; b < 8 counts runs of 32 elements, k < 32 groups of 8, u16 and u32 are little-endian.
 *
 *     IQ2_XXS    0 d:f16    2 eight records of 8 bytes
 *     IQ2_XS     0 d:f16    2 qs: 32 x u16    66 scales[8]
 *     IQ2_S      0 d:f16    2 qs[32]          34 signs[32]       66 qh[8]       74 scales[8]
 *     IQ3_XXS    0 d:f16    2 qs[64]          66 eight u32
 *     IQ3_S      0 d:f16    2 qs[64]          66 qh[8]           74 signs[32]  106 scales[4]
 *     IQ1_S      0 d:f16    2 qs[32]          34 qh: 8 x u16
 *     IQ1_M      0 qs[32]  32 qh[16]          48 scales: 4 x u16, d in their top nibbles
 *
 * All factors except the last product are exact: binary16 times small integers and quarters. Source: ggml-quants.c,
 * dequantize_row_<type>.
 */
#include "kernel/blocks.h"

#include "dtype/ggml_block.h"
#include "dtype/half.h"
#include "kernel/iq_grids.h"
#include "kernel/nan.h"

/* y[j] = (d * value[j]) * (bit j of signs ? -1 : 1), for n values; a zero keeps its sign */
static inline void
signed_group(float *restrict y, const int8_t *restrict value, unsigned signs, float d, int n)
{
    for (int j = 0; j < n; j++)
        y[j] = (float)(signs & 1u << j ? -value[j] : value[j]) * d;
}

/* Completes seven stored signs to eight: bit 7 makes the number of minus signs even. */
static inline unsigned
even_signs(unsigned seven)
{
    unsigned parity = seven ^ seven >> 4;

    parity ^= parity >> 2;
    parity ^= parity >> 1;
    return seven | (parity & 1) << 7;
}

/* One record per run of 32, two u32:
 *
 *     31 .. 24   23 .. 16   15 .. 8    7 .. 0           31 .. 28   27 .. 21   20 .. 14   13 .. 7    6 .. 0
 *     index 3    index 2    index 1    index 0          scale s    signs 3    signs 2    signs 1    signs 0
 *
 * y = ((d * (0.5 + s)) * 0.25) * value, signed */
void
iq2_xxs_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    for (size_t i = 0; i < nblocks; i++, src += IQ2_XXS_BYTES, y += QK_K) {
        float d = half_load(src);

        for (int b = 0; b < 8; b++) {
            const uint8_t *index = src + 2 + 8 * b;
            uint32_t aux = load_le32(index + 4);
            float db = d * (0.5f + (float)(aux >> 28)) * 0.25f;

            for (int k = 0; k < 4; k++)
                signed_group(y + 32 * b + 8 * k, iq_grids.iq2xxs[index[k]], even_signs(aux >> 7 * k & 127), db, 8);
        }
        nan_canonical_by(y, QK_K, src);
    }
}

/* Group k:    qs[k]   15 .. 9: signs   8 .. 0: index
 * Run b:      scales[b]   high nibble: scale of its last two groups   low nibble: of its first two
 * y = ((d * (0.5 + s)) * 0.25) * value, signed */
void
iq2_xs_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    for (size_t i = 0; i < nblocks; i++, src += IQ2_XS_BYTES, y += QK_K) {
        const uint8_t *qs = src + 2, *scales = src + 66;
        float d = half_load(src);

        for (int k = 0; k < 32; k++) {
            unsigned word = load_le16(qs + 2 * k);
            int s = scales[k / 4] >> 4 * (k % 4 / 2) & 15;
            float db = d * (0.5f + (float)s) * 0.25f;

            signed_group(y + 8 * k, iq_grids.iq2xs[word & 511], even_signs(word >> 9), db, 8);
        }
        nan_canonical_by(y, QK_K, src);
    }
}

/* Group k:    index = qs[k] | bits 2 (k % 4) .. of qh[k / 4] << 8;   signs[k], all eight
 * Scales and y as in IQ2_XS */
void
iq2_s_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    for (size_t i = 0; i < nblocks; i++, src += IQ2_S_BYTES, y += QK_K) {
        const uint8_t *qs = src + 2, *signs = src + 34, *qh = src + 66, *scales = src + 74;
        float d = half_load(src);

        for (int k = 0; k < 32; k++) {
            int index = qs[k] | (qh[k / 4] >> 2 * (k % 4) & 3) << 8;
            int s = scales[k / 4] >> 4 * (k % 4 / 2) & 15;
            float db = d * (0.5f + (float)s) * 0.25f;

            signed_group(y + 8 * k, iq_grids.iq2s[index], signs[k], db, 8);
        }
        nan_canonical_by(y, QK_K, src);
    }
}

/* Entries have four values: group k is qs[2k], qs[2k + 1]. Run b has a u32 as in IQ2_XXS: scale and signs.
 * y = ((d * (0.5 + s)) * 0.5) * value, signed */
void
iq3_xxs_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    for (size_t i = 0; i < nblocks; i++, src += IQ3_XXS_BYTES, y += QK_K) {
        const uint8_t *qs = src + 2;
        float d = half_load(src);

        for (int b = 0; b < 8; b++) {
            uint32_t aux = load_le32(src + 66 + 4 * b);
            float db = d * (0.5f + (float)(aux >> 28)) * 0.5f;

            for (int k = 0; k < 4; k++) {
                const uint8_t *index = qs + 8 * b + 2 * k;
                float *group = y + 32 * b + 8 * k;
                unsigned signs = even_signs(aux >> 7 * k & 127);

                signed_group(group, iq_grids.iq3xxs[index[0]], signs, db, 4);
                signed_group(group + 4, iq_grids.iq3xxs[index[1]], signs >> 4, db, 4);
            }
        }
        nan_canonical_by(y, QK_K, src);
    }
}

/* Four elements m < 64:   index = qs[m] | bit m % 8 of qh[m / 8] << 8;   signs as in IQ2_S
 * Run b:   s = nibble of scales[b / 2], the low one for even b
 * y = (d * (1 + 2s)) * value, signed */
void
iq3_s_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    for (size_t i = 0; i < nblocks; i++, src += IQ3_S_BYTES, y += QK_K) {
        const uint8_t *qs = src + 2, *qh = src + 66, *signs = src + 74, *scales = src + 106;
        float d = half_load(src);

        for (int m = 0; m < 64; m++) {
            int index = qs[m] | (qh[m / 8] >> m % 8 & 1) << 8;
            int s = scales[m / 16] >> 4 * (m / 8 % 2) & 15;
            float db = d * (float)(1 + 2 * s);

            signed_group(y + 4 * m, iq_grids.iq3s[index], (unsigned)signs[m / 2] >> 4 * (m % 2), db, 4);
        }
        nan_canonical_by(y, QK_K, src);
    }
}

/* y[j] = d * (value[j] + delta): the sum is exact */
static inline void
shifted_group(float *restrict y, const int8_t *restrict value, float delta, float d)
{
    for (int j = 0; j < 8; j++)
        y[j] = d * ((float)value[j] + delta);
}

/* Run b:   qh[b]   15: delta is -1/8, not 1/8   14 .. 12: s   11 .. 9, 8 .. 6, 5 .. 3, 2 .. 0: upper bits of
 * the indices of groups 3, 2, 1, 0; the lower eight are qs[4b + 3] .. qs[4b]
 * y = (d * (2s + 1)) * (value + delta) */
void
iq1_s_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    for (size_t i = 0; i < nblocks; i++, src += IQ1_S_BYTES, y += QK_K) {
        const uint8_t *qs = src + 2;
        float d = half_load(src);

        for (int b = 0; b < 8; b++) {
            unsigned h = load_le16(src + 34 + 2 * b);
            float dl = d * (float)(2 * (h >> 12 & 7) + 1);
            float delta = 0.125f;
            if (h & 0x8000)
                delta = -0.125f;

            for (int k = 0; k < 4; k++) {
                unsigned index = qs[4 * b + k] | (h >> 3 * k & 7) << 8;

                shifted_group(y + 32 * b + 8 * k, iq_grids.iq1s[index], delta, dl);
            }
        }
        nan_canonical_by(y, QK_K, src);
    }
}

/* Scale word w < 4 covers 64 elements, three bits for 16 of them, and keeps a nibble of d:
 *
 *     15 .. 12       11 .. 9     8 .. 6      5 .. 3      2 .. 0
 *     nibble w of d  s of 4w+3   s of 4w+2   s of 4w+1   s of 4w
 *
 * Group k:   nibble of qh[k / 2], the low one for even k   3: delta is -1/8, not 1/8   2 .. 0: upper bits of
 * the index, the lower eight are qs[k]
 * y = (d * (2s + 1)) * (value + delta) */
void
iq1_m_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    for (size_t i = 0; i < nblocks; i++, src += IQ1_M_BYTES, y += QK_K) {
        const uint8_t *qs = src, *qh = src + 32;
        unsigned word[4];
        uint16_t scale = 0;

        for (int w = 0; w < 4; w++) {
            word[w] = load_le16(src + 48 + 2 * w);
            scale = (uint16_t)(scale | word[w] >> 12 << 4 * w);
        }
        float d = half_to_float(scale);
        for (int k = 0; k < 32; k++) {
            unsigned high = (unsigned)qh[k / 2] >> 4 * (k % 2) & 15;
            unsigned s = word[k / 8] >> 3 * (k / 2 % 4) & 7;
            float delta = 0.125f;
            if (high & 8)
                delta = -0.125f;

            shifted_group(y + 8 * k, iq_grids.iq1s[qs[k] | (high & 7) << 8], delta, d * (float)(2 * s + 1));
        }
        if (!half_is_finite(scale))
            nan_canonical_all(y, QK_K);
    }
}
