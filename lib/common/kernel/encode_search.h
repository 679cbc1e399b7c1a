/* encode_search: the searches for the scale of a group of floats that ggml's encoders share. Each tries some scales,
 * and keeps the one with the least weighted squared error.
 *   x        n floats
 *   weights  n floats, how much an error matters
 *   codes    n bytes, the code of each float under the scale returned
 * The order of all operations is part of what they mean: a sum goes up from element 0. n is at most SEARCH_MOST.
 *
 * Source: ggml-quants.c, make_qx_quants, make_q3_quants, make_qkx2_quants, make_qkx3_quants, make_qp_quants. */
#ifndef KERNEL_ENCODE_SEARCH_H
#define KERNEL_ENCODE_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

enum { SEARCH_MOST = 32 };

/* x = scale * (code - top), codes 0 .. 2 top - 1. Without weights (NULL) a float is its own, squared. */
float search_symmetric(uint8_t *codes, const float *x, const float *weights, int n, int top);

/* The same of 16 floats with top = 4, each weighing its square, by moving one code at a time. */
float search_symmetric_q3(uint8_t *codes, const float *x);

/* The scales to try: (first + step * i + top) / range of the floats, for i = 0 .. last. */
struct search_tries {
    float first, step;
    int last;
    bool absolute;                  /* the error counts by its magnitude, not by its square */
};

/* What ggml tries where elements have an importance. */
static const struct search_tries search_tries_weighted = { -0.9f, 0.05f, 36, false };

/* x = scale * code - *min, codes 0 .. top, *min >= 0 as a rule. */
float search_with_min(uint8_t *codes, float *min, const float *x, const float *weights, int n, int top,
    const struct search_tries *tries);

/* x = scale * code, codes 0 .. top, for floats that are not negative. */
float search_positive(uint8_t *codes, const float *x, const float *weights, int n, int top);

#endif
