#include "kernel/same_ints.h"

#include <math.h>
#include <string.h>

#include "dtype/half.h"
#include "kernel/same_block.h"

static inline float
same_two_to(int t)
{
    return float_of_bits((uint32_t)(t + 127) << 23);
}

static inline int
same_is_power(float v)
{
    return ((bits_of_float(v) & 0x7FFFFF) == 0) & (v != 0);
}

/* Sets the codes of a block: the nearest integers, as fields with this one for 0. Returns false if another number results. */
static inline bool
same_put_ints(uint8_t *q, const float *x, int t, bool negative, float m, int zero)
{
    const float magic = 0x1.8p23f, d = negative ? -same_two_to(t) : same_two_to(t), inverse = negative ? -same_two_to(-t) : same_two_to(-t);
    int wrong = 0, code[SAME_INTS];
    for (size_t i = 0; i < SAME_INTS; i++) {
        const float moved = (x[i] - m) * inverse + magic, r = moved - magic;
        wrong |= !((fabsf(r) <= 255) & (r * d + m == x[i]));
        code[i] = (int)bits_of_float(moved) + zero;
    }
    for (size_t i = 0; q && i < SAME_INTS; i++)
        q[i] = (uint8_t)code[i];
    return !wrong;
}

/* Finds one block. */
static inline bool
same_find_power(uint8_t *q, uint16_t *factor, const float *x, unsigned bits)
{
    const int zero = same_field_of_zero(bits);
    int up = INT32_MIN, down = INT32_MIN, any = 0;
    for (size_t i = 0; i < SAME_INTS; i++) {
        const int u = (int)bits_of_float(x[i]), minus = u ^ INT32_MIN;
        if (u > up)
            up = u;
        if (minus > down)
            down = minus;
        any |= same_is_power(x[i]);
    }
    if (up <= 0 && down <= 0) {
        if (q)
            memset(q, zero, SAME_INTS);
        return true;
    }
    const struct same_power p = same_power(up, down, bits);
    if (!any || !p.found || !same_put_ints(q, x, p.exponent, p.negative, 0, zero))
        return false;
    factor[0] = (uint16_t)(same_half(p.exponent) | p.negative << 15);
    return true;
}

static inline bool
same_find_steps(uint8_t *q, uint16_t *factor, const float *x, unsigned bits)
{
    int lowest = INT32_MAX, highest = INT32_MIN, any = 0;
    for (size_t i = 0; i < SAME_INTS; i++) {
        const int order = same_order(bits_of_float(x[i]));
        if (order < lowest)
            lowest = order;
        if (order > highest)
            highest = order;
    }
    const float low = same_of_order(lowest), high = same_of_order(highest);
    for (size_t i = 0; i < SAME_INTS; i++)
        any |= same_is_power(x[i] - low);
    const int t = same_step(high - low, bits);
    if (!any || t < -24 || t > 15 || !same_minimum(low, half_to_float(half_of_float(low)), t) || !same_put_ints(q, x, t, false, low, 0))
        return false;
    factor[0] = same_half(t);
    factor[1] = half_of_float(low);
    return true;
}

static inline size_t
same_find_ints(uint8_t *q, uint16_t *factor, const float *x, size_t nblocks, unsigned bits, const bool steps)
{
    size_t n = 0;
    for (size_t i = 0; i < nblocks; i++, factor += 2, x += SAME_INTS) {
        uint8_t *to = NULL;
        if (q)
            to = q + i * SAME_INTS;
        factor[0] = factor[1] = 0;
        if (steps ? same_find_steps(to, factor, x, bits) : same_find_power(to, factor, x, bits))
            n++;
        else
            factor[0] = SAME_NONE;
    }
    return n;
}

size_t
same_int_powers(uint8_t *q, uint16_t *factor, const float *x, size_t nblocks, unsigned bits)
{
    return same_find_ints(q, factor, x, nblocks, bits, false);
}

size_t
same_int_steps(uint8_t *q, uint16_t *factor, const float *x, size_t nblocks, unsigned bits)
{
    return same_find_ints(q, factor, x, nblocks, bits, true);
}
