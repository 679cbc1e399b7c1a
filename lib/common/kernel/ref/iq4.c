/* iq4: 4-bit codes for the levels below. Byte offsets:
 *
 *     IQ4_NL   0 d:f16   2 qs[16]
 *     IQ4_XS   0 d:f16   2 scales_h:u16   4 scales_l[4]   8 qs[128]
 *
 * Each 16 bytes of qs hold 32 elements, the first 16 in the low nibbles: byte j has elements j and j + 16. IQ4_XS has a
 * 6-bit scale, stored plus 32, for each such run b < 8:
 *
 *     low nibble    scales_l[b / 2], its low nibble for even b
 *     upper bits    bits 2b .. of scales_h
 *
 * y = (d * scale) * level; scale = 1 in IQ4_NL. Source: ggml-quants.c, dequantize_row_iq4_nl and _iq4_xs.
 */
#include "kernel/blocks.h"

#include "dtype/ggml_block.h"
#include "dtype/half.h"
#include "kernel/nan.h"

const int8_t iq4_levels[16] = { -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113 };

static inline void
iq4_run(float *restrict y, const uint8_t *restrict qs, float d)
{
    for (int j = 0; j < 16; j++) {
        y[j] = d * (float)iq4_levels[qs[j] & 15];
        y[j + 16] = d * (float)iq4_levels[qs[j] >> 4];
    }
}

void
iq4_nl_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    for (size_t i = 0; i < nblocks; i++, src += IQ4_NL_BYTES, y += IQ4_NL_ELEMS) {
        iq4_run(y, src + 2, half_load(src));
        nan_canonical_by(y, IQ4_NL_ELEMS, src);
    }
}

void
iq4_xs_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    for (size_t i = 0; i < nblocks; i++, src += IQ4_XS_BYTES, y += QK_K) {
        const uint8_t *low = src + 4, *qs = src + 8;
        float d = half_load(src);
        uint16_t high = load_le16(src + 2);

        for (int b = 0; b < 8; b++) {
            int ls = (low[b / 2] >> 4 * (b % 2) & 15) | (high >> 2 * b & 3) << 4;

            iq4_run(y + 32 * b, qs + 16 * b, d * (float)(ls - 32));
        }
        nan_canonical_by(y, QK_K, src);
    }
}
