/* encode_mx: blocks of floats to FP4 (E2M1) with a scale a block, and such scales. Codes are one a byte. */
#ifndef KERNEL_ENCODE_MX_H
#define KERNEL_ENCODE_MX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dtype/dtype.h"

/* The code of a power of two that is the scale of a block (float8_e8m0 of it) from the largest magnitude: as
 * compressed-tensors has it for values of this type, with `below` powers of two between it and that magnitude (2 for
 * E2M1, 8 for E4M3); and 2^ceil(log2(f)) as PyTorch's F32 logarithm has it. */
uint8_t encode_mx_nearest(float absmax, int below, enum dtype dtype);
uint8_t encode_mx_ceil(float f);

/* q[i] is the code of x[i] / scale, rounded to the type and held to what E2M1 has. Zeros have no sign, and what rounds
 * to zero keeps it. */
void encode_e2m1(uint8_t *restrict q, const float *restrict x, size_t n, float scale, enum dtype dtype);

/* The same as two others have it: ties to zero, and zeros are negative; and zeros keep their sign. In F32. */
void encode_e2m1_down(uint8_t *restrict q, const float *restrict x, size_t n, float scale);
void encode_e2m1_signed(uint8_t *restrict q, const float *restrict x, size_t n, float scale);

/* Two codes to a byte, the first in the low nibble; or in the high one. n is even. */
void encode_nibbles(uint8_t *restrict y, const uint8_t *restrict q, size_t n, bool high_first);

/* y[i] = value(q[i]) * scale, of E2M1; code 8 is +0 or -0. */
void encode_e2m1_back(float *restrict y, const uint8_t *restrict q, size_t n, float scale, bool plus_zero);

#endif
