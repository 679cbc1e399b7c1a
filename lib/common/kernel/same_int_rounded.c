#include "kernel/same_ints.h"

#include <math.h>

#include "dtype/half.h"

/* Rounds to the nearest integer, ties to even, for |v| < 2^22. */
static inline float
nearest(float v)
{
    return v + 0x1.8p23f - 0x1.8p23f;
}

/* Magnitudes of a block, with 0 replaced by the largest, and the interval that rounds to each. */
struct block_bounds {
    float low[SAME_INTS], high[SAME_INTS], most_low, most_high;
};

/* Returns the first pattern of binary16 that is not below v, or the last that is not above it. */
static uint16_t
half_beside(float v, bool above)
{
    uint16_t h = half_of_float(v);
    float w = half_to_float(h);
    if (above)
        return (uint16_t)(h + (w < v));
    return (uint16_t)(h - (w > v));
}

/* Returns false if one of the first values has no code with any of the scales for which code c denotes the largest magnitude. */
static bool
may_be(const struct block_bounds *b, float c)
{
    const float up = c * (1 / b->most_low * SAME_MORE), down = c * (1 / b->most_high * SAME_LESS);
    bool may = true;
    for (size_t i = 0; i < SAME_FIRST; i++)
        may = may && !((float)(int)(b->high[i] * up) < b->low[i] * down);
    return may;
}

/* Narrows the patterns of scales by the first n values that allow one code only. Returns true if each of the n values does. */
static bool
narrow(uint16_t *lo, uint16_t *hi, const struct block_bounds *b, size_t n)
{
    const float first = half_to_float(*lo), last = half_to_float(*hi), inverse = 1 / first * SAME_MORE;
    float least = first, most = last;
    bool all = true;
    for (size_t i = 0; i < n; i++) {
        float code = (float)(int)(b->high[i] * inverse), over = 1 / code;
        if ((code - 1) * last < b->low[i]) {
            if (b->low[i] * over > least)
                least = b->low[i] * over;
            if (b->high[i] * over < most)
                most = b->high[i] * over;
        } else
            all = false;
    }
    *lo = half_beside(least, true);
    *hi = half_beside(most, false);
    return all;
}

/* Sets the pattern of the scale with which code c denotes the largest magnitude, and some codes all values. Returns 1 if no scale does, and -1
 * if that is not clear. */
static int
try_code(uint16_t *pattern, const struct block_bounds *b, float c, unsigned bits)
{
    uint16_t lo = half_beside(b->most_low / c, true), hi = half_beside(b->most_high / c, false);
    bool all = false;
    if (lo <= hi && hi >= HALF_INF - 1)
        return -1;
    if (lo <= hi && bits == 8)                  /* large codes are closer to each other than their values are to what is rounded to them */
        narrow(&lo, &hi, b, SAME_FIRST);
    for (int round = 0; round < 2 && !all && lo <= hi; round++)
        all = narrow(&lo, &hi, b, SAME_INTS);
    if (lo > hi)
        return 1;
    *pattern = (uint16_t)same_simplest(lo, hi);
    if (all)
        return 0;
    return -1;
}

/* Tries codes for the largest magnitude in falling order, then -2^(bits-1) for a positive value, with a negative scale. */
static bool
find_code(uint16_t *pattern, const struct block_bounds *b, bool up, bool down, unsigned bits)
{
    const float half = (float)(1u << (bits - 1));
    int tried = 1;
    for (float c = up ? half - 1 : half; tried == 1 && c > 0; c--)
        tried = may_be(b, c) ? try_code(pattern, b, c, bits) : 1;
    if (tried == 1 && up && !down) {
        tried = 1;
        if (may_be(b, half))
            tried = try_code(pattern, b, half, bits);
        *pattern |= 0x8000;
    }
    return tried == 0;
}

static bool
find_rounded(uint8_t *q, uint16_t *factor, const float *x, unsigned bits)
{
    uint32_t most = 0, all = 0;
    bool up = false, down = false;
    struct block_bounds b;
    for (size_t i = 0; i < SAME_INTS; i++) {
        uint32_t a = bits_of_float(x[i]) & 0x7FFFFFFF;
        if (a > most)
            most = a;
        all |= a;
    }
    if ((most != 0 && !same_within(most)) || (all & 0xFFFF) != 0)
        return false;
    for (size_t i = 0; i < SAME_INTS; i++) {
        uint32_t u = bits_of_float(x[i]), a = u << 1 != 0 ? u & 0x7FFFFFFF : most;
        up = up || u == most;
        down = down || u == (most | 0x80000000);
        b.low[i] = same_bound(a, false);
        b.high[i] = same_bound(a, true);
    }
    b.most_low = same_bound(most, false);
    b.most_high = same_bound(most, true);
    if (most != 0 && !find_code(factor, &b, up, down, bits))
        return false;
    float d = 1;
    if (most != 0)
        d = half_to_float(*factor);
    for (size_t i = 0; q && i < SAME_INTS; i++)
        q[i] = (uint8_t)((int)nearest(x[i] / d) + same_field_of_zero(bits));
    return true;
}

size_t
same_int_rounded(uint8_t *q, uint16_t *factor, const float *x, size_t nblocks, unsigned bits)
{
    size_t n = 0;
    for (size_t i = 0; i < nblocks; i++, factor += 2) {
        factor[0] = factor[1] = 0;
        if (find_rounded(q ? q + i * SAME_INTS : NULL, factor, x + i * SAME_INTS, bits))
            n++;
        else
            factor[0] = SAME_NONE;
    }
    return n;
}
