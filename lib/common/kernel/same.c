#include "kernel/kernels.h"
#include "kernel/same_inline.h"

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

bool
same_rounded(const struct kernels *k, enum dtype type, const float *x, const float *y, size_t n)
{
    enum { FEW = 256 };
    uint16_t narrow[FEW];
    float a[FEW], b[FEW];
    bool same = type != DTYPE_F32 || k->same_floats(x, y, n);
    for (size_t i = 0, now; same && type != DTYPE_F32 && i < n; i += now) {
        kernel_round16 *round = type == DTYPE_F16 ? k->round_f16 : k->round_bf16;
        now = n - i < FEW ? n - i : FEW;
        round(narrow, x + i, now);
        k->widen[type](a, (const uint8_t *)narrow, now);
        round(narrow, y + i, now);
        k->widen[type](b, (const uint8_t *)narrow, now);
        struct same_extent of = k->same_extent(a, now);
        same = of.finite && k->same_floats(a, b, now);
    }
    return same;
}
