/* same_floats: finds blocks whose values are codes of floats times scales already: E2M1 or E4M3 with powers of two, NVFP4, NF4. */
#ifndef KERNEL_SAME_FLOATS_H
#define KERNEL_SAME_FLOATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "dtype/dtype.h"
#include "kernel/encode_fp8.h"

/* --- powers of two: E2M1 codes in blocks of 16 or 32 values, E4M3 codes in blocks of 32. The scale is the smallest one that the largest
 * value allows. Zeros keep their signs. */

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

/* --- NF4: codes times the largest magnitude of the block */

/* Finds the scales and codes of nblocks blocks of `block` values, a power of two and at least 32. Returns how many, from the first one on, have
 * the values of bnb_nf4_map[code] * absmax after rounding to BF16 or F32; a scale that is not 0 has to be from 2^-100 to 2^100. Sets
 * absmax[i], and block / 2 bytes of codes for each block, the first one in the high nibble, unless `code` is NULL. 0 and -0 have the
 * code of 0. */
size_t same_nf4(float *absmax, uint8_t *code, const float *x, size_t nblocks, size_t block, enum dtype type);

/* --- NVFP4: 16 E2M1 codes, an E4M3 scale s of the block, and a factor of all blocks. The largest value has the largest code, 6. */

enum { SAME_NVFP4 = 16 };               /* elements of a block */

/* How values were computed: RN(c * RN(s * second)), or with a division for the product in the parentheses, or RN(RN(c * s) * second); then
 * rounded to a type, BF16 or F32. */
struct same_nvfp4 {
    enum dtype type;
    bool divides, codes_first;
    bool powers;                        /* second and s are powers of two: s is the smallest that the largest value allows */
    float second;                       /* from 2^-100 to 2^100 */
};

/* Finds scales and codes of nblocks blocks, and decodes them. Returns how many of them, from the first one on, have the same values, and
 * sets these scales, and codes, 8 bytes a block, the low nibble first. Code 8 is -0; the scale of a block of zeros has the code 1. If `found` is not NULL, bit c
 * of found[i] is set if code c or c + 8 occurs in block i. */
size_t same_nvfp4(uint8_t *scale, uint8_t *code, uint8_t *found, const float *x, size_t nblocks, const struct same_nvfp4 *how);

/* Returns the code of the scale of a block with this largest magnitude, not 0; 0 without one. `inverse`: of the value of code 6 with
 * the scale 1. */
static inline uint8_t
same_nvfp4_scale(const struct same_nvfp4 *how, float most, float inverse)
{
    if (!how->powers) {
        uint8_t code = e4m3_of_float(most * inverse);
        if (code > 0x7E)
            return 0;
        return code;
    }
    /* most <= 6 * 2^t: 1.5 * 2^(t + 2) */
    uint32_t above = (bits_of_float(most) + 0x3FFFFF) & 0x7F800000;
    float ratio = float_of_bits(above) * 0.25f * (how->divides ? how->second : 1 / how->second);
    int exponent = (int)(bits_of_float(ratio) >> 23) - 127;
    if (!(ratio <= 256) || !(most >= 0x1p-100f))
        return 0;
    if (exponent >= -6)
        return (uint8_t)((exponent + 7) << 3);
    if (exponent >= -9)
        return (uint8_t)(1 << (exponent + 9));
    return 1;
}

/* Returns the value of the code of a finite, positive E4M3. */
static inline float
same_nvfp4_e4m3(uint8_t code)
{
    if (code >= 8)
        return float_of_bits(((uint32_t)code << 20) + (120u << 23));
    return (float)code * 0x1p-9f;
}

/* Returns what multiplies a code, before `*last` does. */
static inline float
same_nvfp4_factor(float *last, const struct same_nvfp4 *how, uint8_t scale)
{
    float s = same_nvfp4_e4m3(scale);
    *last = 1.0f;
    if (how->codes_first) {
        *last = how->second;
        return s;
    }
    if (how->divides)
        return s / how->second;
    return s * how->second;
}

/* Returns the inverse for same_nvfp4_scale(). */
static inline float
same_nvfp4_inverse(const struct same_nvfp4 *how)
{
    if (how->divides)
        return how->second / 6.0f;
    return 1.0f / (6.0f * how->second);
}

/* How quotients q are rounded: t - (t - q) with t = q * split leaves the two bits of a code; below 1, q + magic - magic a multiple of 1/2. From
 * `end` on they round to more than 6. */
#define SAME_E2M1_SPLIT 0x1.000004p22f
#define SAME_E2M1_MAGIC 0x1.8p22f
#define SAME_E2M1_END 7.0f

#endif
