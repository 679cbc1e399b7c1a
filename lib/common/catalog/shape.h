/* shape: the dimensions of a tensor, row-major: the last one varies fastest. */
#ifndef CATALOG_SHAPE_H
#define CATALOG_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dtype/dtype.h"

struct shape {
    uint32_t rank;              /* 0: a scalar, one element */
    const uint64_t *dim;        /* borrowed; rank entries */
};

/* Product of the dimensions, multiplied left to right; false when it leaves 64 bits. */
bool shape_numel(const struct shape *shape, uint64_t *numel);

/* Bytes of a tensor whose elements lie without gaps: false when the number of elements or of bits leaves
 * 64 bits; *whole is false when the elements do not fill whole blocks (or bytes) and *nbytes is unset. */
bool shape_nbytes(const struct shape *shape, enum dtype dtype, uint64_t *nbytes, bool *whole);

/* "[576, 7168]". Long shapes are cut. Returns buf. */
enum { SHAPE_TEXT = 160 };
const char *shape_text(char buf[SHAPE_TEXT], const struct shape *shape);

#endif
