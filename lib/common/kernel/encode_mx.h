/* encode_mx: blocks of floats to FP4 (E2M1) with a scale a block, and such scales. Codes are one a byte. */
#ifndef KERNEL_ENCODE_MX_H
#define KERNEL_ENCODE_MX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dtype/dtype.h"

/* The code of a power of two that is the scale of a block (float8_e8m0 of it) from the largest magnitude: as
 * compressed-tensors has it for values of this type, with `below` powers of two between it and that magnitude (2 for
 * E2M1, 8 for E4M3); and 2^ceil(log2(f)) as PyTorch's F32 logarithm has it. */
uint8_t encode_mx_nearest(float absmax, int below, enum dtype dtype);
uint8_t encode_mx_ceil(float f);

/* How E2M1 codes are made of x / scale. */
enum encode_e2m1_rule {
    E2M1_PLAIN,                 /* zeros have no sign, and what rounds to zero keeps it */
    E2M1_DOWN,                  /* ties to zero; zeros and NaN are negative */
    E2M1_SIGNED                 /* zeros and NaN keep their sign */
};

struct encode_e2m1 {
    float scale;
    enum dtype quotient;        /* BF16, F16 or F32: x / scale is rounded to it; other than F32 with E2M1_PLAIN only */
    enum encode_e2m1_rule rule;
    bool high_first;            /* of two codes in a byte the first one is in the high nibble */
    bool plus_zero;             /* code 8 stands for +0 */
};

/* n elements, even and at most 32, to n / 2 bytes; and back[i] = value(code) * scale where back is not NULL. Beyond what
 * E2M1 has is its largest. */
void encode_e2m1(uint8_t *restrict y, float *restrict back, const float *restrict x, size_t n,
    const struct encode_e2m1 *how);

/* The largest magnitude of n; NaN is passed over. */
float encode_most(const float *x, size_t n);

#endif
