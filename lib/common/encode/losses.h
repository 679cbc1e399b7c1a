/* losses: what encoding takes from the weights of a job. Sums do not depend on how many workers make them, nor on the size
 * of their blocks, when what is added each time does not: sums of doubles are exact here. */
#ifndef ENCODE_LOSSES_H
#define ENCODE_LOSSES_H

#include "encode/encode.h"

/* What was taken from a weight, or from all. */
struct loss {
    uint64_t n;                 /* elements */
    double distance;            /* mean of |x - back| */
    double most;                /* the largest */
    double sqnr;                /* 10 log10(sum x^2 / sum (x - back)^2), dB; infinite when nothing was lost */
    double cosine;              /* sum x back / sqrt(sum x^2 * sum back^2); 1 of zeros that stay */
    double noise;               /* sum of (x - back)^2 */
};

struct losses;

/* Of n encodings, numbered from 0 on. NULL on failure. */
struct losses *losses_new(size_t n, struct err *err);
void losses_free(struct losses *l);                     /* takes NULL */

/* Add the sums of one run of a weight; from any thread. */
void losses_add(struct losses *l, const struct encoding *e, const struct loss_lanes *sum, uint64_t n);

/* Whether there was memory for all that was added; else ERR_MEMORY. */
bool losses_check(const struct losses *l, struct err *err);

/* Of a weight all of which was added, or with NULL of all these. */
struct loss losses_of(const struct losses *l, const struct encoding *e);

#endif
