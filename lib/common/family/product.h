/* product: the verb `by`, which multiplies a small tensor by another one, element by element, and its inverse: the product and
 * ones, which compute the same. */
#ifndef FAMILY_PRODUCT_H
#define FAMILY_PRODUCT_H

#include "family/back_priv.h"

/* Sets *chosen to the product of `part`, all of the source of an output, and the tensor that its row names. Reads both; so they
 * have at most 2^20 elements. Fails with ERR_MALFORMED if the other tensor is missing or has other sizes, or with ERR_LIMIT.
 * The caller sets name and type. */
bool product_make(struct chosen *chosen, const struct rows_work *w, const struct row_output *out, const struct composed_part *part,
    const uint64_t *dim, uint32_t rank, struct err *err);

/* Adds the ones that the tensors become which rows with `by` name. */
bool product_add_ones(struct back_work *w, struct err *err);

#endif
