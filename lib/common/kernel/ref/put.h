/* put: one text for the kernels that yield F32 and those that yield BF16. */
#ifndef KERNEL_REF_PUT_H
#define KERNEL_REF_PUT_H

#include <stdbool.h>
#include <stddef.h>

#include "dtype/bfloat16.h"
#include "kernel/kernels.h"
#include "kernel/nan.h"

/* Returns the place of element i. */
static ALWAYS_INLINE void *
put_at(void *y, size_t i, const bool bf16)
{
    if (bf16)
        return (void *)((uint16_t *)y + i);
    return (void *)((float *)y + i);
}

/* Sets element i of y. `bf16` is a constant once inlined. */
static ALWAYS_INLINE void
put(void *y, size_t i, float v, const bool bf16)
{
    if (bf16)
        ((uint16_t *)y)[i] = bfloat16_of_float(v);
    else
        ((float *)y)[i] = nan_canonical(v);
}

/* Sets element i of y to an entry of a table that put() has filled. */
static ALWAYS_INLINE void
put_entry(void *y, size_t i, const void *table, size_t entry, const bool bf16)
{
    if (bf16)
        ((uint16_t *)y)[i] = ((const uint16_t *)table)[entry];
    else
        ((float *)y)[i] = ((const float *)table)[entry];
}

#endif
