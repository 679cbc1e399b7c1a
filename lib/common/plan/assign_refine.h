/* assign_refine: improves a good pick. Used by assign.c only. */
#ifndef PLAN_ASSIGN_REFINE_H
#define PLAN_ASSIGN_REFINE_H

#include "plan/assign.h"

/* Lowers the noise of a pick that uses at most `most` bytes, in two steps. First, options of two weights are swapped as long
 * as the noise falls, at most 2 n + 100 times. Then all picks are searched, for at most ASSIGN_NODES steps; branches whose
 * noise cannot fall below the best known are cut off, using the Lagrangian bound with `price` (noise per byte, 0 or more).
 * Seven weights with eight options are searched completely. Measured: 0.01 s for 1000 weights with six options, 0.06 s for
 * 20000. Fails with ERR_MEMORY. */
bool assign_refine(size_t *pick, const struct assign_option *options, size_t n, size_t each, uint64_t most, double price,
    struct err *err);

#endif
