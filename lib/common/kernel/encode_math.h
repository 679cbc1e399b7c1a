/* encode_math: conversions from float to integer as ggml's encoders do them. ggml casts without a check, and files contain
 * the results of that on x86-64, so they are defined here for values of any size, infinite or NaN. */
#ifndef KERNEL_ENCODE_MATH_H
#define KERNEL_ENCODE_MATH_H

#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "dtype/half.h"

/* 1.5 * 2^23: the lowest bit of a float of this size counts units. */
#define NEAREST_MAGIC 12582912.0f

static inline int
clamp_int(int i, int low, int high)
{
    if (i > high)
        return high;
    if (i < low)
        return low;
    return i;
}

/* Returns the nearest integer, ties to even, for |v| < 2^22. For larger values it returns the integer that the same bits
 * represent, -2^22 for infinity. Returns 0 for NaN: IEEE 754 does not define which payload an operation keeps, so this is
 * ggml's result for a NaN without payload. */
static inline int
nearest_int(float v)
{
    int i = (int)(bits_of_float(v + NEAREST_MAGIC) & 0x7FFFFFu) - 0x400000;

    return i & -(v == v);                   /* no branch, so that loops can be vectorized */
}

/* Truncates to an integer; INT_MIN, whose low byte is 0, if the value does not fit an int. */
static inline int
truncated_int(float v)
{
    if (v >= -0x1p31f && v < 0x1p31f)
        return (int)v;
    return INT_MIN;
}

/* Returns the nearest integer, ties away from zero. */
static inline int
rounded_int(float v)
{
    return truncated_int(roundf(v));
}

/* Returns 1 / d, or 0 for 0. */
static inline float
inverse_or_0(float d)
{
    if (d != 0.0f)
        return 1.0f / d;
    return 0.0f;
}

static inline void
store_word(uint8_t *p, unsigned v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}

static inline void
store_half(uint8_t *p, float v)
{
    store_word(p, half_of_float(v));
}

/* Returns d as a decoder will read it from binary16. */
static inline float
through_half(float d)
{
    return half_to_float(half_of_float(d));
}

/* Returns the larger value, or b if either is NaN: a running maximum restarts after a NaN. */
static inline float
greater(float a, float b)
{
    if (a > b)
        return a;
    return b;
}

/* Returns the value of largest magnitude, with its sign; the first one wins a tie. 0 if all are 0 or NaN. */
static inline float
extreme(const float *x, size_t n)
{
    float magnitude = 0.0f, value = 0.0f;

    for (size_t i = 0; i < n; i++)
        if (fabsf(x[i]) > magnitude) {
            magnitude = fabsf(x[i]);
            value = x[i];
        }
    return value;
}

/* Returns the largest magnitude, ignoring NaN. */
static inline float
absmax(const float *x, size_t n)
{
    return fabsf(extreme(x, n));
}

/* Returns the largest magnitude since the last NaN, as some types compute it. */
static inline float
absmax_since_nan(const float *x, size_t n)
{
    float a = 0.0f;

    for (size_t i = 0; i < n; i++)
        a = greater(a, fabsf(x[i]));
    return a;
}

static inline float
sum_of_squares(const float *x, size_t n)
{
    float sum = 0.0f;

    for (size_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sum;
}

/* Computes the weights of n floats with known importance: w = importance * sqrt(sigma + x^2). */
static inline void
weigh_by_importance(float *w, const float *x, const float *importance, float sigma, size_t n)
{
    for (size_t i = 0; i < n; i++)
        w[i] = importance[i] * sqrtf(sigma + x[i] * x[i]);
}

#endif
