/* codes8: the definition, one element at a time. */
#include "kernel/codes8.h"

#include "dtype/bfloat16.h"
#include "kernel/nan.h"

static inline float
codes8_value_of(const struct codes8 *c, size_t g, uint8_t code)
{
    float value = c->is_signed ? (float)(int8_t)code : (float)code;

    if (c->zeros)
        value -= c->zeros[g];
    return nan_canonical(value * c->scales[g]);
}

/* Returns the group of element first + i, counted from the group of element `first`. */
static inline size_t
group_of(const struct codes8 *c, size_t first, size_t i)
{
    return (first % c->group + i) / c->group;
}

void
codes8_f32(float *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct codes8 *c)
{
    for (size_t i = 0; i < n; i++)
        y[i] = codes8_value_of(c, group_of(c, first, i), x[i]);
}

void
codes8_bf16(uint16_t *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct codes8 *c)
{
    for (size_t i = 0; i < n; i++)
        y[i] = bfloat16_of_float(codes8_value_of(c, group_of(c, first, i), x[i]));
}
