/* reduction: which weights of a choice lose precision, and what each becomes. */
#ifndef PLAN_REDUCTION_H
#define PLAN_REDUCTION_H

#include "plan/naming.h"

/* Zeroed: nothing is encoded. */
struct reduction {
    const struct encoder *encoder;      /* of what is eligible; NULL: nothing is encoded */
    struct encode_options how;
    struct naming which;                /* by the globs that the user gave; clear with naming_clear() */
    bool pure;                          /* every matrix of floats is eligible, whatever it is called */
};

/* Replace the weights that are eligible by the parts that they become. What is eligible is a tensor of F64, F32, F16 or BF16,
 * in the output, of two dimensions or more, of at least 32 x 32, that is called ".weight" and none of embeddings, norms, heads
 * and routers; or what a glob to include says. The others stay, and say why. Encodings are allocated of `memory`. ERR_USAGE when
 * nothing is encoded. */
bool reduction_apply(const struct reduction *r, struct choice *choice, struct catalog *memory, struct err *err);

#endif
