/* round: the definition of both roundings is one code's, in dtype/. */
#include "kernel/round.h"

#include "dtype/bfloat16.h"
#include "dtype/half.h"

void
round_bf16(uint16_t *restrict y, const float *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = bfloat16_of_float(x[i]);
}

void
round_f16(uint16_t *restrict y, const float *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = half_of_float(x[i]);
}
