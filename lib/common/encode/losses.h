/* losses: quantization error of the weights of a job, or the difference of pairs of tensors. The results do not depend on the number of workers or on the size of
 * their blocks, because sums of doubles are exact here, provided that the runs that are added are the same. */
#ifndef ENCODE_LOSSES_H
#define ENCODE_LOSSES_H

#include "base/err.h"
#include "kernel/loss.h"

/* Quantization error of one weight or of all. */
struct loss {
    uint64_t n;                 /* elements */
    double distance;            /* mean of |x - back| */
    double most;                /* largest of |x - back| */
    double sqnr;                /* 10 log10(sum x^2 / sum (x - back)^2), dB; infinite without error */
    double cosine;              /* sum x back / sqrt(sum x^2 * sum back^2); 1 if all x and back are 0 */
    double noise;               /* sum of (x - back)^2 */
    double signal;              /* sum of x^2 */
};

struct losses;

/* Allocates for n weights, numbered from 0. Returns NULL on failure. */
struct losses *losses_new(size_t n, struct err *err);
void losses_free(struct losses *l);                     /* NULL is allowed */

/* Adds the sums of one run of n elements of a weight that has `total`. Callable from any thread. */
void losses_add(struct losses *l, size_t number, const struct loss_lanes *sum, uint64_t n, uint64_t total);

/* Fails with ERR_MEMORY if an earlier losses_add() ran out of memory. */
bool losses_check(const struct losses *l, struct err *err);

/* Returns the error of a completely added weight. */
struct loss losses_of(const struct losses *l, size_t number);

/* Returns the error of all such weights together. */
struct loss losses_all(const struct losses *l);

/* Returns 10 log10(signal / noise) in dB, infinite if noise is 0; identical with every libc. */
double losses_sqnr(double signal, double noise);

#endif
