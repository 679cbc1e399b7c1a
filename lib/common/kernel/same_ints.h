/* same_ints: finds blocks of 32 floats that are integers times a binary16 scale already, as in the copy of a quantized weight. They find what
 * the search of encode/solve_int.c and solve_steps.c would, and leave blocks to it in which that is not clear from a few facts. */
#ifndef KERNEL_SAME_INTS_H
#define KERNEL_SAME_INTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

enum { SAME_INTS = 32, SAME_FIRST = 8, SAME_NONE = 0x7FFF };  /* elements of a block, and those seen first; no scale: a NaN */

/* The three functions share their arguments. Each sets two factors for each of nblocks blocks, scale and minimum in binary16, and 32 codes, one a
 * byte, in the form of q_join() (encode_q.h). bits: 4, 5 or 8. q may be NULL. The codes of a block that is not found are undefined. The minimum is 0
 * except in same_int_steps(); the scale of a block of zeros is 0. Returns the number of blocks found. */

/* Finds blocks with x == code * scale where the scale is a power of two, the smallest that holds the largest magnitude. One value must be a power
 * of two: then no odd number divides all values, and the search would choose the same scale. */
size_t same_int_powers(uint8_t *q, uint16_t *factor, const float *x, size_t nblocks, unsigned bits);

/* Finds blocks with x == code * scale + minimum, without rounding, where the scale is a power of two and the minimum is the smallest value, not 0.
 * One difference from the minimum must be a power of two. */
size_t same_int_steps(uint8_t *q, uint16_t *factor, const float *x, size_t nblocks, unsigned bits);

/* Finds blocks with x == code * scale after rounding to BF16. Chooses the largest code of the largest magnitude for which some scale denotes all
 * values, then the scale with the most trailing zero bits. The scale is negative only if the largest value needs the code -2^(bits-1). */
size_t same_int_rounded(uint8_t *q, uint16_t *factor, const float *x, size_t nblocks, unsigned bits);

/* --- the formulas that all sets share */

/* Returns the field of the code 0. */
static inline int
same_field_of_zero(unsigned bits)
{
    if (bits == 8)
        return 0;
    return 1 << (bits - 1);
}

/* The scale of same_int_powers(): 2^exponent, or its negative. */
struct same_power {
    int exponent;
    bool negative, found;
};

/* `up` and `down` are the bits of the largest value and of the largest magnitude of a negative one, or negative; not both are, or 0. A largest
 * magnitude that is a power of two is the code -2^(bits-1), unless both signs have it. */
static inline struct same_power
same_power(int32_t up, int32_t down, unsigned bits)
{
    int32_t most = down;
    if (up > down)
        most = up;
    bool whole = (most & 0x7FFFFF) == 0;
    int exponent = (most >> 23) - 126 - (int)bits + (!whole || up == down);
    return (struct same_power){ exponent, whole && up > down, exponent >= -24 && exponent <= 15 };
}

/* Returns the binary16 of 2^t, for t from -24 to 15. */
static inline uint16_t
same_half(int t)
{
    if (t >= -14)
        return (uint16_t)((t + 15) << 10);
    return (uint16_t)(1 << (t + 24));
}

/* Returns t of the scale 2^t of same_int_steps(): the largest code is at least 2^(bits-1). */
static inline int
same_step(float range, unsigned bits)
{
    return (int)(bits_of_float(range) >> 23) - 126 - (int)bits;
}

/* Returns true if a value may be the minimum with the scale 2^t: not 0, a number of binary16, which is `half` then, and a multiple of 2^(t-4)
 * with 20 bits, so that its sum with any code is exact. */
static inline bool
same_minimum(float low, float half, int t)
{
    float n = low * float_of_bits((uint32_t)(127 + 4 - t) << 23);
    return low != 0 && half == low && n < 0x1p20f && n > -0x1p20f && (float)(int)n == n;
}

/* Returns the pattern in [lo, hi], not 0, with the most trailing zero bits. */
static inline uint32_t
same_simplest(uint32_t lo, uint32_t hi)
{
    uint32_t below = (lo - 1) ^ hi;             /* its highest bit, and all below */
    for (int i = 1; i < 16; i *= 2)
        below |= below >> i;
    return hi & ~(below >> 1);
}

/* Bounds of what is rounded to a magnitude in BF16: halfway to its neighbours, which are included if it is even. A code times a scale has 19 bits
 * at most, so that it is not between a bound and SAME_APART units in its last place beside it; this leaves room for errors of 2^-22. */
enum { SAME_APART = 8, SAME_HALFWAY = 0x8000 };
static inline float
same_bound(uint32_t magnitude, bool upper)
{
    uint32_t inside = (magnitude >> 12 & 2 * SAME_APART) - SAME_APART;
    return float_of_bits(upper ? magnitude + SAME_HALFWAY - inside : magnitude - SAME_HALFWAY + inside);
}
#define SAME_MORE 0x1.000008p0f         /* factors that outweigh such errors: 1 + 2^-21 */
#define SAME_LESS 0x1.fffffp-1f

/* Returns true if a scale in binary16 may exist for this largest magnitude, so that no bound is 0 or infinite. */
static inline bool
same_within(uint32_t most)
{
    return most - 0x33000000u < 0x4B800000u - 0x33000000u;      /* 2^-25 to 2^24 */
}

#endif
