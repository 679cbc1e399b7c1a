/* ternary: TQ1_0 and TQ2_0 of ggml, 256 elements of -1, 0, 1 and one factor.
 *   y    nblocks * QK_K floats; must not overlap src
 *   src  nblocks * <TYPE>_BYTES bytes, any alignment
 * Cannot fail. Exact bits of ggml's C; a NaN result is the canonical one. */
#ifndef KERNEL_TERNARY_H
#define KERNEL_TERNARY_H

#include <stddef.h>
#include <stdint.h>

void tq1_0_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks);
void tq2_0_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks);

#endif
