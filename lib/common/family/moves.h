/* moves: a tensor whose dimensions are viewed, merged, exchanged and sliced. plan/composed.h orders the elements of a source by
 * sizes and strides; merged dimensions have no single stride, so each dimension here is a group of those. */
#ifndef FAMILY_MOVES_H
#define FAMILY_MOVES_H

#include "plan/composed.h"

#define MOVES_CLOSED UINT32_MAX

/* Plain storage. */
struct moves {
    struct strided s;
    uint32_t rank;
    uint8_t width[LAYOUT_RANK];         /* of each dimension: the number of consecutive dimensions of `s`, at least 1 */
    uint32_t open, nopen;               /* on the way back, for a part of a source: the dimensions of `s` whose size the whole
                                         * source decides; MOVES_CLOSED: none */
};

/* Starts with all elements of a tensor; rank is at most LAYOUT_RANK. */
void moves_init(struct moves *m, const uint64_t *dim, uint32_t rank);

/* Returns the size of dimension d. */
uint64_t moves_size(const struct moves *m, uint32_t d);

/* Returns true if dimension d contains the open one. */
bool moves_is_open(const struct moves *m, uint32_t d);

/* Turns dimension d, which is not open, into n dimensions with these sizes. Returns false if their product is not the size of
 * d, the rank would exceed LAYOUT_RANK, or dimensions that were merged before do not fit into the sizes. */
bool moves_view(struct moves *m, uint32_t d, const uint64_t *size, uint32_t n);

/* Turns n dimensions from d on into one. */
void moves_merge(struct moves *m, uint32_t d, uint32_t n);

/* Permutes n dimensions: dimension d + i becomes the former d + from[i]. */
void moves_permute(struct moves *m, uint32_t d, const uint32_t *from, uint32_t n);
void moves_swap(struct moves *m, uint32_t d, uint32_t e);

/* Keeps indices [from, from + n) of dimension d. Returns false if it has fewer, or if it was merged and the range does not
 * consist of whole rows of it. */
bool moves_slice(struct moves *m, uint32_t d, uint64_t from, uint64_t n);

/* Inserts a dimension of one element before dimension d, which is at most the rank. Returns false if the rank would exceed
 * LAYOUT_RANK. */
bool moves_insert(struct moves *m, uint32_t d);

/* Removes the first dimension, which has one element. */
void moves_shift(struct moves *m);

/* Opens dimension d. */
void moves_set_open(struct moves *m, uint32_t d);

/* Return the number of elements of the whole before the open dimension, and of this part from it on: parts that are joined
 * along the open dimension alternate in runs of that many. */
uint64_t moves_outer(const struct moves *m);
uint64_t moves_run(const struct moves *m);

#endif
