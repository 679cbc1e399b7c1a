/* solve_fp8_dense: the scale of dense values that were codes times one scale once. It follows from a few of the values; whether it
 * holds for all of them, a kernel finds out. */
#ifndef ENCODE_SOLVE_FP8_DENSE_H
#define ENCODE_SOLVE_FP8_DENSE_H

#include "encode/solve.h"
#include "encode/solve_fp8.h"

enum { SOLVE_FP8_CODES = 126 };         /* magnitudes of E4M3; E5M2 has fewer */

/* Returns true if codes times a scale are normal numbers of BF16, so that a value is the product of one code at most, and true for no
 * scale that is not a number. */
static inline bool
solve_fp8_is_unique(float scale)
{
    return scale >= 0x1p-100f && scale <= 0x1p100f;
}

/* Returns true if the source has no codes, and the functions below support the level. */
bool solve_fp8_is_dense(const struct encoding *e);

/* Finds the scale of a set of magnitudes. */
bool solve_fp8_search(const struct solve_fp8 *how, const struct solve_set *set, enum exact_level level, float *scale);

/* A scale, and the values that made it what it is. */
struct solve_fp8_found {
    struct solve_set set;
    size_t codes;                       /* number of codes still possible for the largest value */
    float scale;
};

/* Adds the magnitude of a value that has to be a code times the scale. Begin with { .codes = SIZE_MAX }. Returns false if no
 * scale holds the values, or it depends on more than these values. */
bool solve_fp8_add(struct solve_fp8_found *f, const struct solve_fp8 *how, enum exact_level level, float v);

/* Returns how many of n values, from the first one on, are codes times a scale. */
size_t solve_fp8_held(const struct solve_fp8 *how, enum exact_level level, const struct kernels *k, const float *x, size_t n, float scale);

struct solve_fp8_tile {
    const float *x[2];                  /* the first `half` rows, and the rest */
    size_t rows, half, cols, stride;
};

static inline const float *
solve_fp8_row(const struct solve_fp8_tile *t, size_t r)
{
    return t->x[r >= t->half] + r % t->half * t->stride;
}

/* Sets the scale that solve_fp8_search() finds for all values of a tile, or the smallest power of two if scales are E8M0. Returns false
 * if no scale holds them, or a search is needed: values that are not finite, very large or very small. */
bool solve_fp8_dense(float *scale, const struct solve_fp8 *how, enum exact_level level, const struct kernels *k,
    const struct solve_fp8_tile *t);

#endif
