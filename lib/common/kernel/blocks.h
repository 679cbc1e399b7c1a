/* blocks: dequantizes the block types of ggml to F32. Arguments are described at kernel_block_f32 (kernels.h); blocks may
 * have any alignment, and y must not overlap them. Cannot fail. Results are bit-identical to ggml's C, except that a NaN
 * result is the canonical one. Layouts are drawn in kernel/ref/, in the files named here. */
#ifndef KERNEL_BLOCKS_H
#define KERNEL_BLOCKS_H

#include "base/bytes.h"
#include "kernel/kernels.h"

/* q_blocks: one or two factors in a block */
kernel_block_f32 q4_0_dequantize, q4_1_dequantize, q5_0_dequantize, q5_1_dequantize, q8_0_dequantize, q8_1_dequantize;
kernel_block_f32 q1_0_dequantize, q2_0_dequantize, q6_0_dequantize, pq2_0_dequantize;

/* k_quants: super-blocks */
kernel_block_f32 q2_k_dequantize, q3_k_dequantize, q4_k_dequantize, q5_k_dequantize, q6_k_dequantize, q8_k_dequantize;

/* iq_quants: codebooks; call iq_grids_build() first */
kernel_block_f32 iq1_s_dequantize, iq1_m_dequantize, iq2_xxs_dequantize, iq2_xs_dequantize, iq2_s_dequantize;
kernel_block_f32 iq3_xxs_dequantize, iq3_s_dequantize;

/* iq4: 16 nonuniform levels */
kernel_block_f32 iq4_nl_dequantize, iq4_xs_dequantize;
extern const int8_t iq4_levels[16];

/* ternary: -1, 0, 1 and one factor */
kernel_block_f32 tq1_0_dequantize, tq2_0_dequantize, ptq1_0_dequantize;

/* iqk, iqk_rows, iqk_interleaved, trellis: types of ik_llama.cpp (kernel/iqk.h) */
kernel_block_f32 iq2_k_dequantize, iq3_k_dequantize, iq4_k_dequantize, iq5_k_dequantize, iq6_k_dequantize;
kernel_row_f32 iq4_ks_dequantize, iq5_ks_dequantize, iq4_kss_dequantize, iq2_ks_dequantize, iq3_ks_dequantize;
kernel_row_f32 iq2_kl_dequantize;
kernel_row_f32 iq1_kt_dequantize, iq2_kt_dequantize, iq3_kt_dequantize, iq4_kt_dequantize;
kernel_row_f32 iq1_s_r4_dequantize, iq1_m_r4_dequantize;        /* call iq_grids_build() first */
kernel_row_f32 iq2_k_r4_dequantize, iq3_k_r4_dequantize, iq4_k_r4_dequantize, iq5_k_r4_dequantize;
kernel_row_f32 iq4_ks_r4_dequantize, iq5_ks_r4_dequantize;

/* fp4_blocks: a table of doubled E2M1 values, and a scale. Never yields NaN. The F32 tensor `X.scale` that accompanies an
 * NVFP4 tensor is not applied here; the caller multiplies afterwards. */
kernel_block_f32 mxfp4_dequantize, nvfp4_dequantize;
extern const int8_t fp4_levels[16];

/* Returns 2^(e - 128), subnormal for e < 2: half of E8M0's value. */
static inline float
mxfp4_scale(uint8_t e)
{
    return float_of_bits(e >= 2 ? (uint32_t)(e - 1) << 23 : (uint32_t)0x00200000 << e);
}

/* The 8 scales and 8 mins of 6 bits of Q4_K and Q5_K, j < 4:
 *
 *     scales[j]         7 6: upper bits of scale j + 4     5 .. 0: scale j
 *     scales[4 + j]     7 6: upper bits of min j + 4       5 .. 0: min j
 *     scales[8 + j]     7 .. 4: low bits of min j + 4      3 .. 0: low bits of scale j + 4 */
static inline void
blocks_k_scales(uint8_t scale[8], uint8_t min[8], const uint8_t *restrict scales)
{
    for (int j = 0; j < 4; j++) {
        scale[j] = scales[j] & 63;
        min[j] = scales[j + 4] & 63;
        scale[j + 4] = (uint8_t)((scales[j + 8] & 15) | scales[j] >> 6 << 4);
        min[j + 4] = (uint8_t)(scales[j + 8] >> 4 | scales[j + 4] >> 6 << 4);
    }
}

#endif
