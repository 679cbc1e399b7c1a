/* shape: the dimensions of a tensor, row-major, so that the last one varies fastest. */
#ifndef CATALOG_SHAPE_H
#define CATALOG_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dtype/dtype.h"

/* Packed, because a model can have a million shapes of rank up to 64. Each dimension is stored as seven bits per byte, low
 * bits first, with the top bit set in all bytes but the last. The dimensions of a non-empty tensor have a product below
 * 2^64, so they take at most 74 bytes. */
struct shape {
    uint32_t rank;              /* 0: a scalar, one element */
    const uint8_t *packed;      /* borrowed */
};

enum { SHAPE_DIM = 10 };        /* maximum bytes per dimension */

/* Packs `rank` dimensions into out, which has rank * SHAPE_DIM bytes. Returns the bytes used. */
size_t shape_pack(uint8_t *out, const uint64_t *dim, uint32_t rank);
/* Returns the size of shape->packed in bytes. */
size_t shape_packed_len(const struct shape *shape);

/* Returns the dimension at *packed and advances to the next one. */
static inline uint64_t
shape_next(const uint8_t **packed)
{
    uint64_t dim = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint8_t byte = *(*packed)++;
        dim |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return dim;
    }
}

/* Returns dimension i, which must be below the rank. Takes O(i) time. */
uint64_t shape_dim(const struct shape *shape, uint32_t i);

/* Returns true if the first n dimensions are equal. Both shapes must have that many. */
bool shape_same(const struct shape *a, const struct shape *b, uint32_t n);

/* Returns true if a dimension is 0, so that the tensor has no elements. */
bool shape_is_empty(const struct shape *shape);

/* Sets *numel to the product of the dimensions, multiplied left to right. Returns false if it overflows 64 bits. */
bool shape_numel(const struct shape *shape, uint64_t *numel);

/* Sets *nbytes to the size of a tensor whose elements are contiguous. Returns false if the number of elements or of bits
 * overflows 64 bits. Sets *whole to false, and leaves *nbytes unset, if the elements do not fill whole blocks (or bytes). */
bool shape_nbytes(const struct shape *shape, enum dtype dtype, uint64_t *nbytes, bool *whole);

/* Returns the offset in such a tensor of the block that contains element i. The tensor must have a valid size. */
uint64_t shape_offset(const struct shape *shape, enum dtype dtype, uint64_t i);

/* Formats a shape as "[576, 7168]", truncating long ones. Returns buf. */
enum { SHAPE_TEXT = 160 };
const char *shape_text(char buf[SHAPE_TEXT], const struct shape *shape);

#endif
