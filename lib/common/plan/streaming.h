/* streaming: decides whether an output can be made from an input that cannot seek. This is the only place that decides it,
 * from the sources of each piece and from what its scheme says that a run of elements needs. */
#ifndef PLAN_STREAMING_H
#define PLAN_STREAMING_H

#include "plan/pieces.h"

/* Data to buffer, in input order; zeroed: none. */
struct streaming {
    struct extent *keep;        /* n ranges, without overlap; owned */
    size_t n;
    uint64_t nbytes;
};

/* Sets *forward if every piece needs only one run, after the runs of the pieces before it, and companions that have arrived by
 * then, which `keep` lists. Returns false on failure. */
bool streaming_order(struct streaming *arrival, const struct pieces *pieces, bool *forward, struct err *err);
void streaming_clear(struct streaming *arrival);

#endif
