/* encode_math: how ggml's encoders make integers of floats. They cast without a check, and what came of that on
 * x86-64 is what stands in files, so it is written out here for values of any size, infinite or NaN. */
#ifndef KERNEL_ENCODE_MATH_H
#define KERNEL_ENCODE_MATH_H

#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "dtype/half.h"

/* 1.5 * 2^23: a float of this size has its units in the lowest bit. */
#define NEAREST_MAGIC 12582912.0f

static inline int
clamp_int(int i, int low, int high)
{
    return i > high ? high : i < low ? low : i;
}

/* The nearest integer, ties to even, for |v| < 2^22. Beyond it what the same bits say, -2^22 for infinity. 0 for NaN:
 * which payload an operation hands on is not defined, so ggml's result is that of a NaN without. */
static inline int
nearest_int(float v)
{
    int i = (int)(bits_of_float(v + NEAREST_MAGIC) & 0x7FFFFFu) - 0x400000;

    return i & -(v == v);                   /* not a branch: loops stay fit for vectors */
}

/* Without its fraction; what does not fit an int is INT_MIN, so that its low byte is 0. */
static inline int
truncated_int(float v)
{
    return v >= -0x1p31f && v < 0x1p31f ? (int)v : INT_MIN;
}

/* The nearest integer, ties away from zero. */
static inline int
rounded_int(float v)
{
    return truncated_int(roundf(v));
}

/* 1 / d, and 0 for 0. */
static inline float
inverse_or_0(float d)
{
    return d != 0.0f ? 1.0f / d : 0.0f;
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

/* What a decoder will take d for. */
static inline float
through_half(float d)
{
    return half_to_float(half_of_float(d));
}

/* The greater; b when either is NaN, so that a maximum starts again behind one. */
static inline float
greater(float a, float b)
{
    return a > b ? a : b;
}

/* The value of largest magnitude, with its sign: of equal ones the first. 0 when all are 0 or NaN. */
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

/* The largest magnitude; a NaN among the values does not count. */
static inline float
absmax(const float *x, size_t n)
{
    return fabsf(extreme(x, n));
}

/* The same as some types have it: it starts again behind a NaN. */
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

/* A weight for each of n floats whose importance is known: w = importance * sqrt(sigma + x^2). */
static inline void
weigh_by_importance(float *w, const float *x, const float *importance, float sigma, size_t n)
{
    for (size_t i = 0; i < n; i++)
        w[i] = importance[i] * sqrtf(sigma + x[i] * x[i]);
}

#endif
