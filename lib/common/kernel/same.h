/* same: comparisons of exact encodings with their source. 0 and -0 are the same, NaN differs from everything. */
#ifndef KERNEL_SAME_H
#define KERNEL_SAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dtype/dtype.h"

/* Returns true if x[i] and y[i] are the same finite number after rounding to a type, BF16, F16 or F32, or the same before. */
bool same_rounded(enum dtype type, const float *x, const float *y, size_t n);

/* Returns how many of n floats, from the first one on, are code * scale for a float8 code each, after rounding to BF16 or F32: a value is
 * compared with the product of one code, that nearest to x[i] * (1 / scale). |x[i]| and scale are below 2^100, scale at least 2^-100. */
size_t same_fp8(enum dtype codes, enum dtype type, const float *x, size_t n, float scale);

/* Values (q - zero) * d + m of codes q within [low, top], each operation rounded to F32, the result to BF16 if `rounds`. */
struct same_codes {
    float d, m, zero, low, top;
    bool rounds;
};

/* Sets q[i] to the integer nearest to (x[i] - m) / d, plus `zero`. Returns true if all are codes with the values x[i]. n is a multiple of
 * 32. */
bool same_products(uint8_t *q, const float *x, size_t n, const struct same_codes *c);

/* What some floats are. */
struct same_extent {
    float high, low;                    /* the largest one, and the smallest */
    float least;                        /* the smallest magnitude but 0, and the largest power of two that divides all of them; */
    float unit;                         /* infinite if all are 0 */
    bool finite, narrow;                /* all are finite; all are numbers of BF16 */
};
struct same_extent same_extent(const float *x, size_t n);

#endif
