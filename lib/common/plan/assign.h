/* assign: picks one of several encoders for each weight, so that the total size fits and the total error is smallest. */
#ifndef PLAN_ASSIGN_H
#define PLAN_ASSIGN_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { ASSIGN_NODES = 4 << 20 };         /* steps of the final search; about 0.1 s */

#define ASSIGN_NEVER UINT64_MAX          /* size of an option that the encoder cannot make */

struct assign_option {
    uint64_t nbytes;            /* size of the weight with this encoder, or ASSIGN_NEVER */
    double noise;               /* sum of squared errors */
};

/* Sets pick[i], for each of n weights, to the chosen encoder (an index into options[i * each ..], below `each`), or to
 * `each` if no encoder can make it. Uses at most `most` bytes. The search starts from the smallest size of every weight,
 * then repeatedly takes the step on the lower hull of a weight's options that removes most noise per byte; steps that no
 * longer fit are skipped. plan/assign_refine.h then improves the pick: no swap of two weights lowers the noise, and if the
 * search ends within ASSIGN_NODES steps, as it does for seven weights and eight encoders, the pick is optimal. Sets *least
 * to the smallest possible size; if that exceeds `most`, the picks are the smallest. Fails with ERR_MEMORY or ERR_LIMIT. */
bool assign_encoders(size_t *pick, const struct assign_option *options, size_t n, size_t each, uint64_t most, uint64_t *least,
    struct err *err);

/* --- assign_refine.c, for assign.c */

/* Lowers the noise of a pick that uses at most `most` bytes, in two steps. First, options of two weights are swapped as long
 * as the noise falls, at most 2 n + 100 times. Then all picks are searched, for at most ASSIGN_NODES steps; branches whose
 * noise cannot fall below the best known are cut off, using the Lagrangian bound with `price` (noise per byte, 0 or more).
 * Seven weights with eight options are searched completely. Measured: 0.01 s for 1000 weights with six options, 0.06 s for
 * 20000. Fails with ERR_MEMORY. */
bool assign_refine(size_t *pick, const struct assign_option *options, size_t n, size_t each, uint64_t most, double price,
    struct err *err);

#endif
