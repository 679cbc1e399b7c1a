/* encode_search: searches for the scale of a group of floats, shared by ggml's encoders. Each tries some scales and returns
 * the one with the smallest weighted squared error.
 *
 *     x        n floats
 *     weights  n floats, the weight of each squared error
 *     codes    n bytes, the code of each float under the scale returned
 *
 * The order of all operations is part of the definition: sums start at element 0. n is at most SEARCH_MOST.
 *
 * Source: ggml-quants.c, make_qx_quants, make_q3_quants, make_qkx2_quants, make_qkx3_quants, make_qp_quants.
 */
#ifndef KERNEL_ENCODE_SEARCH_H
#define KERNEL_ENCODE_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

enum { SEARCH_MOST = 32 };

/* x = scale * (code - top), codes 0 .. 2 top - 1. Without weights (NULL) the weight of x is x * x. */
float search_symmetric(uint8_t *codes, const float *x, const float *weights, int n, int top);

/* Same for 16 floats with top = 4 and weights x * x, by changing one code at a time. */
float search_symmetric_q3(uint8_t *codes, const float *x);

/* Scales to try: (first + step * i + top) / range of the floats, for i = 0 .. last. */
struct search_tries {
    float first, step;
    int last;
    bool absolute;                  /* minimize the absolute error, not its square */
};

/* Tries of ggml for elements with importance. */
static const struct search_tries search_tries_weighted = { -0.9f, 0.05f, 36, false };

/* x = scale * code - *min, codes 0 .. top, normally *min >= 0. */
float search_with_min(uint8_t *codes, float *min, const float *x, const float *weights, int n, int top,
    const struct search_tries *tries);

/* x = scale * code, codes 0 .. top, for floats that are not negative. */
float search_positive(uint8_t *codes, const float *x, const float *weights, int n, int top);

#endif
