/* fp4_blocks: E2M1 codes with one scale for each 32 (MXFP4) or 16 (NVFP4) of them.
 *
 *     MXFP4    e:u8 | qs[16]                byte j:   7 6 5 4: element j + 16    3 2 1 0: element j
 *     NVFP4    scales[4] | qs[32]           byte 8s + j, j < 8:   element 16s + 8 + j  |  element 16s + j
 *
 *     MXFP4    scale = 2^(e - 128): half of E8M0's value, for any e
 *     NVFP4    scale = half of an E4M3 value without its sign; 0x7F and 0 mean 0
 *
 * The scale is halved because the table below has twice the E2M1 values, so that it contains integers. Its code 8 is an
 * integer 0, so +0 and not -0. y = table[code] * scale.
 *
 * Source: ggml-quants.c, dequantize_row_mxfp4 and dequantize_row_nvfp4; ggml-impl.h, ggml_e8m0_to_fp32_half and
 * ggml_ue4m3_to_fp32.
 */
#include "kernel/blocks.h"

#include "base/bytes.h"
#include "dtype/ggml_block.h"

const int8_t fp4_levels[16] = { 0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12 };

/* ggml tests for 0x7F before it drops the sign, so 0xFF is 240, not 0. */
static float
nvfp4_scale(uint8_t code)
{
    int e = code >> 3 & 15, m = code & 7;

    if (code == 0 || code == 0x7F)
        return 0.0f;
    if (e == 0)
        return (float)m * 0x1p-10f;
    return float_of_bits((uint32_t)(e - 7 - 1 + 127) << 23 | (uint32_t)m << 20);
}

void
mxfp4_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    for (size_t i = 0; i < nblocks; i++, src += MXFP4_BYTES, y += MXFP4_ELEMS) {
        float d = mxfp4_scale(src[0]);
        const uint8_t *qs = src + 1;

        for (int j = 0; j < 16; j++) {
            y[j] = (float)fp4_levels[qs[j] & 15] * d;
            y[j + 16] = (float)fp4_levels[qs[j] >> 4] * d;
        }
    }
}

void
nvfp4_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    for (size_t i = 0; i < nblocks; i++, src += NVFP4_BYTES, y += NVFP4_ELEMS) {
        for (int s = 0; s < 4; s++) {
            float d = nvfp4_scale(src[s]);
            const uint8_t *qs = src + 4 + 8 * s;

            for (int j = 0; j < 8; j++) {
                y[16 * s + j] = (float)fp4_levels[qs[j] & 15] * d;
                y[16 * s + 8 + j] = (float)fp4_levels[qs[j] >> 4] * d;
            }
        }
    }
}
