/* encode_fp8: rounds floats to float8 codes, to nearest, ties to even, keeping subnormals; and finds the largest magnitudes
 * from which their scales are computed.
 *
 *     y[i] = code(clamp(RN(x[i] / scale), -max, max))         or x[i] * scale; max: the largest finite code, 448 or 57344
 *
 * RN rounds to F32, BF16 or F16, like the quantizer's own arithmetic; some quantizers add a zero point of 0, which turns a
 * quotient of -0 into +0. The code of NaN is 0x7F. y and x must not overlap. Cannot fail. Source: PyTorch's cast to
 * float8_e4m3fn and float8_e5m2.
 */
#ifndef KERNEL_ENCODE_FP8_H
#define KERNEL_ENCODE_FP8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "dtype/dtype.h"

struct encode_fp8 {
    float scale;
    bool multiplies;            /* compute x * scale, else x / scale */
    bool adds_zero;             /* add +0 to the rounded quotient */
    enum dtype quotient;        /* F32, BF16 or F16 */
};

void encode_e4m3(uint8_t *restrict y, const float *restrict x, size_t n, const struct encode_fp8 *how);
void encode_e5m2(uint8_t *restrict y, const float *restrict x, size_t n, const struct encode_fp8 *how);

/* y[i] is the largest magnitude of elements [i * group, (i + 1) * group); the last group may be shorter. NaN if one of them
 * is NaN. group is not 0. */
void encode_absmax(float *restrict y, const float *restrict x, size_t n, size_t group);

/* The same for codes of BF16 or F16, at any address. */
void encode_absmax_bf16(float *restrict y, const uint8_t *restrict x, size_t n, size_t group);
void encode_absmax_f16(float *restrict y, const uint8_t *restrict x, size_t n, size_t group);

/* Returns the code nearest to f, with `mantissa` bits and `bias`, as PyTorch casts, with a magnitude of at most `largest`;
 * 0x7F for a NaN. `least`: the bits of the smallest normal value; `magic`: a float whose last place is the smallest
 * subnormal. */
static inline uint8_t
float8_of_float(float f, int mantissa, int bias, uint32_t least, float magic, uint32_t largest)
{
    uint32_t u = bits_of_float(f), magnitude = u & 0x7FFFFFFFu, code;
    int shift = 23 - mantissa;

    if (magnitude > 0x7F800000u)
        code = 0x7F;
    else if (magnitude < least)
        code = bits_of_float(float_of_bits(magnitude) + magic) - bits_of_float(magic);
    else
        code = ((magnitude + (1u << (shift - 1)) - 1 + (magnitude >> shift & 1)) >> shift)
            - ((127u - (uint32_t)bias) << mantissa);
    if (code > largest)
        code = magnitude > 0x7F800000u ? 0x7F : largest;
    return (uint8_t)(code | (u >> 24 & 0x80));
}

/* PyTorch's cast: values that round to more than 448 become NaN. */
static inline uint8_t
e4m3_of_float(float f)
{
    return float8_of_float(f, 3, 7, 0x3C800000u, 0x1p14f, 0x7F);
}

/* PyTorch's cast: values that round to more than 57344 become infinite. */
static inline uint8_t
e5m2_of_float(float f)
{
    return float8_of_float(f, 2, 15, 0x38800000u, 0x1p7f, 0x7C);
}

#endif
