#include "kernel/kernels.h"
#include "kernel/same_inline.h"

enum { FEW = 256 };

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

/* Rounds some floats. Returns false if one is infinite or NaN then. */
static bool
round_some(const struct kernels *k, enum dtype type, float *to, const float *x, size_t n)
{
    uint16_t narrow[FEW], most = 0;
    (type == DTYPE_F16 ? k->round_f16 : k->round_bf16)(narrow, x, n);
    for (size_t i = 0; i < n; i++) {
        uint16_t magnitude = narrow[i] & 0x7FFF;
        most = magnitude > most ? magnitude : most;
    }
    k->widen[type](to, (const uint8_t *)narrow, n);
    return most < (type == DTYPE_F16 ? 0x7C00 : 0x7F80);
}

/* Floats of which the first list needs no rounding, which are most, are compared with one rounding less. */
bool
same_rounded(const struct kernels *k, enum dtype type, const float *x, const float *y, size_t n)
{
    float a[FEW], b[FEW];
    bool same = type != DTYPE_F32 || k->same_floats(x, y, n);
    for (size_t i = 0, now; same && type != DTYPE_F32 && i < n; i += now) {
        now = n - i < FEW ? n - i : FEW;
        same = round_some(k, type, b, y + i, now)
            && (k->same_floats(x + i, b, now) || (round_some(k, type, a, x + i, now) && k->same_floats(a, b, now)));
    }
    return same;
}
