/* round: n floats to n 16-bit codes, round to nearest, ties to even, subnormals kept, one canonical NaN.
 *   y    n codes; must not overlap x
 *   x    n floats
 * Cannot fail. */
#ifndef KERNEL_ROUND_H
#define KERNEL_ROUND_H

#include "kernel/kernels.h"

kernel_round16 round_bf16, round_f16;

/* The same to integers, -127 to 127: what is beyond becomes these, NaN 0. */
kernel_round8 round_int8;

#endif
