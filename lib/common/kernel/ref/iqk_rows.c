/* iqk_rows: super-blocks of 8 groups of 32 elements. The factor d is not in the block, but in the row's prefix. Byte offsets:
 *
 *     IQ4_KS    0 sc[8]              8 qs[128]
 *     IQ5_KS    0 sc[8]              8 qs[128]   136 qh[32]
 *     IQ2_KS    0 x:u16   2 sc[4]    6 qs[64]
 *     IQ3_KS    0 x:u16   2 sc[4]    6 qs[64]     70 qh[32]
 *     IQ2_KL    0 x:u16   2 sc[4]    6 qs[64]     70 qh[16]
 *     IQ4_KSS   0 eight u16 for each group
 *
 * Scale s of group g, and the bit that selects the second levels:
 *
 *     IQ4_KS, IQ5_KS   sc[g] without bit 0, minus 127                            bit 0 of sc[g]
 *     IQ2_KS           nibble g of sc, bit 4 in bit 8 + g of x; minus 16         bit g of x
 *     IQ3_KS           nibble g / 4 of sc[g % 4], bit 4 in bit g of x; minus 16  bit 8 + g of x
 *     IQ2_KL           nibble g / 4 of sc[g % 4], bits 4 and 5 in bits 2g and 2g + 1 of x; minus 32
 *     IQ4_KSS          bit 0 of the eight words: s like IQ4_KS                   bit 0 of the first word
 *
 * y = (d * s) * level, each product rounded. kernel/iqk.h gives the places of the codes. Source: ik_llama.cpp,
 * iqk_quantize.cpp, dequantize_row_<type>.
 */
#include "kernel/iqk.h"

enum { GROUP = 32, GROUPS = QK_K / GROUP };

/* y = (d * (sc[g] & 254 - 127)) * level */
static inline void
groups_of_bytes(float *restrict y, const uint8_t *restrict q, float d, const uint8_t *sc, const int8_t *levels, int second)
{
    for (int g = 0; g < GROUPS; g++)
        iqk_group(y + GROUP * g, q + GROUP * g, GROUP, d * (float)((sc[g] & 254) - 127), iqk_table(levels, second, sc[g] & 1));
}

void
iq4_ks_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks, const struct kernel_row *at)
{
    for (size_t i = 0; i < nblocks; i++, src += IQ4_KS_BYTES, y += QK_K) {
        uint8_t q[QK_K];

        iqk_low4(q, src + 8, 16);
        groups_of_bytes(y, q, at->scale, src, iq4_levels, IQK_SECOND4);
    }
}

void
iq5_ks_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks, const struct kernel_row *at)
{
    for (size_t i = 0; i < nblocks; i++, src += IQ5_KS_BYTES, y += QK_K) {
        uint8_t q[QK_K];

        iqk_low4(q, src + 8, 32);
        iqk_high1(q, src + 136, 4);
        groups_of_bytes(y, q, at->scale, src, iqk_levels5, IQK_SECOND5);
    }
}

/* The words, without bit 0 and each combined with itself shifted right by one, are 16 bytes of codes. */
void
iq4_kss_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks, const struct kernel_row *at)
{
    for (size_t i = 0; i < nblocks; i++, src += IQ4_KSS_BYTES, y += QK_K) {
        uint8_t qs[QK_K / 2], q[QK_K], sc[GROUPS] = { 0 };

        for (int w = 0; w < 8 * GROUPS; w++) {
            unsigned word = load_le16(src + 2 * w), gray = word & 0xFFFE;

            sc[w / 8] |= (uint8_t)((word & 1) << w % 8);
            gray ^= gray >> 1;
            qs[2 * w] = (uint8_t)gray;
            qs[2 * w + 1] = (uint8_t)(gray >> 8);
        }
        iqk_low4(q, qs, 16);
        groups_of_bytes(y, q, at->scale, sc, iq4_levels, IQK_SECOND4);
    }
}

void
iq2_ks_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks, const struct kernel_row *at)
{
    for (size_t i = 0; i < nblocks; i++, src += IQ2_KS_BYTES, y += QK_K) {
        unsigned x = load_le16(src);
        uint8_t q[QK_K];

        iqk_low2(q, src + 6);
        for (int g = 0; g < GROUPS; g++) {
            int s = (iqk_nibble(src + 2, g) | (int)(x >> (8 + g) & 1) << 4) - 16;

            iqk_group(y + GROUP * g, q + GROUP * g, GROUP, at->scale * (float)s,
                iqk_table(iqk_levels2, IQK_SECOND2, x >> g & 1));
        }
    }
}

void
iq3_ks_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks, const struct kernel_row *at)
{
    for (size_t i = 0; i < nblocks; i++, src += IQ3_KS_BYTES, y += QK_K) {
        unsigned x = load_le16(src);
        const uint8_t *sc = src + 2;
        uint8_t q[QK_K];

        iqk_low2(q, src + 6);
        iqk_high1(q, src + 70, 2);
        for (int g = 0; g < GROUPS; g++) {
            int s = ((sc[g % 4] >> 4 * (g / 4) & 15) | (int)(x >> g & 1) << 4) - 16;

            iqk_group(y + GROUP * g, q + GROUP * g, GROUP, at->scale * (float)s,
                iqk_table(iqk_levels3, IQK_SECOND3, x >> (8 + g) & 1));
        }
    }
}

const int8_t iqk_pairs[2][32] = {
    { -63, -63, -40, -40, -40, -40, -23, -23, -23, -23, -23, -10, -10, -10, -10, 1, 1, 1, 1, 1, 13, 13, 13, 13, 13,
        28, 28, 28, 28, 28, 47, 47 },
    { -23, 13, -63, -10, 13, 47, -40, -23, 1, 13, 28, -63, 1, 13, 47, -23, -10, 1, 13, 28, -40, -23, -10, 1, 13, -63,
        -23, 1, 28, 47, -23, 13 },
};

/* Pair j of group g: nibble g % 2 of qs[16 (g / 2) + j], and bit g of qh[j] */
void
iq2_kl_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks, const struct kernel_row *at)
{
    for (size_t i = 0; i < nblocks; i++, src += IQ2_KL_BYTES) {
        unsigned x = load_le16(src);
        const uint8_t *sc = src + 2, *qs = src + 6, *qh = src + 70;

        for (int g = 0; g < GROUPS; g++, y += GROUP) {
            int s = ((sc[g % 4] >> 4 * (g / 4) & 15) | (int)(x >> 2 * g & 3) << 4) - 32;
            float factor = at->scale * (float)s;

            for (int j = 0; j < GROUP / 2; j++) {
                int code = (qs[16 * (g / 2) + j] >> 4 * (g % 2) & 15) | (qh[j] >> g & 1) << 4;

                y[2 * j] = factor * (float)iqk_pairs[0][code];
                y[2 * j + 1] = factor * (float)iqk_pairs[1][code];
            }
            iqk_canonical(y, GROUP, factor);
        }
    }
}
