/* q_blocks: the plain block types of ggml: Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q8_1 (32 elements), Q1_0 (128), Q2_0 (64).
 *   y    nblocks * <TYPE>_ELEMS floats; must not overlap src
 *   src  nblocks * <TYPE>_BYTES bytes, any alignment
 * Cannot fail. Exact bits of ggml's C; a NaN result is the canonical one. */
#ifndef KERNEL_Q_BLOCKS_H
#define KERNEL_Q_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

void q4_0_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks);
void q4_1_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks);
void q5_0_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks);
void q5_1_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks);
void q8_0_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks);
void q8_1_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks);
void q1_0_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks);
void q2_0_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks);

#endif
