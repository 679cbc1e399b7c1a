/* assign: which of several encoders each weight gets, so that all of them fit and the least is lost. */
#ifndef PLAN_ASSIGN_H
#define PLAN_ASSIGN_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { ASSIGN_NODES = 4 << 20 };         /* steps of the search that ends it; about 0.1 s */

#define ASSIGN_NEVER UINT64_MAX          /* bytes of what an encoder cannot make */

struct assign_option {
    uint64_t nbytes;            /* of the weight by this encoder, or ASSIGN_NEVER */
    double noise;               /* what is lost: sum of squared errors */
};

/* pick[i] of n weights: below `each`, the encoder of options[i * each ..]; or `each` where none can make it. As few bytes as
 * `most` are used: beginning with the smallest of all, the step that takes away most noise a byte comes first, of those on the
 * lower hull of a weight's options; what no longer fits is passed over. From there the pick is refined (plan/assign_refine.h):
 * no swap of two weights lowers the noise, and where the search of ASSIGN_NODES steps comes to its end, as it does for seven
 * weights and eight encoders, no pick at all has less. *least: the bytes of the smallest of all, which are
 * more than `most` where the answer is false; or that is ERR_MEMORY. */
bool assign_encoders(size_t *pick, const struct assign_option *options, size_t n, size_t each, uint64_t most, uint64_t *least,
    struct err *err);

#endif
