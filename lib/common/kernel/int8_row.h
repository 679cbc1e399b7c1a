/* int8_row: dequantizes one row of two's complement INT8 codes with its absmax, as bitsandbytes stores them. Two F32
 * multiplications, in this order:
 *
 *     y[i] = (x[i] * absmax) * INT8_ROW_PER_127        i < n
 *
 * y must not overlap x. Cannot fail; a NaN result is the canonical one. Formula: bitsandbytes backends/default/ops.py,
 * int8_vectorwise_dequant.
 */
#ifndef KERNEL_INT8_ROW_H
#define KERNEL_INT8_ROW_H

#include <stddef.h>
#include <stdint.h>

#define INT8_ROW_PER_127 0x1.020408p-7f         /* 1/127 rounded to F32 */

void int8_row_f32(float *restrict y, const uint8_t *restrict x, size_t n, float absmax);
void int8_row_bf16(uint16_t *restrict y, const uint8_t *restrict x, size_t n, float absmax);

#endif
