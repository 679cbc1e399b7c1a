#include "kernel/same_floats.h"

#include <limits.h>

#include "kernel/same_block.h"

/* The number of a magnitude counts exponents and its second bit: 0 for one half, 2 for one. */
static inline bool
same_put_e2m1(uint8_t *scale, uint8_t *code, const float *x, const struct same_e2m1 *how, const size_t n, const bool halves)
{
    const struct same_bits f = same_look(x, n);
    int t;
    if (f.most == 0)
        t = -127;
    else if (f.any & 0x3FFFFF)
        t = SAME_MX_NONE;
    else
        t = same_e2m1_power(f.most, how);
    int wrong = t == SAME_MX_NONE, q[SAME_MX];
    for (size_t i = 0; i < n; i++) {
        const int u = (int)bits_of_float(x[i]), a = u & 0x7FFFFFFF, number = (a >> 22) - 2 * (t + 126);
        const int some = a != 0, m = number == 0 ? 1 : number;
        wrong |= some & ((number < 0) | (number == 1) | (number > 7));
        q[i] = (some ? m : 0) | (u >> 28 & 8);
    }
    *scale = (uint8_t)(t + 127);
    if (!wrong && code)
        same_pack(code, q, n, halves);
    return !wrong;
}

static inline size_t
same_all_e2m1(uint8_t *scale, uint8_t *code, const float *x, size_t nblocks, const struct same_e2m1 *how, const size_t n, const bool halves)
{
    size_t b = 0;
    while (b < nblocks && same_put_e2m1(scale + b, code ? code + b * (n / 2) : NULL, x + b * n, how, n, halves))
        b++;
    return b;
}

size_t
same_e2m1(uint8_t *scale, uint8_t *code, const float *x, size_t nblocks, const struct same_e2m1 *how)
{
    if (how->block == 32)
        return how->halves ? same_all_e2m1(scale, code, x, nblocks, how, 32, true) : same_all_e2m1(scale, code, x, nblocks, how, 32, false);
    if (how->halves)
        return same_all_e2m1(scale, code, x, nblocks, how, 16, true);
    return same_all_e2m1(scale, code, x, nblocks, how, 16, false);
}

/* The number of a magnitude counts exponents and its three other bits: 8 for the smallest normal code. Below, codes are multiples of
 * 2^-9, and the magnitude over the scale plus 2^14 has this number in its last bits. */
static inline bool
same_put_e4m3(uint8_t *scale, uint8_t *code, const float *x)
{
    const struct same_bits f = same_look(x, SAME_MX);
    int t;
    if (f.most == 0)
        t = -127;
    else if (f.any & 0xFFFFF)
        t = SAME_MX_NONE;
    else
        t = same_e4m3_power(f.most);
    int of = t;
    if (f.most == 0)
        of = 0;
    const float inverse = float_of_bits((uint32_t)(127 - of) << 23), magic = 0x1p14f;
    int wrong = 0, q[SAME_MX];
    if (t == SAME_MX_NONE)
        return false;
    for (size_t i = 0; i < SAME_MX; i++) {
        const int u = (int)bits_of_float(x[i]), a = u & 0x7FFFFFFF, number = (a >> 20) - 8 * (of + 120);
        const float v = float_of_bits((uint32_t)a) * inverse, moved = v + magic;
        const int small = (int)bits_of_float(moved) & 15, is_small = number < 8;
        wrong |= is_small & ((moved - magic != v) | ((small == 0) & (a != 0)));       /* too small a product is 0 */
        q[i] = (is_small ? small : number) | (u >> 24 & 0x80);
    }
    *scale = (uint8_t)(t + 127);
    for (size_t i = 0; code && i < SAME_MX; i++)
        code[i] = (uint8_t)q[i];
    return !wrong;
}

size_t
same_e4m3(uint8_t *scale, uint8_t *code, const float *x, size_t nblocks)
{
    size_t b = 0;
    while (b < nblocks && same_put_e4m3(scale + b, code ? code + b * SAME_MX : NULL, x + b * SAME_MX))
        b++;
    return b;
}

/* The last bit of a value has the value's exponent, or one less; here exponents count from 0, for the last bit of a subnormal number. */
size_t
e2m1_range(struct e2m1_range *range, const float *x, size_t nblocks)
{
    int least = range->lo, most = range->hi;
    size_t b = 0;
    for (; b < nblocks; b++, x += 16) {
        int largest = 0, any = 0, hi = INT_MAX;
        for (size_t i = 0; i < 16; i++) {
            const int a = same_magnitude(x[i]), last = (a >> 23) + 1 - (a >> 22 & 1), bit = last | (-(a == 0) & 0x7FFF);
            any |= a;
            if (a > largest)
                largest = a;
            if (bit < hi)
                hi = bit;
        }
        const int lo = (largest >> 23) - 129, up = hi - 127;
        if (any & 0x3FFFFF || largest >= 0x7F800000 || hi == 0 || (largest != 0 && lo > up))
            break;
        if (largest != 0 && lo > least)
            least = lo;
        if (largest != 0 && up < most)
            most = up;
    }
    *range = (struct e2m1_range){ least, most };
    return b;
}
