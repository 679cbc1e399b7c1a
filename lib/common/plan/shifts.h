/* shifts: how the deltas of a job (delta.h) show in its output. The figures do not depend on the number of workers or on the size of
 * their blocks, because the sums are exact (base/exact_sum.h), provided that the runs that are added are the same. */
#ifndef PLAN_SHIFTS_H
#define PLAN_SHIFTS_H

#include "kernel/shift.h"
#include "plan/delta.h"

/* D: the change of the elements; R: the change of the output. */
struct shift {
    uint64_t n;                 /* elements; 0: none was seen */
    double relative;            /* |D| / |W| */
    double kept;                /* sum of R D / sum of D D: 1 if all of the change is in the output; NAN without a change */
    double noise;               /* |R - D| / |D|; NAN without a change */
    double changed;             /* share of elements with R not 0 */
};

struct shifts;

/* Allocates for deltas numbered below n. `again`: an encoder also encodes the values without the change, to tell what it would have
 * changed anyway; otherwise R is compared with the unencoded values. Returns NULL on failure. */
struct shifts *shifts_new(size_t n, bool again, struct err *err);
void shifts_free(struct shifts *s);                     /* NULL is allowed */
bool shifts_again(const struct shifts *s);

/* Adds the sums of one run of n elements, of `total` that there are. Callable from any thread. */
void shifts_add(struct shifts *s, const struct delta *delta, const struct shift_lanes *sum, uint64_t n, uint64_t total);

/* Fails with ERR_MEMORY if an earlier shifts_add() ran out of memory. */
bool shifts_check(const struct shifts *s, struct err *err);

/* Returns the figures of a delta, or with NULL of all together. */
struct shift shifts_of(const struct shifts *s, const struct delta *delta);

#endif
