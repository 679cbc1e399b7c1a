/* iqk: super-blocks of 16 groups of 16 elements, with a binary16 factor d. Byte offsets:
 *
 *     IQ2_K   0 d:f16   2 x:u16   4 sc[8]                 12 qs[64]
 *     IQ3_K   0 d:f16   2 x:u16   4 sh:u16   6 sl[8]      14 qs[64]     78 qh[32]
 *     IQ4_K   0 d:f16   2 x:u16   4 sh[4]    8 sl[8]      16 qs[128]
 *     IQ5_K   0 d:f16   2 x:u16   4 sh[4]    8 sl[8]      16 qs[128]   144 qh[32]
 *     IQ6_K   0 d:f16   2 x:u16   4 sc: 16 x i8           20 qs[128]   148 qh[64]
 *
 * Bit g of x selects the second levels for group g. Its scale s:
 *
 *     IQ2_K   nibble g of sc, minus 8
 *     IQ3_K   2 * nibble g of sl, plus 1; negative if bit g of sh is set
 *     IQ4_K, IQ5_K   nibble g of sl, bits 4 and 5 in bits 2 (g % 4) .. of sh[g / 4]; minus 32
 *     IQ6_K   sc[g]
 *
 * y = (d * s) * level, each product rounded. kernel/iqk.h gives the places of the codes. IQ6_K has a polynomial instead
 * of levels. Source: ik_llama.cpp, iqk_quantize.cpp, dequantize_row_<type>.
 */
#include "kernel/iqk.h"

#include "dtype/half.h"

enum { GROUP = 16, GROUPS = QK_K / GROUP };

const int8_t iqk_levels2[4] = { -31, -13, 1, 17 };
const int8_t iqk_levels3[8] = { -63, -40, -23, -10, 1, 13, 28, 47 };
const int8_t iqk_levels5[32] = { -126, -114, -103, -92, -83, -74, -65, -57, -50, -43, -36, -30, -24, -18, -12, -6, -1, 5, 11,
    17, 23, 29, 36, 43, 51, 59, 68, 77, 87, 97, 109, 121 };

/* y = (d * s[g]) * level, with the second levels where a bit of x is set */
static inline void
groups(float *restrict y, const uint8_t *restrict q, const uint8_t *block, const int s[GROUPS], const int8_t *levels,
    int second)
{
    float d = half_load(block);
    unsigned x = load_le16(block + 2);

    for (int g = 0; g < GROUPS; g++)
        iqk_group(y + GROUP * g, q + GROUP * g, GROUP, d * (float)s[g], iqk_table(levels, second, x >> g & 1));
}

void
iq2_k_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    for (size_t i = 0; i < nblocks; i++, src += IQ2_K_BYTES, y += QK_K) {
        uint8_t q[QK_K];
        int s[GROUPS];

        for (int g = 0; g < GROUPS; g++)
            s[g] = iqk_nibble(src + 4, g) - 8;
        iqk_low2(q, src + 12);
        groups(y, q, src, s, iqk_levels2, IQK_SECOND2);
    }
}

void
iq3_k_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    for (size_t i = 0; i < nblocks; i++, src += IQ3_K_BYTES, y += QK_K) {
        unsigned negative = load_le16(src + 4);
        uint8_t q[QK_K];
        int s[GROUPS];

        for (int g = 0; g < GROUPS; g++) {
            s[g] = 2 * iqk_nibble(src + 6, g) + 1;
            if (negative >> g & 1)
                s[g] = -s[g];
        }
        iqk_low2(q, src + 14);
        iqk_high1(q, src + 78, 2);
        groups(y, q, src, s, iqk_levels3, IQK_SECOND3);
    }
}

/* The scales of IQ4_K and IQ5_K */
static inline void
scales6(int s[GROUPS], const uint8_t *block)
{
    const uint8_t *high = block + 4, *low = block + 8;

    for (int g = 0; g < GROUPS; g++)
        s[g] = (iqk_nibble(low, g) | (high[g / 4] >> 2 * (g % 4) & 3) << 4) - 32;
}

void
iq4_k_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    for (size_t i = 0; i < nblocks; i++, src += IQ4_K_BYTES, y += QK_K) {
        uint8_t q[QK_K];
        int s[GROUPS];

        scales6(s, src);
        iqk_low4(q, src + 16, 16);
        groups(y, q, src, s, iq4_levels, IQK_SECOND4);
    }
}

void
iq5_k_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    for (size_t i = 0; i < nblocks; i++, src += IQ5_K_BYTES, y += QK_K) {
        uint8_t q[QK_K];
        int s[GROUPS];

        scales6(s, src);
        iqk_low4(q, src + 16, 32);
        iqk_high1(q, src + 144, 4);
        groups(y, q, src, s, iqk_levels5, IQK_SECOND5);
    }
}

/* The level of a code of 6 bits, by the polynomial of the fork's row decoder, one rounding per operation: */
static inline float
polynomial(int q, bool second)
{
    float x = (float)q, t = x * 0.0011972f;

    t = -0.11218f + t;
    t = x * t;
    t = 6.2568f + t;
    t = x * t;
    t = -127.0f + t;
    return t + (second ? 1.0f : 0.0f);
}

/* Bits 4 and 5 of element 128h + 32r + l are bits 2r and 2r + 1 of byte 32h + l of qh. */
void
iq6_k_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    for (size_t i = 0; i < nblocks; i++, src += IQ6_K_BYTES, y += QK_K) {
        const uint8_t *scales = src + 4, *qh = src + 148;
        float d = half_load(src);
        unsigned x = load_le16(src + 2);
        uint8_t q[QK_K], high[QK_K];

        iqk_low4(q, src + 20, 32);
        iqk_low2(high, qh);
        for (int g = 0; g < GROUPS; g++) {
            float factor = d * (float)(int8_t)scales[g];

            for (int e = GROUP * g; e < GROUP * (g + 1); e++)
                y[e] = factor * polynomial(q[e] | high[e] << 4, x >> g & 1);
            iqk_canonical(y + GROUP * g, GROUP, factor);
        }
    }
}
