/* changed: elements of pieces that adapters change. They are read as F64, changed, and rounded once; or their codes are changed. */
#ifndef PIPELINE_CHANGED_H
#define PIPELINE_CHANGED_H

#include "pipeline/block.h"

/* Generates elements [first, first + count), of `size` bytes each, of a piece that has a delta. */
bool changed_run(const struct reading *how, const struct piece *piece, uint64_t first, uint64_t count, size_t size, uint8_t *y,
    struct err *err);

/* Adds the values of another count. */
void changed_values_add(struct changed_values *sum, const struct changed_values *more);

#endif
