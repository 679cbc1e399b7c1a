/* nf4: the codecs of bitsandbytes: 4-bit codes into a table (NF4, FP4), and INT8 rows.
 * Cannot fail; a NaN result is the canonical one.
 *
 * 4-bit: two codes a byte, the high nibble first. Blocks of `blocksize` elements have one absmax each:
 *
 *     y[i] = map[code] * absmax[(first + i) / blocksize]          i < n
 *
 *   y         n values; must not overlap the rest
 *   x         the byte of the first code, which is its high nibble when `first` is even
 *   absmax    of all blocks that the run touches
 *   first     the first element's place in its block, below blocksize; blocksize is even
 *
 * Formula: bitsandbytes csrc/kernels.cu, kDequantizeBlockwise.
 *
 * INT8: one row's codes, two's complement, and its absmax. Two F32 multiplications, in this order:
 *
 *     y[i] = (x[i] * absmax) * NF4_PER_127
 *
 * Formula: bitsandbytes backends/default/ops.py, int8_vectorwise_dequant. */
#ifndef KERNEL_NF4_H
#define KERNEL_NF4_H

#include <stddef.h>
#include <stdint.h>

#define NF4_PER_127 0x1.020408p-7f              /* 1/127 rounded to F32 */

void nf4_f32(float *restrict y, const uint8_t *restrict x, size_t n, const float map[16],
    const float *restrict absmax, size_t blocksize, size_t first);
void nf4_bf16(uint16_t *restrict y, const uint8_t *restrict x, size_t n, const float map[16],
    const float *restrict absmax, size_t blocksize, size_t first);

void nf4_int8_f32(float *restrict y, const uint8_t *restrict x, size_t n, float absmax);
void nf4_int8_bf16(uint16_t *restrict y, const uint8_t *restrict x, size_t n, float absmax);

#endif
