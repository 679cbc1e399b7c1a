/* streaming: whether an output can be made of an input that only goes forward. The one place that asks; the answer comes
 * from what each piece is made of, and from what its scheme says that a run of elements needs. */
#ifndef PLAN_STREAMING_H
#define PLAN_STREAMING_H

#include "plan/pieces.h"

/* What has to be held back, in the order of the input; zeroed: nothing. */
struct streaming {
    struct extent *keep;        /* n of them, without overlap; owned */
    size_t n;
    uint64_t nbytes;
};

/* *forward: every piece is made of one run, behind those of the pieces before it, and of companions that have arrived by
 * then; keep lists these. False is a failure. */
bool streaming_order(struct streaming *arrival, const struct pieces *pieces, bool *forward, struct err *err);
void streaming_clear(struct streaming *arrival);

#endif
