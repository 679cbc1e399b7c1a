/* assign_refine: from a good pick to a better one. For this layer. */
#ifndef PLAN_ASSIGN_REFINE_H
#define PLAN_ASSIGN_REFINE_H

#include "plan/assign.h"

/* Lowers the noise of a pick that uses no more than `most` bytes, in two steps. First, options of two weights are swapped for
 * others while the noise falls, at most 2 n + 100 times. Then all picks are searched, as far as ASSIGN_NODES steps go: those
 * whose noise cannot fall below the best so far are cut off, by the Lagrangian bound with `price`, noise a byte, 0 or more.
 * Seven weights of eight options are searched to the end. Measured: 0.01 s for
 * 1000 weights of six options, 0.06 s for 20000. ERR_MEMORY. */
bool assign_refine(size_t *pick, const struct assign_option *options, size_t n, size_t each, uint64_t most, double price,
    struct err *err);

#endif
