/* make: the factors of rope_type llama3, in both directions. The other generated tensors: config.h. */
#ifndef FAMILY_MAKE_H
#define FAMILY_MAKE_H

#include <stdint.h>

/* The parameters of rope_type llama3. */
struct llama3_rope {
    double theta, factor, low, high, length;
};

/* Returns the factor of pair i of a head with n dimensions. */
float llama3_factor(const struct llama3_rope *rope, uint64_t i, uint64_t n);

#endif
