/* layout: how the elements of a tensor lie in its file when they are not row-major, one behind the other: a view of a
 * storage in a checkpoint, an array in Fortran order. */
#ifndef CATALOG_LAYOUT_H
#define CATALOG_LAYOUT_H

#include "base/err.h"

enum { LAYOUT_RANK = 64 };

/* A dimension: n elements, each `stride` elements behind the one before it. */
struct layout_dim {
    uint64_t n, stride;
};

/* The dimensions of more than one element, the outermost first, those that run on as one merged. All of it is O(rank) of
 * these, whatever the rank of the tensor. */
struct layout {
    uint32_t rank;
    struct layout_dim dim[LAYOUT_RANK];
};

/* The layout of a tensor of this size and these strides, in elements; of one without elements it is that of none. */
void layout_make(struct layout *layout, const uint64_t *size, const uint64_t *stride, uint32_t rank);

/* Whether it is row-major without gaps. */
bool layout_is_plain(const struct layout *layout);

/* Elements from the first to the last one in the file, both included: false when 64 bits cannot count them. One at
 * least. */
bool layout_extent(const struct layout *layout, uint64_t *elements);

/* Where element i, counted row-major, lies: in elements behind the first one. */
uint64_t layout_at(const struct layout *layout, uint64_t i);

/* The elements [*from, *to) among which those at places [first, first + count) are, count at least 1. */
void layout_bounds(const struct layout *layout, uint64_t first, uint64_t count, uint64_t *from, uint64_t *to);

/* Bytes that a copy of it takes. */
size_t layout_size(const struct layout *layout);

#endif
