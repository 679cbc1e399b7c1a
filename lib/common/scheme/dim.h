/* dim: compares dimensions of tensors, for the rows of the table. The last two dimensions are a matrix; those before them
 * are experts, and all tensors of a weight must have equal ones. */
#ifndef SCHEME_DIM_H
#define SCHEME_DIM_H

#include "catalog/tensor.h"

/* Returns dimension i counted from the last, or 1 if there is no such dimension. */
uint64_t dim_back(const struct tensor *t, uint32_t i);

static inline uint64_t dim_rows(const struct tensor *t) { return dim_back(t, 1); }
static inline uint64_t dim_cols(const struct tensor *t) { return dim_back(t, 0); }

bool dim_same_shape(const struct tensor *a, const struct tensor *b);
/* Returns true if both have the same number of elements. */
bool dim_same_count(const struct tensor *a, const struct tensor *b);
/* Returns true for two matrices, or two stacks of equally many. */
bool dim_same_experts(const struct tensor *a, const struct tensor *b);
/* Like dim_same_experts, and the matrices have equally many rows. */
bool dim_same_rows(const struct tensor *a, const struct tensor *b);

bool dim_is_one(const struct tensor *t);
/* Returns true for a single value, or one for each expert of the codes. */
bool dim_is_one_each(const struct tensor *t, const struct tensor *codes);

/* Finds the number of elements that share a scale along an axis of n elements and k scales, from these two numbers alone.
 * Returns DIM_AXIS_TWO if two block sizes fit equally well; *block is then one of them. */
enum { DIM_USUAL = 128 };
enum dim_axis { DIM_AXIS_NONE, DIM_AXIS_ONE, DIM_AXIS_TWO };
enum dim_axis dim_axis(uint64_t n, uint64_t k, uint64_t *block);

/* Checks 4- or 6-bit codes that have one scale for each `bytes` bytes. (For F4, shapes count elements.) */
bool dim_scale_each(const struct tensor *codes, const struct tensor *scale, uint64_t bytes);

#endif
