/* same: comparisons of exact encodings with their source. 0 and -0 are the same, NaN differs from everything. */
#ifndef KERNEL_SAME_H
#define KERNEL_SAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dtype/dtype.h"

/* Returns true if n floats are the same. */
bool same_floats(const float *x, const float *y, size_t n);

/* Sets q[i] to the integer nearest to x[i] / d, plus `zero`. Returns true if all are within [low, top] and
 * (q[i] - zero) * d == x[i], after rounding to BF16 if `rounds`. n is a multiple of 32. */
bool same_products(uint8_t *q, const float *x, size_t n, float d, float zero, float low, float top, bool rounds);

/* Sets q[i] to the integer nearest to (x[i] - m) / d. Returns true if all are within [0, top] and q[i] * d + m == x[i], with two roundings
 * to F32. n is a multiple of 32. */
bool same_steps(uint8_t *q, const float *x, size_t n, float d, float m, float top);

/* What some floats are. */
struct same_extent {
    float high, low;                    /* the largest one, and the smallest */
    float least;                        /* the smallest magnitude but 0, and the largest power of two of which all are multiples; */
    float unit;                         /* infinite if all are 0 */
    bool finite, narrow;                /* all are finite; all are numbers of BF16 */
};
struct same_extent same_extent(const float *x, size_t n);

/* Returns true if n floats are the same after rounding to a type, F32, BF16 or F16, and finite then. */
struct kernels;
bool same_rounded(const struct kernels *k, enum dtype type, const float *x, const float *y, size_t n);

#endif
