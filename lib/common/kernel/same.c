#include "kernel/same.h"

enum { AT_ONCE = 32 };

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
same_products(uint8_t *q, const float *x, size_t n, float d, float zero, float low, float top)
{
    const float magic = 0x1.8p23f;              /* rounds to the nearest integer, ties to even */
    for (; n != 0; n -= AT_ONCE, x += AT_ONCE, q += AT_ONCE) {
        int wrong = 0, field[AT_ONCE];
        for (int i = 0; i < AT_ONCE; i++) {
            float r = x[i] / d + magic - magic, f = r + zero;
            int out = (f >= low) & (f <= top) & (r * d == x[i]);
            wrong |= !out;
            field[i] = (int)(out ? f : 0.0f);
        }
        if (wrong)
            return false;
        for (int i = 0; i < AT_ONCE; i++)
            q[i] = (uint8_t)field[i];
    }
    return true;
}
