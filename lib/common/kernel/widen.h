/* widen: n scalars to n floats, exact but for F64, which is rounded; a NaN comes out as the canonical one.
 *   y    n floats; must not overlap x
 *   x    n scalars, any alignment
 * Cannot fail. */
#ifndef KERNEL_WIDEN_H
#define KERNEL_WIDEN_H

#include <stddef.h>
#include <stdint.h>

void widen_f64(float *restrict y, const uint8_t *restrict x, size_t n);
void widen_f32(float *restrict y, const uint8_t *restrict x, size_t n);
void widen_f16(float *restrict y, const uint8_t *restrict x, size_t n);
void widen_bf16(float *restrict y, const uint8_t *restrict x, size_t n);

#endif
