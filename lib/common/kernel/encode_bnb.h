/* encode_bnb: quantizes floats like bitsandbytes.
 *
 * 4 bits: blocks of `block` elements, the last of which may be shorter, with one absmax each. Two codes a byte, the high
 * nibble first; an odd number of elements is padded with the code of 0. x is normalized to y = x / absmax:
 *
 *     full block     a = max |x|                   y = x * (1 / max(a, 1e-38))     two roundings
 *     short block    a = max(max |x|, 1e-38)       y = x / a
 *
 * encode_nf4, encode_fp4_cpu: the code is given by the number of midpoints between neighbouring values that are below y; in
 * FP4, any y from 0 to the next midpoint has the code of -0. encode_fp4: like the CUDA kernel, by seven limits of |y| and
 * the sign of x, so that decoded values are encoded unchanged. A NaN is above all limits.
 *
 *     y         ceil(n / 2) bytes
 *     absmax    ceil(n / block) floats
 *
 * INT8: a row is rounded to F16, and its absmax is returned; r = (1 / absmax) * 127, two roundings; y[i] = rint(x[i] * r).
 * NaN becomes 0, including the NaN of 0 and of infinities when absmax is 0 or infinite.
 *
 * Buffers must not overlap; block is even and not 0. Cannot fail. Sources: bitsandbytes backends/default/ops.py and
 * backends/cpu/ops.py, csrc/cpu_ops.cpp, csrc/kernels.cu.
 */
#ifndef KERNEL_ENCODE_BNB_H
#define KERNEL_ENCODE_BNB_H

#include <stddef.h>
#include <stdint.h>

void encode_nf4(uint8_t *restrict y, float *restrict absmax, const float *restrict x, size_t n, size_t block);
void encode_fp4(uint8_t *restrict y, float *restrict absmax, const float *restrict x, size_t n, size_t block);
void encode_fp4_cpu(uint8_t *restrict y, float *restrict absmax, const float *restrict x, size_t n, size_t block);

float encode_int8_row(int8_t *restrict y, const float *restrict x, size_t n);

/* lower bound of a divisor */
#define ENCODE_BNB_LEAST 1e-38f

/* For the implementations: 15 midpoints of the sorted values and the codes of the 16 values; for FP4 as in CUDA, the limits
 * of the magnitude and the codes between them. */
extern const uint32_t encode_nf4_midpoints[15], encode_fp4_midpoints[15], encode_fp4_limits[7];
extern const uint8_t encode_fp4_order[16], encode_fp4_magnitudes[8];

#endif
