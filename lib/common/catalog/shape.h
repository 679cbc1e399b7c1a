/* shape: the dimensions of a tensor, row-major: the last one varies fastest. */
#ifndef CATALOG_SHAPE_H
#define CATALOG_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dtype/dtype.h"

/* Packed, because there may be a million of them and a rank of 64: each dimension takes seven bits a byte, the low ones
 * first, and all its bytes but the last have the top bit set. The dimensions of a tensor that has elements multiply to
 * less than 2^64, so that they never take more than 74 bytes. */
struct shape {
    uint32_t rank;              /* 0: a scalar, one element */
    const uint8_t *packed;      /* borrowed */
};

enum { SHAPE_DIM = 10 };        /* bytes that one dimension takes at most */

/* Pack `rank` dimensions into out, of rank * SHAPE_DIM bytes; returns the bytes they took. */
size_t shape_pack(uint8_t *out, const uint64_t *dim, uint32_t rank);
/* Bytes of shape->packed. */
size_t shape_packed_len(const struct shape *shape);

/* The dimension at *packed, which goes on to the next: for a walk over all of them. */
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

/* Dimension i, which is below the rank. It goes past all before it. */
uint64_t shape_dim(const struct shape *shape, uint32_t i);

/* Whether the first n dimensions, which both have, are the same. */
bool shape_same(const struct shape *a, const struct shape *b, uint32_t n);

/* Whether a dimension is 0, so that there are no elements, whatever the others are. */
bool shape_is_empty(const struct shape *shape);

/* Product of the dimensions, multiplied left to right; false when it leaves 64 bits. */
bool shape_numel(const struct shape *shape, uint64_t *numel);

/* Bytes of a tensor whose elements lie without gaps: false when the number of elements or of bits leaves
 * 64 bits; *whole is false when the elements do not fill whole blocks (or bytes) and *nbytes is unset. */
bool shape_nbytes(const struct shape *shape, enum dtype dtype, uint64_t *nbytes, bool *whole);

/* Returns where in such a tensor of blocks, which has a size, the block begins that holds element i. */
uint64_t shape_offset(const struct shape *shape, enum dtype dtype, uint64_t i);

/* "[576, 7168]". Long shapes are cut. Returns buf. */
enum { SHAPE_TEXT = 160 };
const char *shape_text(char buf[SHAPE_TEXT], const struct shape *shape);

#endif
