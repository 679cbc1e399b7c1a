/* nonfinite: counts NaN and infinite values. */
#ifndef KERNEL_NONFINITE_H
#define KERNEL_NONFINITE_H

#include <stddef.h>
#include <stdint.h>

#include "dtype/dtype.h"

struct nonfinite {
    uint64_t nan, infinite;
};

/* Returns the bytes of a value, little-endian, that nonfinite_add() examines: 2 for F16 and BF16, 4 for F32 and the halves
 * of C64, 8 for F64; 0 for an unsupported type. */
size_t nonfinite_size(enum dtype dtype);

/* Adds the counts of the n values at x, any alignment. Their size must not be 0. */
void nonfinite_add(struct nonfinite *sum, enum dtype dtype, const uint8_t *x, size_t n);

#endif
