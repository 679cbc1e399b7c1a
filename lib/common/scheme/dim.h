/* dim: the dimensions of tensors against each other, for the rows of the table. The last two are a matrix; those before
 * it are experts, and everyone has the same of them. */
#ifndef SCHEME_DIM_H
#define SCHEME_DIM_H

#include "catalog/tensor.h"

/* Dimension i from behind; 1 where there is none. */
uint64_t dim_back(const struct tensor *t, uint32_t i);

static inline uint64_t dim_rows(const struct tensor *t) { return dim_back(t, 1); }
static inline uint64_t dim_cols(const struct tensor *t) { return dim_back(t, 0); }

bool dim_same_shape(const struct tensor *a, const struct tensor *b);
/* Two matrices, or stacks of as many. */
bool dim_same_experts(const struct tensor *a, const struct tensor *b);
/* The same with as many rows. */
bool dim_same_rows(const struct tensor *a, const struct tensor *b);

bool dim_is_one(const struct tensor *t);
/* One value, or one an expert of the codes. */
bool dim_is_one_each(const struct tensor *t, const struct tensor *codes);

/* Whether k scales can cover n elements: groups of n/k, or blocks of a power of two with a short last one. */
bool dim_covers(uint64_t n, uint64_t k);

/* Elements that share a scale along an axis of n elements and k scales, where only these numbers tell; of two that fit as
 * well *block is one. */
enum { DIM_USUAL = 128 };
enum dim_axis { DIM_AXIS_NONE, DIM_AXIS_ONE, DIM_AXIS_TWO };
enum dim_axis dim_axis(uint64_t n, uint64_t k, uint64_t *block);

/* 4- or 6-bit codes with a scale for `bytes` bytes of them; an F4 shape counts elements. */
bool dim_scale_each(const struct tensor *codes, const struct tensor *scale, uint64_t bytes);

#endif
