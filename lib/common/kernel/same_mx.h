/* same_mx: finds blocks whose values are codes times a power of two already: E2M1 codes in blocks of 16 or 32 values, E4M3 codes in blocks of
 * 32. The scale is the smallest one that the largest value allows. Zeros keep their signs. */
#ifndef KERNEL_SAME_MX_H
#define KERNEL_SAME_MX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SAME_MX = 32, SAME_MX_NONE = -1000 };

/* How blocks of E2M1 are made. */
struct same_e2m1 {
    size_t block;               /* elements: 16 or 32 */
    bool halves;                /* the first half of a block is in the low nibbles; else even elements are */
    int least, most;            /* exponents of a scale; `least` if the largest value allows a smaller one */
};

/* Finds scales and codes of nblocks blocks. Returns how many, from the first one on, have values that are codes times 2^t; blocks with values
 * that are not normal numbers of F32, or 0, end the search like those without a scale. Sets scale[i] to t + 127, 0 for a block of
 * zeros, and block / 2 bytes of codes for each block, unless `code` is NULL. */
size_t same_e2m1(uint8_t *scale, uint8_t *code, const float *x, size_t nblocks, const struct same_e2m1 *how);

/* Like same_e2m1(), for blocks of SAME_MX codes of E4M3, a byte each. */
size_t same_e4m3(uint8_t *scale, uint8_t *code, const float *x, size_t nblocks);

/* Returns the exponent of the scale for the bits of the largest magnitude of a block, which has at most two bits and is not 0; SAME_MX_NONE
 * without one. The largest code is 1.5 * 2^2, and the smallest, 2^-1 times the scale, has to be a normal number. */
static inline int
same_e2m1_power(uint32_t most, const struct same_e2m1 *how)
{
    int lo = (int)(most >> 23) - 129, t = lo > how->least ? lo : how->least;
    if (lo < -125 || most >= 0x7F800000 || t > how->most)
        return SAME_MX_NONE;
    return t;
}

/* Like same_e2m1_power(), for E4M3: magnitudes have at most four bits, from 1.75 * 2^8 to 2^-9. */
static inline int
same_e4m3_power(uint32_t most)
{
    int t = (int)(most >> 23) - 135 + ((most & 0x7FFFFF) > 0x600000);
    if (t < -117 || most >= 0x7F800000)
        return SAME_MX_NONE;
    return t;
}

/* The exponents t with which blocks are E2M1 codes times 2^t: lo <= t <= hi. */
struct e2m1_range {
    int lo, hi;
};

/* Narrows a range by blocks of 16, from the first one on, that are E2M1 codes times a power of two: normal numbers, or 0. Returns how
 * many. */
size_t e2m1_range(struct e2m1_range *range, const float *x, size_t nblocks);

#endif
