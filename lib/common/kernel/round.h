/* round: n floats to n 16-bit codes, round to nearest, ties to even, subnormals kept, one canonical NaN.
 *   y    n codes; must not overlap x
 *   x    n floats
 * Cannot fail. */
#ifndef KERNEL_ROUND_H
#define KERNEL_ROUND_H

#include <stddef.h>
#include <stdint.h>

void round_bf16(uint16_t *restrict y, const float *restrict x, size_t n);
void round_f16(uint16_t *restrict y, const float *restrict x, size_t n);

/* The same to integers, -127 to 127: what is beyond becomes these, NaN 0. */
void round_int8(int8_t *restrict y, const float *restrict x, size_t n);

#endif
