/* k_quants: the super-block types of ggml, 256 elements each: Q2_K Q3_K Q4_K Q5_K Q6_K Q8_K.
 *   y    nblocks * QK_K floats; must not overlap src
 *   src  nblocks * <TYPE>_BYTES bytes, any alignment
 * Cannot fail. Exact bits of ggml's C; a NaN result is the canonical one. */
#ifndef KERNEL_K_QUANTS_H
#define KERNEL_K_QUANTS_H

#include <stddef.h>
#include <stdint.h>

void q2_k_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks);
void q3_k_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks);
void q4_k_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks);
void q5_k_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks);
void q6_k_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks);
void q8_k_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks);

#endif
