/* iqk_interleaved: types that store four rows as one: the prefixes of the four rows, if any, then big blocks with one
 * block of each row. A decoder is called for one row, k. Byte offsets in a big block:
 *
 *     IQ2_K_R4    0 d: 4 x f16    8 x[8]   16 sc[32]              48 qs[256]
 *     IQ3_K_R4    0 d: 4 x f16    8 x[8]   16 sh[8]   24 sl[32]   56 qs[256]   312 qh[128]
 *     IQ4_K_R4    0 d: 4 x f16    8 x[8]   16 sh[16]  32 sl[32]   64 qs[512]
 *     IQ5_K_R4    0 d: 4 x f16    8 x[8]   16 sh[16]  32 sl[32]   64 qs[512]   576 qh[128]
 *     IQ4_KS_R4   0 sc[32]       32 qs[512]
 *     IQ5_KS_R4   0 sc[32]       32 qs[512]          544 qh[128]
 *     IQ1_S_R4    0 qs[16]       16 qh: 4 x u16
 *     IQ1_M_R4    0 qs[16]       16 qh[8]             24 sc[4]
 *
 * Of row k, run r of 32 elements has two halves t of 16. Elements come in fours: byte c of four consecutive ones, c = 0..3,
 * belongs to elements c, 4 + c, 8 + c and 12 + c of a half:
 *
 *     codes of 2 bits   qs[32r + 16t + 4k + c]             bits 0, 2, 4, 6
 *     codes of 4 bits   qs[64r + 16t + 4k + c]             low nibble: c       high nibble:  8 + c
 *                       the same + 32                      low nibble: 4 + c   high nibble: 12 + c
 *     bit 2 of IQ3_K    qh[16r + 4k + c]                   bits 4t + 0 .. 4t + 3
 *     bit 4 of IQ5_*    qh[16r + 4k + c]                   bits 2t, 2t + 4, 2t + 1, 2t + 5
 *
 * Scales and levels are as in the plain types (iqk.c, iqk_rows.c) with a = 8r + k + 4t in place of the group. y = (d * s) *
 * level, each product rounded; d is in the row's prefix if the block has none. Source: ik_llama.cpp, iqk_quantize.cpp,
 * dequantize_row_<type>.
 */
#include "kernel/iqk.h"

#include "dtype/half.h"
#include "kernel/iq_grids.h"

enum { ROWS = 4, HALF = 16, HALVES = QK_K / HALF };

/* Codes of 2 bits of half h = 2r + t */
static inline void
codes2(uint8_t q[restrict HALF], const uint8_t *restrict qs, int h, unsigned k)
{
    const uint8_t *p = qs + 16 * h + 4 * k;

    for (int j = 0; j < HALF; j++)
        q[j] = p[j % 4] >> 2 * (j / 4) & 3;
}

/* Codes of 4 bits */
static inline void
codes4(uint8_t q[restrict HALF], const uint8_t *restrict qs, int h, unsigned k)
{
    const uint8_t *p = qs + 64 * (h / 2) + 16 * (h % 2) + 4 * k;

    for (int j = 0; j < HALF; j++)
        q[j] = p[j % 4 + 32 * (j / 4 % 2)] >> 4 * (j / 8) & 15;
}

/* Adds bit 2 of IQ3_K_R4. */
static inline void
add_bit2(uint8_t q[restrict HALF], const uint8_t *restrict qh, int h, unsigned k)
{
    const uint8_t *p = qh + 16 * (h / 2) + 4 * k;

    for (int j = 0; j < HALF; j++)
        q[j] |= (uint8_t)((p[j % 4] >> (4 * (h % 2) + j / 4) & 1) << 2);
}

/* Adds bit 4 of IQ5_K_R4 and IQ5_KS_R4. */
static inline void
add_bit4(uint8_t q[restrict HALF], const uint8_t *restrict qh, int h, unsigned k)
{
    const uint8_t *p = qh + 16 * (h / 2) + 4 * k;

    for (int j = 0; j < HALF; j++)
        q[j] |= (uint8_t)((p[j % 4] >> (2 * (h % 2) + j / 8 + 4 * (j / 4 % 2)) & 1) << 4);
}

/* Returns the place of the scale of half h: 8r + k + 4t. */
static inline unsigned
place(int h, unsigned k)
{
    return 8 * (unsigned)(h / 2) + k + 4 * (unsigned)(h % 2);
}

/* Returns nibble a of 64: the low ones of 32 bytes come first. */
static inline int
nibble64(const uint8_t *p, unsigned a)
{
    return p[a % 32] >> 4 * (a / 32) & 15;
}

/* y = (d * s) * level, with the d of row k and the second levels where bit r of x[k + 4t] is set */
static inline void
half_of(float *y, const uint8_t q[HALF], const uint8_t *block, int h, unsigned k, int s, const int8_t *levels, int second)
{
    float d = half_load(block + 2 * k);
    bool is_second = block[8 + k + 4 * (unsigned)(h % 2)] >> h / 2 & 1;

    iqk_group(y + HALF * h, q, HALF, d * (float)s, iqk_table(levels, second, is_second));
}

void
iq2_k_r4_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks, const struct kernel_row *at)
{
    for (size_t i = 0; i < nblocks; i++, src += ROWS * IQ2_K_R4_BYTES, y += QK_K)
        for (int h = 0; h < HALVES; h++) {
            uint8_t q[HALF];

            codes2(q, src + 48, h, at->row);
            half_of(y, q, src, h, at->row, nibble64(src + 16, place(h, at->row)) - 8, iqk_levels2, IQK_SECOND2);
        }
}

