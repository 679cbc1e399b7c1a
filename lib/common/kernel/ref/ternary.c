/* ternary: -1, 0 or 1 times one binary16 factor at the end of the block. Byte offsets:
 *
 *     TQ1_0    0 qs[48]   48 qh[4]   52 d:f16        TQ2_0    0 qs[64]   64 d:f16
 *     PTQ1_0   0 qs[24]   24 qh[2]   26 d:f16
 *
 * TQ1_0 packs five base-3 digits into a byte (four in qh), as a fraction byte / 256 rounded up: multiplied by 3^n, the part
 * below 256 starts with digit n. Digit n of byte j in a run of `width` bytes is element n * width + j:
 *
 *     elements    0 .. 159   qs[0..31]     width 32, n = 0..4
 *               160 .. 239   qs[32..47]    width 16, n = 0..4
 *               240 .. 255   qh[0..3]      width  4, n = 0..3
 *
 * PTQ1_0 is the same for 128 elements: runs of qs[0..15] and qs[16..23] with five digits, and of qh[0..1] with four.
 *
 * TQ2_0 packs four digits of two bits; byte 32h + l of qs, h = 0 or 1, l < 32 (a digit 3, which no encoder produces, is +2):
 *
 *     7 6        5 4        3 2        1 0
 *     128h+96+l  128h+64+l  128h+32+l  128h+l
 *
 * y = (digit - 1) * d. Source: ggml-quants.c, dequantize_row_tq1_0 and dequantize_row_tq2_0; PTQ1_0: PrismML's
 * llama.cpp.
 */
#include "kernel/blocks.h"

#include "dtype/ggml_block.h"
#include "dtype/half.h"
#include "kernel/nan.h"

/* y[n * width + j] = (digit n of q[j] - 1) * d. Returns the end of y. */
static inline float *
digits(float *restrict y, const uint8_t *restrict q, int width, int count, float d)
{
    static const uint8_t power[5] = { 1, 3, 9, 27, 81 };

    for (int n = 0; n < count; n++, y += width)
        for (int j = 0; j < width; j++) {
            uint8_t fraction = (uint8_t)(q[j] * power[n]);

            y[j] = (float)((fraction * 3 >> 8) - 1) * d;
        }
    return y;
}

void
tq1_0_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    for (size_t i = 0; i < nblocks; i++, src += TQ1_0_BYTES, y += QK_K) {
        uint16_t scale = load_le16(src + 52);
        float d = half_to_float(scale);

        float *at = digits(y, src, 32, 5, d);
        at = digits(at, src + 32, 16, 5, d);
        digits(at, src + 48, 4, 4, d);
        if (!half_is_finite(scale))
            nan_canonical_all(y, QK_K);
    }
}

void
ptq1_0_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    for (size_t i = 0; i < nblocks; i++, src += PTQ1_0_BYTES, y += PTQ1_0_ELEMS) {
        uint16_t scale = load_le16(src + 26);
        float d = half_to_float(scale);

        float *at = digits(y, src, 16, 5, d);
        at = digits(at, src + 16, 8, 5, d);
        digits(at, src + 24, 2, 4, d);
        if (!half_is_finite(scale))
            nan_canonical_all(y, PTQ1_0_ELEMS);
    }
}

void
tq2_0_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    for (size_t i = 0; i < nblocks; i++, src += TQ2_0_BYTES, y += QK_K) {
        uint16_t scale = load_le16(src + 64);
        float d = half_to_float(scale);

        for (int run = 0; run < 8; run++)               /* 32 elements each */
            for (int l = 0; l < 32; l++)
                y[32 * run + l] = (float)((src[32 * (run / 4) + l] >> 2 * (run % 4) & 3) - 1) * d;
        if (!half_is_finite(scale))
            nan_canonical_all(y, QK_K);
    }
}
