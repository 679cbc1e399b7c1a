#include "kernel/widen.h"

#include <string.h>

#include "dtype/half.h"
#include "kernel/nan.h"

void
widen_f64(float *restrict y, const uint8_t *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double d;
        memcpy(&d, x + i * sizeof d, sizeof d);
        y[i] = nan_canonical((float)d);
    }
}

void
widen_f32(float *restrict y, const uint8_t *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = nan_canonical(float_of_bits(load_le32(x + i * 4)));
}

void
widen_f16(float *restrict y, const uint8_t *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = half_load(x + i * 2);
}

void
widen_bf16(float *restrict y, const uint8_t *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = nan_canonical(float_of_bits((uint32_t)load_le16(x + i * 2) << 16));
}
