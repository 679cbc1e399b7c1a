/* round: both roundings apply the definition for one code, in dtype/, to each element. */
#include "kernel/round.h"

#include <math.h>

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

void
round_int8(int8_t *restrict y, const float *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float v = 0;
        if (!isnan(x[i]))
            v = rintf(x[i]);
        if (v > 127)
            v = 127;
        if (v < -127)
            v = -127;
        y[i] = (int8_t)v;
    }
}
