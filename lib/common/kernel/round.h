/* round: rounds n floats to 16-bit codes, to nearest, ties to even, keeping subnormals, with one canonical NaN.
 *
 *     y    n codes; must not overlap x
 *     x    n floats
 *
 * Cannot fail.
 */
#ifndef KERNEL_ROUND_H
#define KERNEL_ROUND_H

#include "kernel/kernels.h"

kernel_round16 round_bf16, round_f16;

/* Rounds to integers and clamps them to -127 .. 127; NaN becomes 0. */
kernel_round8 round_int8;

#endif
