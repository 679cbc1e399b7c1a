/* same_inline: the loops of same.h, which compilers vectorize for each set of kernels. */
#ifndef KERNEL_SAME_INLINE_H
#define KERNEL_SAME_INLINE_H

#include <math.h>

#include "base/bytes.h"
#include "kernel/same.h"

/* Rounds to BF16, to nearest, ties to even. */
static inline float
narrowed(float v)
{
    uint32_t u = bits_of_float(v);
    return float_of_bits((u + 0x7FFF + (u >> 16 & 1)) & 0xFFFF0000u);
}

enum { AT_ONCE = 32 };

static inline bool
products(uint8_t *q, const float *x, size_t n, float d, float zero, float low, float top, const bool rounds)
{
    const float magic = 0x1.8p23f;              /* rounds to the nearest integer, ties to even */
    for (; n != 0; n -= AT_ONCE, x += AT_ONCE, q += AT_ONCE) {
        int wrong = 0, field[AT_ONCE];
        for (int i = 0; i < AT_ONCE; i++) {
            float r = x[i] / d + magic - magic, f = r + zero;
            int out = (f >= low) & (f <= top) & ((rounds ? narrowed(r * d) : r * d) == x[i]);
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

static inline bool
steps(uint8_t *q, const float *x, size_t n, float d, float m, float top)
{
    const float magic = 0x1.8p23f;
    for (; n != 0; n -= AT_ONCE, x += AT_ONCE, q += AT_ONCE) {
        int wrong = 0, field[AT_ONCE];
        for (int i = 0; i < AT_ONCE; i++) {
            float r = (x[i] - m) / d + magic - magic;
            int out = (r >= 0) & (r <= top) & (r * d + m == x[i]);
            wrong |= !out;
            field[i] = (int)(out ? r : 0.0f);
        }
        if (wrong)
            return false;
        for (int i = 0; i < AT_ONCE; i++)
            q[i] = (uint8_t)field[i];
    }
    return true;
}

/* Numbers of floats as integers in the same order. */
static inline int32_t
order_of(uint32_t u)
{
    return (int32_t)(u ^ ((uint32_t)((int32_t)u >> 31) & 0x7FFFFFFF));
}

static inline float
of_order(int32_t v)
{
    return float_of_bits((uint32_t)v ^ ((uint32_t)(v >> 31) & 0x7FFFFFFF));
}

static inline struct same_extent
extent(const float *x, size_t n)
{
    int32_t high = INT32_MIN, low = INT32_MAX, least = INT32_MAX, unit = INT32_MAX, most = 0;
    uint32_t wide = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t u = bits_of_float(x[i]);
        int32_t order = order_of(u), magnitude = (int32_t)(u & 0x7FFFFFFF), exponent = magnitude >> 23;
        int32_t normal = exponent != 0, m = (int32_t)(u & 0x7FFFFF) | normal << 23;
        float last = (float)(m & -m) * 0x1p-23f * float_of_bits((uint32_t)(exponent + !normal) << 23);
        int32_t nothing = -(magnitude == 0) & INT32_MAX, bit = (int32_t)bits_of_float(last) | nothing, some = magnitude | nothing;
        wide |= u & 0xFFFF;
        high = order > high ? order : high;
        low = order < low ? order : low;
        most = magnitude > most ? magnitude : most;
        least = some < least ? some : least;
        unit = bit < unit ? bit : unit;
    }
    return (struct same_extent){ of_order(high), of_order(low), most == 0 ? INFINITY : float_of_bits((uint32_t)least),
        most == 0 ? INFINITY : float_of_bits((uint32_t)unit), most < 0x7F800000, wide == 0 };
}

#endif
