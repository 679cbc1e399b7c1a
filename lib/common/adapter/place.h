/* place: where the weight of a module is among the tensors of a choice. */
#ifndef ADAPTER_PLACE_H
#define ADAPTER_PLACE_H

#include "adapter/adapter_priv.h"
#include "adapter/change.h"
#include "adapter/weight_names.h"

struct weight_place {
    size_t index;               /* chosen tensor, or WEIGHT_NONE */
    struct shape shape;         /* of the module's weight */
    struct change_rows rows;    /* its rows, of all other dimensions; a vector has rows of one element */
    bool transposed;            /* `rows` are its columns: shape is [columns of the place, rows of the place] */
    const struct operation *op; /* nops operations from the stored tensor to the weight; borrowed */
    size_t nops;
};

/* Sets a place to all of a chosen tensor. */
void place_whole(struct weight_place *p, const struct choice *choice, size_t index);

/* Limits a place to n of its rows, from `first` on, as if it were a matrix with rows of `cols` elements. Returns false if it does
 * not have that many, or if its rows are not adjacent. */
bool place_rows(struct weight_place *p, uint64_t first, uint64_t n, uint64_t cols);

/* Limits a place to columns [first, first + n). */
bool place_cols(struct weight_place *p, uint64_t first, uint64_t n);


#endif
