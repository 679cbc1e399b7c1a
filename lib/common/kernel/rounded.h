/* rounded: arithmetic in the type of a weight, as PyTorch has it: every operation is one of F32, whose result is rounded to
 * the type. */
#ifndef KERNEL_ROUNDED_H
#define KERNEL_ROUNDED_H

#include "dtype/bfloat16.h"
#include "dtype/dtype.h"
#include "dtype/half.h"

/* v as F16 or BF16 has it; of every other type as it is. */
static inline float
rounded(enum dtype dtype, float v)
{
    return dtype == DTYPE_BF16 ? bfloat16_to_float(bfloat16_of_float(v))
        : dtype == DTYPE_F16 ? half_to_float(half_of_float(v)) : v;
}

/* The distance from 1 to the next value. */
static inline float
rounded_epsilon(enum dtype dtype)
{
    return dtype == DTYPE_BF16 ? 0x1p-7f : dtype == DTYPE_F16 ? 0x1p-10f : 0x1p-23f;
}

/* The smallest normal value. */
static inline float
rounded_tiny(enum dtype dtype)
{
    return dtype == DTYPE_F16 ? 0x1p-14f : 0x1p-126f;
}

#endif
