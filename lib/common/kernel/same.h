/* same: comparisons of exact encodings with their source. 0 and -0 are the same, NaN differs from everything. */
#ifndef KERNEL_SAME_H
#define KERNEL_SAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns true if n floats are the same. */
bool same_floats(const float *x, const float *y, size_t n);

/* Sets q[i] to the integer nearest to x[i] / d, plus `zero`. Returns true if all are within [low, top] and
 * (q[i] - zero) * d == x[i]. n is a multiple of 32. */
bool same_products(uint8_t *q, const float *x, size_t n, float d, float zero, float low, float top);

#endif
