#include "kernel/same_mx.h"

#include <string.h>

#include "base/bytes.h"

/* What the magnitudes of a block are, as bits: the largest one, and all bits that occur. */
struct mx_bits {
    uint32_t most, any;
};

static struct mx_bits
look(uint32_t *bits, const float *x, size_t n)
{
    struct mx_bits f = { 0, 0 };
    memcpy(bits, x, n * sizeof *x);
    for (size_t i = 0; i < n; i++) {
        uint32_t u = bits[i] & 0x7FFFFFFF;
        f.any |= u;
        f.most = u > f.most ? u : f.most;
    }
    return f;
}

/* Returns the magnitude code of a value with two bits, or 8 if it has none: u >> 22 counts exponents and the second bit. */
static unsigned
e2m1_of(uint32_t u, int t)
{
    int number = (int)(u >> 22) - 2 * (t + 126);                /* 0 for one half, 2 for one */
    return u == 0 ? 0 : number == 0 ? 1 : number >= 2 && number <= 7 ? (unsigned)number : 8;
}

size_t
same_e2m1(uint8_t *scale, uint8_t *code, const float *x, size_t nblocks, const struct same_e2m1 *how)
{
    const size_t n = how->block;
    for (size_t b = 0; b < nblocks; b++, x += n) {
        uint32_t bits[SAME_MX];
        const struct mx_bits f = look(bits, x, n);
        const int t = f.most == 0 ? -127 : f.any & 0x3FFFFF ? SAME_MX_NONE : same_e2m1_power(f.most, how);
        bool held = t != SAME_MX_NONE;
        for (size_t i = 0; held && i < n; i++) {
            const size_t at = how->halves ? i % (n / 2) : i / 2, high = how->halves ? i / (n / 2) : i % 2;
            const unsigned number = e2m1_of(bits[i] & 0x7FFFFFFF, t), nibble = number | (bits[i] >> 28 & 8);
            held = number < 8;
            if (code)
                code[b * (n / 2) + at] = (uint8_t)(high ? code[b * (n / 2) + at] | nibble << 4 : nibble);
        }
        if (!held)
            return b;
        scale[b] = (uint8_t)(t + 127);
    }
    return nblocks;
}

/* Returns the magnitude code of a value with four bits, or 0x80 if it has none. */
static unsigned
e4m3_of(uint32_t u, int t)
{
    int exponent = (int)(u >> 23) - (t + 120);          /* of the code; not positive: the code is a multiple of 2^-9 */
    unsigned significand = 8 | (u >> 20 & 7), shift = exponent > 0 ? 0 : exponent > -3 ? 1 - (unsigned)exponent : 4;
    if (u == 0 || exponent > 0)
        return u == 0 ? 0 : (unsigned)exponent << 3 | (significand & 7);
    return shift == 4 || significand & ((1u << shift) - 1) ? 0x80 : significand >> shift;
}

size_t
same_e4m3(uint8_t *scale, uint8_t *code, const float *x, size_t nblocks)
{
    for (size_t b = 0; b < nblocks; b++, x += SAME_MX) {
        uint32_t bits[SAME_MX];
        const struct mx_bits f = look(bits, x, SAME_MX);
        const int t = f.most == 0 ? -127 : f.any & 0xFFFFF ? SAME_MX_NONE : same_e4m3_power(f.most);
        bool held = t != SAME_MX_NONE;
        for (size_t i = 0; held && i < SAME_MX; i++) {
            const unsigned number = e4m3_of(bits[i] & 0x7FFFFFFF, t);
            held = number < 0x80;
            if (code)
                code[b * SAME_MX + i] = (uint8_t)(number | (bits[i] >> 24 & 0x80));
        }
        if (!held)
            return b;
        scale[b] = (uint8_t)(t + 127);
    }
    return nblocks;
}

size_t
e2m1_range(struct e2m1_range *range, const float *x, size_t nblocks)
{
    for (size_t b = 0; b < nblocks; b++, x += 16) {
        uint32_t bits[16];
        const struct mx_bits f = look(bits, x, 16);
        int lo = (int)(f.most >> 23) - 129, hi = INT32_MAX;
        for (size_t i = 0; i < 16; i++) {
            uint32_t u = bits[i] & 0x7FFFFFFF;
            int last = (int)(u >> 23) - (int)(u >> 22 & 1) - 126;
            if (u != 0 && u < 0x00800000)
                return b;
            hi = u != 0 && last < hi ? last : hi;
        }
        if (f.any & 0x3FFFFF || f.most >= 0x7F800000 || (f.most != 0 && lo > hi))
            return b;
        range->lo = f.most != 0 && lo > range->lo ? lo : range->lo;
        range->hi = hi < range->hi ? hi : range->hi;
    }
    return nblocks;
}
