#include "kernel/same_ints.h"

#include <math.h>
#include <string.h>

#include "dtype/half.h"

/* Rounds to the nearest integer, ties to even, for |v| < 2^22. */
static inline float
nearest(float v)
{
    return v + 0x1.8p23f - 0x1.8p23f;
}

static float
power(int t)
{
    return float_of_bits((uint32_t)(t + 127) << 23);
}

static bool
is_power(float v)
{
    return v != 0 && (bits_of_float(v) & 0x7FFFFF) == 0;
}

/* Sets the codes of a block: the nearest integers, as fields with this one for 0. Returns false if another number results. */
static bool
put_codes(uint8_t *q, const float *x, float d, float m, int zero)
{
    bool same = true;
    for (size_t i = 0; i < SAME_INTS; i++) {
        float r = nearest((x[i] - m) / d);
        same = same && fabsf(r) <= 255 && r * d + m == x[i];
        if (q && same)
            q[i] = (uint8_t)((int)r + zero);
    }
    return same;
}

static int
field_of_zero(unsigned bits)
{
    return bits == 8 ? 0 : 1 << (bits - 1);
}

/* Finds one block. Its factors are 0 before. */
typedef bool find_block(uint8_t *q, uint16_t *factor, const float *x, unsigned bits);

static size_t
find_all(uint8_t *q, uint16_t *factor, const float *x, size_t nblocks, unsigned bits, find_block *find)
{
    size_t n = 0;
    for (size_t i = 0; i < nblocks; i++, factor += 2) {
        factor[0] = factor[1] = 0;
        if (find(q ? q + i * SAME_INTS : NULL, factor, x + i * SAME_INTS, bits))
            n++;
        else
            factor[0] = SAME_NONE;
    }
    return n;
}

static bool
find_power(uint8_t *q, uint16_t *factor, const float *x, unsigned bits)
{
    int32_t up = INT32_MIN, down = INT32_MIN;
    bool any = false;
    for (size_t i = 0; i < SAME_INTS; i++) {
        int32_t u = (int32_t)bits_of_float(x[i]), minus = (int32_t)bits_of_float(-x[i]);
        up = u > up ? u : up;
        down = minus > down ? minus : down;
        any = any || is_power(x[i]);
    }
    if (up <= 0 && down <= 0) {
        if (q)
            memset(q, field_of_zero(bits), SAME_INTS);
        return true;
    }
    const struct same_power p = same_power(up, down, bits);
    if (!any || !p.found || !put_codes(q, x, p.negative ? -power(p.exponent) : power(p.exponent), 0, field_of_zero(bits)))
        return false;
    *factor = (uint16_t)(same_half(p.exponent) | p.negative << 15);
    return true;
}

size_t
same_int_powers(uint8_t *q, uint16_t *factor, const float *x, size_t nblocks, unsigned bits)
{
    return find_all(q, factor, x, nblocks, bits, find_power);
}

static bool
find_steps(uint8_t *q, uint16_t *factor, const float *x, unsigned bits)
{
    float low = x[0], high = x[0];
    bool any = false;
    for (size_t i = 1; i < SAME_INTS; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    for (size_t i = 0; i < SAME_INTS; i++)
        any = any || is_power(x[i] - low);
    const int t = same_step(high - low, bits);
    if (!any || t < -24 || t > 15 || !same_minimum(low, half_to_float(half_of_float(low)), t)
        || !put_codes(q, x, power(t), low, 0))
        return false;
    factor[0] = same_half(t);
    factor[1] = half_of_float(low);
    return true;
}

size_t
same_int_steps(uint8_t *q, uint16_t *factor, const float *x, size_t nblocks, unsigned bits)
{
    return find_all(q, factor, x, nblocks, bits, find_steps);
}

/* --- rounded products */

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
    return (uint16_t)(above ? h + (w < v) : h - (w > v));
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
            least = b->low[i] * over > least ? b->low[i] * over : least;
            most = b->high[i] * over < most ? b->high[i] * over : most;
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
    return all ? 0 : -1;
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
        tried = may_be(b, half) ? try_code(pattern, b, half, bits) : 1;
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
        most = a > most ? a : most;
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
    const float d = most != 0 ? half_to_float(*factor) : 1;
    for (size_t i = 0; q && i < SAME_INTS; i++)
        q[i] = (uint8_t)((int)nearest(x[i] / d) + field_of_zero(bits));
    return true;
}

size_t
same_int_rounded(uint8_t *q, uint16_t *factor, const float *x, size_t nblocks, unsigned bits)
{
    return find_all(q, factor, x, nblocks, bits, find_rounded);
}
