/* same_block: what the kernels of same.h and its kin share. Their files are compiled for each set of kernels (x86/avx2_same.c), so their
 * loops have the form that compilers vectorize: a fixed number of elements, selections in place of branches, and no conversion
 * but of integers. */
#ifndef KERNEL_SAME_BLOCK_H
#define KERNEL_SAME_BLOCK_H

#include <math.h>
#include <stddef.h>

#include "base/bytes.h"
#include "dtype/dtype.h"

/* Returns the bits of a magnitude, as a number that compares like it. */
static inline int
same_magnitude(float v)
{
    return (int)(bits_of_float(v) & 0x7FFFFFFF);
}

/* Returns a, or b. With a conditional expression compilers compute one of them only, by a branch. */
static inline float
same_select(int condition, float a, float b)
{
    const uint32_t mask = -(uint32_t)condition;
    return float_of_bits((bits_of_float(a) & mask) | (bits_of_float(b) & ~mask));
}

/* Rounds a number that is not NaN to BF16 or F16; returns it unchanged for any other type. */
static inline float
same_near(enum dtype type, float v)
{
    const uint32_t u = bits_of_float(v), sign = u & 0x80000000u;
    const int magnitude = same_magnitude(v), half = (magnitude + 0xFFF + (magnitude >> 13 & 1)) & ~0x1FFF;
    if (type == DTYPE_BF16)
        return float_of_bits((u + 0x7FFF + (u >> 16 & 1)) & 0xFFFF0000u);
    if (type != DTYPE_F16)
        return v;
    const float small = fabsf(v) + 0.5f - 0.5f;             /* units of 2^-24 */
    const float normal = same_select(magnitude < 0x477FF000, float_of_bits((uint32_t)half), INFINITY);
    return float_of_bits(bits_of_float(same_select(magnitude < 0x38800000, small, normal)) | sign);
}

/* Numbers of floats as integers in the same order. */
static inline int32_t
same_order(uint32_t u)
{
    return (int32_t)(u ^ ((uint32_t)((int32_t)u >> 31) & 0x7FFFFFFF));
}

static inline float
same_of_order(int32_t v)
{
    return float_of_bits((uint32_t)v ^ ((uint32_t)(v >> 31) & 0x7FFFFFFF));
}

/* What the magnitudes of n values are, as bits: the largest one, and all bits that occur. */
struct same_bits {
    uint32_t most, any;
};

static inline struct same_bits
same_look(const float *x, const size_t n)
{
    int32_t most = 0, any = 0;
    for (size_t i = 0; i < n; i++) {
        const int32_t a = (int32_t)(bits_of_float(x[i]) & 0x7FFFFFFF);
        if (a > most)
            most = a;
        any |= a;
    }
    return (struct same_bits){ (uint32_t)most, (uint32_t)any };
}

/* Packs n codes of 4 bits: the even ones in the low nibbles, or with `halves` the first half of them. */
static inline void
same_pack(uint8_t *restrict y, const int32_t *restrict q, const size_t n, const bool halves)
{
    for (size_t i = 0; halves && i < n / 2; i++)
        y[i] = (uint8_t)(q[i] | q[i + n / 2] << 4);
    for (size_t i = 0; !halves && i < n / 2; i++)
        y[i] = (uint8_t)(q[2 * i] | q[2 * i + 1] << 4);
}

#endif