void
iq3_k_r4_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks, const struct kernel_row *at)
{
    for (size_t i = 0; i < nblocks; i++, src += ROWS * IQ3_K_R4_BYTES, y += QK_K)
        for (int h = 0; h < HALVES; h++) {
            unsigned a = place(h, at->row);
            int s = 2 * nibble64(src + 24, a) + 1;
            uint8_t q[HALF];

            codes2(q, src + 56, h, at->row);
            add_bit2(q, src + 312, h, at->row);
            half_of(y, q, src, h, at->row, src[16 + a % 8] >> a / 8 & 1 ? -s : s, iqk_levels3, IQK_SECOND3);
        }
}

/* Returns a scale of IQ4_K_R4 and IQ5_K_R4. */
static inline int
scale6(const uint8_t *block, unsigned a)
{
    return (nibble64(block + 32, a) | (block[16 + a % 16] >> 2 * (a / 16) & 3) << 4) - 32;
}

void
iq4_k_r4_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks, const struct kernel_row *at)
{
    for (size_t i = 0; i < nblocks; i++, src += ROWS * IQ4_K_R4_BYTES, y += QK_K)
        for (int h = 0; h < HALVES; h++) {
            uint8_t q[HALF];

            codes4(q, src + 64, h, at->row);
            half_of(y, q, src, h, at->row, scale6(src, place(h, at->row)), iq4_levels, IQK_SECOND4);
        }
}

void
iq5_k_r4_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks, const struct kernel_row *at)
{
    for (size_t i = 0; i < nblocks; i++, src += ROWS * IQ5_K_R4_BYTES, y += QK_K)
        for (int h = 0; h < HALVES; h++) {
            uint8_t q[HALF];

            codes4(q, src + 64, h, at->row);
            add_bit4(q, src + 576, h, at->row);
            half_of(y, q, src, h, at->row, scale6(src, place(h, at->row)), iqk_levels5, IQK_SECOND5);
        }
}

/* y = (d * (sc & 254 - 127)) * level, with sc = sc[4r + k], whose bit 0 selects the second levels */
static inline void
half_of_row(float *y, const uint8_t q[HALF], const uint8_t *block, int h, const struct kernel_row *at, const int8_t *levels,
    int second)
{
    uint8_t sc = block[4 * (unsigned)(h / 2) + at->row];

    iqk_group(y + HALF * h, q, HALF, at->scale * (float)((sc & 254) - 127), iqk_table(levels, second, sc & 1));
}

void
iq4_ks_r4_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks, const struct kernel_row *at)
{
    for (size_t i = 0; i < nblocks; i++, src += ROWS * IQ4_KS_R4_BYTES, y += QK_K)
        for (int h = 0; h < HALVES; h++) {
            uint8_t q[HALF];

            codes4(q, src + 32, h, at->row);
            half_of_row(y, q, src, h, at, iq4_levels, IQK_SECOND4);
        }
}

void
iq5_ks_r4_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks, const struct kernel_row *at)
{
    for (size_t i = 0; i < nblocks; i++, src += ROWS * IQ5_KS_R4_BYTES, y += QK_K)
        for (int h = 0; h < HALVES; h++) {
            uint8_t q[HALF];

            codes4(q, src + 32, h, at->row);
            add_bit4(q, src + 544, h, at->row);
            half_of_row(y, q, src, h, at, iqk_levels5, IQK_SECOND5);
        }
}

/* y = factor * (entry + or - 1/8), for a group of 8 */
static inline void
grid_group(float *y, unsigned entry, bool minus, float factor)
{
    float delta = 0.125f;
    if (minus)
        delta = -0.125f;

    for (int j = 0; j < 8; j++)
        y[j] = factor * ((float)iq_grids.iq1s[entry][j] + delta);
    iqk_canonical(y, 8, factor);
}

/* Word k of qh:   15      14 .. 12   11 .. 9   8 .. 6   5 .. 3   2 .. 0
 *                 minus   scale      upper bits of the entries of groups 3, 2, 1 and 0 */
void
iq1_s_r4_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks, const struct kernel_row *at)
{
    for (size_t i = 0; i < nblocks; i++, src += ROWS * IQ1_S_R4_BYTES, y += IQ1_S_R4_ELEMS) {
        unsigned k = at->row, x = load_le16(src + 16 + 2 * k);
        float factor = at->scale * (float)(2 * (x >> 12 & 7) + 1);

        for (unsigned g = 0; g < 4; g++)
            grid_group(y + 8 * g, src[4 * g + k] | (x >> 3 * g & 7) << 8, x >> 15, factor);
    }
}

/* Group g: nibble g % 2 of qh[4 (g / 2) + k] has minus in bit 3 and the upper bits of the entry below; the scale is nibble
 * g / 2 of sc[k]. */
void
iq1_m_r4_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks, const struct kernel_row *at)
{
    for (size_t i = 0; i < nblocks; i++, src += ROWS * IQ1_M_R4_BYTES, y += IQ1_M_R4_ELEMS)
        for (unsigned g = 0, k = at->row; g < 4; g++) {
            unsigned high = src[16 + 4 * (g / 2) + k] >> 4 * (g % 2) & 15u;
            float factor = at->scale * (float)(src[24 + k] >> 4 * (g / 2) & 15);

            grid_group(y + 8 * g, src[4 * g + k] | (high & 7) << 8, high >> 3, factor);
        }
}
