/* rounded: arithmetic in the type of a weight, like PyTorch's: every operation is in F32, and its result is rounded to the
 * type. */
#ifndef KERNEL_ROUNDED_H
#define KERNEL_ROUNDED_H

#include "dtype/bfloat16.h"
#include "dtype/dtype.h"

/* Rounds v to F16: half_to_float(half_of_float(v)) without a branch. */
static inline float
rounded_f16(float v)
{
    uint32_t bits = bits_of_float(v), magnitude = bits & 0x7FFFFFFFu, sign = bits & 0x80000000u;
    uint32_t normal = (magnitude + 0xFFFu + (magnitude >> 13 & 1u)) & ~0x1FFFu;
    uint32_t small = bits_of_float(float_of_bits(magnitude) + 0.5f - 0.5f);     /* units of 2^-24 */
    uint32_t u = 0x7F800000u;
    if (magnitude < 0x38800000u)
        u = small;
    else if (magnitude < 0x477FF000u)
        u = normal;

    return float_of_bits(magnitude > 0x7F800000u ? 0x7FC00000u : sign | u);
}

/* Rounds v to F16 or BF16; returns it unchanged for any other type. */
static inline float
rounded(enum dtype dtype, float v)
{
    if (dtype == DTYPE_BF16)
        return bfloat16_to_float(bfloat16_of_float(v));
    if (dtype == DTYPE_F16)
        return rounded_f16(v);
    return v;
}

/* Returns the distance from 1 to the next value. */
static inline float
rounded_epsilon(enum dtype dtype)
{
    if (dtype == DTYPE_BF16)
        return 0x1p-7f;
    if (dtype == DTYPE_F16)
        return 0x1p-10f;
    return 0x1p-23f;
}

/* Returns the smallest normal value. */
static inline float
rounded_tiny(enum dtype dtype)
{
    if (dtype == DTYPE_F16)
        return 0x1p-14f;
    return 0x1p-126f;
}

#endif
