/* layout: the positions of a tensor's elements in the file if they are not contiguous in row-major order, as for a view of a
 * storage in a checkpoint or an array in Fortran order. */
#ifndef CATALOG_LAYOUT_H
#define CATALOG_LAYOUT_H

#include "base/err.h"

enum { LAYOUT_RANK = 64 };

/* A dimension of n elements, each `stride` elements after the one before it. */
struct layout_dim {
    uint64_t n, stride;
};

/* The dimensions with more than one element, outermost first; contiguous neighbours are merged. All functions are O(rank) of
 * these, independent of the rank of the tensor. */
struct layout {
    uint32_t rank;
    struct layout_dim dim[LAYOUT_RANK];
};

/* Makes the layout of a tensor with these sizes and strides, in elements. If a size is 0, the rank is 0. */
void layout_make(struct layout *layout, const uint64_t *size, const uint64_t *stride, uint32_t rank);

/* Returns true if it is row-major without gaps. */
bool layout_is_plain(const struct layout *layout);

/* Sets *elements to the distance in elements from the first to the end of the last one in the file, at least 1. Returns
 * false if that overflows 64 bits. */
bool layout_extent(const struct layout *layout, uint64_t *elements);

/* Returns the file position, in elements after the first, of element i in row-major order. */
uint64_t layout_at(const struct layout *layout, uint64_t i);

/* Sets [*from, *to) to a range of file positions, in elements, that includes elements [first, first + count) in row-major
 * order. count is at least 1. */
void layout_bounds(const struct layout *layout, uint64_t first, uint64_t count, uint64_t *from, uint64_t *to);

/* Returns the bytes needed for a copy of the layout. */
size_t layout_size(const struct layout *layout);

#endif
