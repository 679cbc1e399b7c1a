/* affine: the definition, an element at a time. */
#include "kernel/affine.h"

#include <math.h>

#include "dtype/bfloat16.h"
#include "dtype/half.h"
#include "kernel/nan.h"

static inline float
rounded(enum dtype in, float v)
{
    return in == DTYPE_BF16 ? bfloat16_to_float(bfloat16_of_float(v)) : in == DTYPE_F16 ? half_to_float(half_of_float(v))
        : nan_canonical(v);
}

void
affine_f32(float *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct affine *a)
{
    for (size_t i = 0; i < n; i++) {
        size_t g = (first % a->group + i) / a->group;
        float code = a->map ? a->map[x[i]] : (float)x[i];

        if (a->fused)
            y[i] = rounded(a->in, fmaf(code, a->factors[g], a->terms[g]));
        else if (a->term_first)
            y[i] = rounded(a->in, rounded(a->in, code - a->terms[g]) * a->factors[g]);
        else
            y[i] = rounded(a->in, rounded(a->in, code * a->factors[g]) + a->terms[g]);
    }
}
