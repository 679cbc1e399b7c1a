/* iq_quants: the codebook types of ggml, 256 elements each: IQ1_S IQ1_M IQ2_XXS IQ2_XS IQ2_S IQ3_XXS IQ3_S.
 *   y    nblocks * QK_K floats; must not overlap src
 *   src  nblocks * <TYPE>_BYTES bytes, any alignment
 * Cannot fail; iq_grids_build() was called. Exact bits of ggml's C; a NaN result is the canonical one. */
#ifndef KERNEL_IQ_QUANTS_H
#define KERNEL_IQ_QUANTS_H

#include <stddef.h>
#include <stdint.h>

void iq1_s_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks);
void iq1_m_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks);
void iq2_xxs_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks);
void iq2_xs_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks);
void iq2_s_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks);
void iq3_xxs_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks);
void iq3_s_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks);

#endif
