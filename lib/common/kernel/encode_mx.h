/* encode_mx: quantizes blocks of floats to FP4 (E2M1) with a scale for each block, and computes such scales. */
#ifndef KERNEL_ENCODE_MX_H
#define KERNEL_ENCODE_MX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dtype/dtype.h"

/* Return the E8M0 code of a block's scale. encode_mx_nearest() follows compressed-tensors for weights of this type; `below`
 * is the number of powers of two between the scale and the largest magnitude (2 for E2M1, 8 for E4M3). encode_mx_ceil()
 * returns 2^ceil(log2(f)) with PyTorch's F32 logarithm. */
uint8_t encode_mx_nearest(float absmax, int below, enum dtype dtype);
uint8_t encode_mx_ceil(float f);

/* Rounding of x / scale to E2M1. */
enum encode_e2m1_rule {
    E2M1_PLAIN,                 /* the code of 0 has no sign, but values that round to zero keep theirs */
    E2M1_DOWN,                  /* ties to zero; zeros and NaN become negative */
    E2M1_SIGNED                 /* zeros and NaN keep their sign */
};

struct encode_e2m1 {
    float scale;
    enum dtype quotient;        /* type to which x / scale is rounded: BF16, F16 or F32; not F32 only with E2M1_PLAIN */
    enum encode_e2m1_rule rule;
    bool high_first;            /* the first of two codes in a byte is in the high nibble */
    bool plus_zero;             /* code 8 decodes to +0 */
};

/* Encodes n elements, even and at most 32, to n / 2 bytes, and sets back[i] = value(code) * scale if back is not NULL.
 * Values beyond the range of E2M1 become its largest. */
void encode_e2m1(uint8_t *restrict y, float *restrict back, const float *restrict x, size_t n,
    const struct encode_e2m1 *how);

/* Returns the largest magnitude of n elements, ignoring NaN. */
float encode_most(const float *x, size_t n);

#endif
