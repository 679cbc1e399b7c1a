/* affine: the definition, one element at a time. */
#include "kernel/affine.h"

#include <math.h>

#include "dtype/bfloat16.h"
#include "kernel/nan.h"
#include "kernel/rounded.h"

static inline float
rounded_canonical(enum dtype in, float v)
{
    return nan_canonical(rounded(in, v));
}

/* Returns the value of element i of the run. */
static inline float
affine_value_of(const struct affine *a, size_t first, size_t i, uint8_t code)
{
    size_t g = (first % a->group + i) / a->group;
    float v = a->map ? a->map[code] : (float)code;

    if (a->fused)
        return rounded_canonical(a->in, fmaf(v, a->factors[g], a->terms[g]));
    if (a->term_first)
        return rounded_canonical(a->in, rounded_canonical(a->in, v - a->terms[g]) * a->factors[g]);
    return rounded_canonical(a->in, rounded_canonical(a->in, v * a->factors[g]) + a->terms[g]);
}

void
affine_f32(float *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct affine *a)
{
    for (size_t i = 0; i < n; i++)
        y[i] = affine_value_of(a, first, i, x[i]);
}

void
affine_bf16(uint16_t *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct affine *a)
{
    for (size_t i = 0; i < n; i++)
        y[i] = bfloat16_of_float(affine_value_of(a, first, i, x[i]));
}

void
affine4_bf16(uint16_t *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct affine *a)
{
    for (size_t i = 0; i < n; i++) {
        size_t at = first % 2 + i;

        y[i] = bfloat16_of_float(affine_value_of(a, first, i, x[at / 2] >> at % 2 * 4 & 15));
    }
}
