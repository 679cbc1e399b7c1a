/* exact_grid: finds the low-bit grid of the values of unquantized matrices, such as those of a dequantized copy. */
#ifndef EXACT_EXACT_GRID_H
#define EXACT_EXACT_GRID_H

#include "encode/exact.h"
#include "kernel/kernels.h"
#include "model/model.h"
#include "scheme/roles.h"

/* The scheme that holds a matrix at the level of its type in the fewest bits. */
struct exact_grid {
    enum exact_level level;
    const char *scheme;         /* NULL: none. Static */
    uint64_t group;             /* elements that share a scale; 0: as the scheme has them */
    bool zeros;                 /* with zero points */
};

/* Calls see() for each matrix of F32, F16 or BF16, in the order of the input. Reads all of these tensors, and spools a pipe first. */
bool exact_grid_each(struct model *model, const struct roles *roles, const struct kernels *kernels,
    void (*see)(void *of, const struct tensor *t, const struct exact_grid *g), void *of, struct err *err);

#endif
