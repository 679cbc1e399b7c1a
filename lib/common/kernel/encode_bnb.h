/* encode_bnb: floats as bitsandbytes quantizes them.
 *
 * Four bits: blocks of `block` elements, the last of which may be shorter, one absmax each and two codes a byte, the
 * high nibble first; behind an odd number of elements lies the code of 0. What stands for x is y = x / absmax:
 *
 *     full block     a = max |x|                   y = x * (1 / max(a, 1e-38))     two roundings
 *     short block    a = max(max |x|, 1e-38)       y = x / a
 *
 * encode_nf4, encode_fp4_cpu: the number of midpoints between neighbouring values that are below y tells the code; for
 * FP4 so that 0 < y, however small, is the code of -0. encode_fp4: the CUDA kernel's, seven limits of |y|, and the
 * sign of x, so that decoded values are encoded to what they were. A NaN is above all limits.
 *
 *   y         ceil(n / 2) bytes
 *   absmax    ceil(n / block) floats
 *
 * INT8: a row goes through F16, and has an absmax, which is returned; r = (1 / absmax) * 127, two roundings;
 * y[i] = rint(x[i] * r), 0 for NaN, which 0 and an infinity are when absmax is 0 or infinite.
 *
 * Nothing overlaps, block is even and not 0. Cannot fail. Sources: bitsandbytes backends/default/ops.py and
 * backends/cpu/ops.py, csrc/cpu_ops.cpp, csrc/kernels.cu. */
#ifndef KERNEL_ENCODE_BNB_H
#define KERNEL_ENCODE_BNB_H

#include <stddef.h>
#include <stdint.h>

void encode_nf4(uint8_t *restrict y, float *restrict absmax, const float *restrict x, size_t n, size_t block);
void encode_fp4(uint8_t *restrict y, float *restrict absmax, const float *restrict x, size_t n, size_t block);
void encode_fp4_cpu(uint8_t *restrict y, float *restrict absmax, const float *restrict x, size_t n, size_t block);

float encode_int8_row(int8_t *restrict y, const float *restrict x, size_t n);

/* The least that a block is divided by. */
#define ENCODE_BNB_LEAST 1e-38f

/* For the sets. 15 midpoints of sorted values and the codes of the 16 values between them; of FP4 as CUDA has it, the
 * limits of the magnitude and the codes between those. */
extern const uint32_t encode_nf4_midpoints[15], encode_fp4_midpoints[15], encode_fp4_limits[7];
extern const uint8_t encode_fp4_order[16], encode_fp4_magnitudes[8];

#endif
