/* encode_iq_math: the arithmetic that ggml's encoders of the IQ types share. */
#ifndef KERNEL_ENCODE_IQ_MATH_H
#define KERNEL_ENCODE_IQ_MATH_H

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

/* The nearest integer, ties to even, for |v| < 2^22. Beyond it whatever the same bits say: -2^22 for infinity, 0 for
 * NaN. */
static inline int
nearest_int(float v)
{
    return (int)(bits_of_float(v + NEAREST_MAGIC) & 0x7FFFFFu) - 0x400000;
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

/* The greater; b when either is NaN, so that a maximum starts again behind one. */
static inline float
greater(float a, float b)
{
    return a > b ? a : b;
}

/* The value of largest magnitude, with its sign: of equal ones the first. 0 when all are 0 or NaN. */
static inline float
extreme(const float *x, int n)
{
    float magnitude = 0.0f, value = 0.0f;

    for (int i = 0; i < n; i++)
        if (fabsf(x[i]) > magnitude) {
            magnitude = fabsf(x[i]);
            value = x[i];
        }
    return value;
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
weigh_by_importance(float *w, const float *x, const float *importance, float sigma, int n)
{
    for (int i = 0; i < n; i++)
        w[i] = importance[i] * sqrtf(sigma + x[i] * x[i]);
}

#endif
