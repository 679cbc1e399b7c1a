/* make: tensors that a family generates from its configuration: frequency factors of RoPE. */
#ifndef HF_FAMILY_MAKE_H
#define HF_FAMILY_MAKE_H

#include "hf/family/rows.h"

enum { FAMILY_FACTORS = 1 << 16 };      /* limit on the elements of a generated tensor */

/* Appends the tensors of the `make` rows that apply to list[*n...], which has room for all rows. Fails with ERR_MALFORMED for
 * a configuration that does not define them. */
bool family_make(struct chosen *list, size_t *n, const struct family_tensors *how, struct err *err);

/* The parameters of rope_type llama3. */
struct llama3_rope {
    double theta, factor, low, high, length;
};

/* Returns the factor of pair i of a head with n dimensions. */
float llama3_factor(const struct llama3_rope *rope, uint64_t i, uint64_t n);

#endif
