/* llama3: the frequency factors of rope_type llama3 from its settings, and back. */
#ifndef FAMILY_LLAMA3_H
#define FAMILY_LLAMA3_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The parameters of rope_type llama3. */
struct llama3_rope {
    double theta, factor, low, high, length;
};

/* Returns the factor of pair i of a head with n dimensions. */
float llama3_factor(const struct llama3_rope *rope, uint64_t i, uint64_t n);

/* The same with numbers that are rounded at the end only, as the converter of Step 3.5 computes. */
float llama3_factor_double(const struct llama3_rope *rope, uint64_t i, uint64_t n);

/* Finds settings whose factors are x[0..n), within 4 units in the last place, given theta. Returns false if no settings agree. */
bool llama3_solve(struct llama3_rope *r, const float *x, size_t n);

#endif
