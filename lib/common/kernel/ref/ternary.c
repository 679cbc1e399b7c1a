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
static ALWAYS_INLINE float *
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

/* Blocks of 8 * width elements: runs of `width`, width / 2 and width / 8 bytes, and d. */
static ALWAYS_INLINE void
base3_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks, const int width)
{
    const int end = width + width / 2 + width / 8;

    for (size_t i = 0; i < nblocks; i++, src += end + 2, y += 8 * width) {
        float d = half_load(src + end);

        float *at = digits(y, src, width, 5, d);
        at = digits(at, src + width, width / 2, 5, d);
        digits(at, src + end - width / 8, width / 8, 4, d);
        nan_canonical_by(y, 8 * (size_t)width, src + end);
    }
}

void
tq1_0_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    base3_dequantize(y, src, nblocks, 32);
}

void
ptq1_0_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    base3_dequantize(y, src, nblocks, 16);
}

void
tq2_0_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    for (size_t i = 0; i < nblocks; i++, src += TQ2_0_BYTES, y += QK_K) {
        float d = half_load(src + 64);

        for (int run = 0; run < 8; run++)               /* 32 elements each */
            for (int l = 0; l < 32; l++)
                y[32 * run + l] = (float)((src[32 * (run / 4) + l] >> 2 * (run % 4) & 3) - 1) * d;
        nan_canonical_by(y, QK_K, src + 64);
    }
}
