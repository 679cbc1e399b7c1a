/* iq4: IQ4_NL (32 elements) and IQ4_XS (256) of ggml, 4-bit codes into 16 uneven levels.
 *   y    nblocks * <TYPE>_ELEMS floats; must not overlap src
 *   src  nblocks * <TYPE>_BYTES bytes, any alignment
 * Cannot fail. Exact bits of ggml's C; a NaN result is the canonical one. */
#ifndef KERNEL_IQ4_H
#define KERNEL_IQ4_H

#include <stddef.h>
#include <stdint.h>

/* The levels of both types, by code. */
extern const int8_t iq4_levels[16];

void iq4_nl_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks);
void iq4_xs_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks);

#endif
