/* widen: converts n scalars to floats, exactly except for F64, which is rounded; a NaN becomes the canonical one.
 *
 *     y    n floats; must not overlap x
 *     x    n scalars, any alignment
 *
 * Cannot fail.
 */
#ifndef KERNEL_WIDEN_H
#define KERNEL_WIDEN_H

#include "kernel/kernels.h"

kernel_widen widen_f64, widen_f32, widen_f16, widen_bf16;

#endif
