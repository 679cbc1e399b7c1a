#include "kernel/same_inline.h"

#include <math.h>

#include "kernel/rounded.h"

bool
same_floats(const float *x, const float *y, size_t n)
{
    int differs = 0;
    size_t i = 0;
    for (; n - i >= AT_ONCE; i += AT_ONCE)
        for (int k = 0; k < AT_ONCE; k++)
            differs |= x[i + (size_t)k] != y[i + (size_t)k];
    for (; i < n; i++)
        differs |= x[i] != y[i];
    return !differs;
}

bool
same_rounded(enum dtype type, const float *x, const float *y, size_t n)
{
    bool same = true;
    for (size_t i = 0; same && i < n; i++) {
        float near = rounded(type, x[i]);
        same = (near == rounded(type, y[i]) && isfinite(near)) || x[i] == y[i];
    }
    return same;
}

size_t
same_fp8(enum dtype codes, enum dtype type, const float *x, size_t n, float scale)
{
    const struct same_fp8_form f = codes == DTYPE_F8_E4M3 ? SAME_E4M3 : SAME_E5M2;
    const float inverse = 1 / scale;
    size_t i = 0;
    for (bool held = true; held && i < n; i += held) {
        float q = x[i] * inverse, t = q * f.split, code = fabsf(q) < f.least ? q + f.magic - f.magic : t - (t - q);
        held = fabsf(q) < f.end && rounded(type, code * scale) == x[i];
    }
    return i;
}

bool
same_products(uint8_t *q, const float *x, size_t n, float d, float zero, float low, float top, bool rounds)
{
    return rounds ? products(q, x, n, d, zero, low, top, true) : products(q, x, n, d, zero, low, top, false);
}

bool
same_steps(uint8_t *q, const float *x, size_t n, float d, float m, float top)
{
    return steps(q, x, n, d, m, top);
}

struct same_extent
same_extent(const float *x, size_t n)
{
    return extent(x, n);
}
