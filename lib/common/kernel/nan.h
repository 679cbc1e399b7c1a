/* nan: the one NaN that kernels yield. The NaN of an operation depends on the CPU (x86: negative), and a NaN operand passes
 * on its payload, so NaN results are replaced, in the few blocks that can have any. */
#ifndef KERNEL_NAN_H
#define KERNEL_NAN_H

#include "dtype/half.h"

#include <stddef.h>

#define NAN_CANONICAL 0x7FC00000u

static inline float
nan_canonical(float f)
{
    if (f != f)
        return float_of_bits(NAN_CANONICAL);
    return f;
}

static inline void
nan_canonical_all(float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = nan_canonical(y[i]);
}

/* The same for n products of a factor, a binary16 at `factor`. Only a factor that is not finite has any. */
static inline void
nan_canonical_by(float *y, size_t n, const uint8_t *factor)
{
    if (!half_is_finite(load_le16(factor)))
        nan_canonical_all(y, n);
}

#endif
