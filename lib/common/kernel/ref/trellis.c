/* trellis: units of 8 elements (4 in IQ4_KT) are made by a generator from an index; groups of 32 have a scale, and the row's
 * factor d is in its prefix. Byte offsets:
 *
 *     IQ1_KT   0 sh[8]         8 ql[32]       40 qh[16]
 *     IQ2_KT   0 sc[4]         4 ql: 32 x u16
 *     IQ3_KT   0 sc[4]         4 ql: 32 x u16 68 qh[32]
 *     IQ4_KT   0 sh: 8 x u32  32 ql[64]       96 qh[32]
 *
 * Generator: r = r * 0xCBAC1FED mod 2^32 from r = index; its value is the sum of the low six bits of the four bytes of r, minus
 * 126. u counts the units of a block, g its groups. y = (d * scale) * value.
 *
 *              index                                                                 scale
 *     IQ1_KT   4096 + ql[u], nibble u / 16 of qh[u % 16] << 8, bit 4 + u % 4         level of the low nibble of sh[g]
 *              of sh[g] << 12
 *     IQ2_KT   4096 + ql[u]                                                          level of nibble g / 4 of sc[g % 4]
 *     IQ3_KT   4096 + ql[u]; absolute values, with the sign in bit g of qh[e % 32]   nibble g / 4 of sc[g % 4]
 *     IQ4_KT   4096 + ql[u], nibble u / 32 of qh[u % 32] << 8, three bits of sh[g]   bits 1 .. 7 of sh[g], minus 64
 *              from 8 + 3 (u % 8) << 12, bit 0 of sh[g] << 15
 *
 * The levels are the 4-bit levels. A value may be 0, so factors are checked after each group. Source: ik_llama.cpp,
 * iqk_quantize.cpp, dequantize_row_<type>, since June 2025; earlier files, which have no mark, used another generator.
 */
#include "kernel/iqk.h"

enum { GROUP = 32, UNIT = 8, UNIT4 = 4, BASE = 4096 };

/* Returns the next value of the generator. */
static inline int
next_value(uint32_t *r)
{
    *r *= 0xCBAC1FEDu;
    uint32_t low = *r & 0x3F3F3F3Fu;
    return (int)(low * 0x01010101u >> 24) - 126;       /* the sum of the bytes is below 256 */
}

/* y = factor * value, for the n elements of a unit */
static inline void
unit(float *y, uint32_t index, int n, float factor)
{
    for (int k = 0; k < n; k++)
        y[k] = factor * (float)next_value(&index);
}

/* Returns nibble g / 4 of sc[g % 4]. */
static inline int
split_nibble(const uint8_t *sc, int g)
{
    return sc[g % 4] >> 4 * (g / 4) & 15;
}

void
iq1_kt_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks, const struct kernel_row *at)
{
    for (size_t i = 0; i < nblocks; i++, src += IQ1_KT_BYTES, y += QK_K) {
        const uint8_t *sh = src, *ql = src + 8, *qh = src + 40;

        for (int u = 0; u < QK_K / UNIT; u++) {
            unsigned index = ql[u] | (qh[u % 16] >> 4 * (u / 16) & 15u) << 8 | (sh[u / 4] >> (4 + u % 4) & 1u) << 12;
            float factor = at->scale * (float)iq4_levels[sh[u / 4] & 15];

            unit(y + UNIT * u, BASE + index, UNIT, factor);
            iqk_canonical(y + UNIT * u, UNIT, factor);
        }
    }
}

void
iq2_kt_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks, const struct kernel_row *at)
{
    for (size_t i = 0; i < nblocks; i++, src += IQ2_KT_BYTES, y += QK_K)
        for (int u = 0; u < QK_K / UNIT; u++) {
            float factor = at->scale * (float)iq4_levels[split_nibble(src, u / 4)];

            unit(y + UNIT * u, BASE + (uint32_t)load_le16(src + 4 + 2 * u), UNIT, factor);
            iqk_canonical(y + UNIT * u, UNIT, factor);
        }
}

void
iq3_kt_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks, const struct kernel_row *at)
{
    for (size_t i = 0; i < nblocks; i++, src += IQ3_KT_BYTES, y += QK_K) {
        const uint8_t *qh = src + 68;

        for (int u = 0; u < QK_K / UNIT; u++) {
            int g = u / 4;
            float factor = at->scale * (float)split_nibble(src, g);
            uint32_t r = BASE + (uint32_t)load_le16(src + 4 + 2 * u);

            for (int e = UNIT * u; e < UNIT * (u + 1); e++) {
                int value = next_value(&r);
                float v = factor * (float)(value < 0 ? -value : value);

                if (qh[e % 32] >> g & 1)
                    y[e] = -v;
                else
                    y[e] = v;
            }
            iqk_canonical(y + UNIT * u, UNIT, factor);
        }
    }
}

void
iq4_kt_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks, const struct kernel_row *at)
{
    for (size_t i = 0; i < nblocks; i++, src += IQ4_KT_BYTES, y += QK_K) {
        const uint8_t *ql = src + 32, *qh = src + 96;

        for (int u = 0; u < QK_K / UNIT4; u++) {
            uint32_t sh = load_le32(src + u / 8 * 4);
            uint32_t index = ql[u] | (qh[u % 32] >> 4 * (u / 32) & 15u) << 8 | (sh >> (8 + 3 * (u % 8)) & 7) << 12
                | (sh & 1) << 15;
            float factor = at->scale * (float)((int)(sh >> 1 & 127) - 64);

            unit(y + UNIT4 * u, BASE + index, UNIT4, factor);
            iqk_canonical(y + UNIT4 * u, UNIT4, factor);
        }
    }
}
