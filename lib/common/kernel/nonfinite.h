/* nonfinite: how many of some values are NaN, and how many infinite. */
#ifndef KERNEL_NONFINITE_H
#define KERNEL_NONFINITE_H

#include <stddef.h>
#include <stdint.h>

#include "dtype/dtype.h"

struct nonfinite {
    uint64_t nan, infinite;
};

/* The bytes of a value, little-endian, that nonfinite_add() looks at: 2 for F16 and BF16, 4 for F32 and the halves of C64,
 * 8 for F64; 0 for a type whose values it does not know. */
size_t nonfinite_size(enum dtype dtype);

/* Add those of the n values at x, any alignment, whose size is not 0. */
void nonfinite_add(struct nonfinite *sum, enum dtype dtype, const uint8_t *x, size_t n);

#endif
