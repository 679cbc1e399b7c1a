/* same_nvfp4: finds blocks of NVFP4 whose values are codes times scales already: 16 E2M1 codes, an E4M3 scale s of the block, and a factor of
 * all blocks. The largest value has the largest code, 6. */
#ifndef KERNEL_SAME_NVFP4_H
#define KERNEL_SAME_NVFP4_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "dtype/dtype.h"
#include "kernel/encode_fp8.h"

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
