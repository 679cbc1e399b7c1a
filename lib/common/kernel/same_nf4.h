/* same_nf4: finds blocks whose values are NF4 codes times their largest magnitude already. */
#ifndef KERNEL_SAME_NF4_H
#define KERNEL_SAME_NF4_H

#include <stddef.h>
#include <stdint.h>

#include "dtype/dtype.h"

/* Finds the scales and codes of nblocks blocks of `block` values, a power of two and at least 32. Returns how many, from the first one on, have
 * the values of bnb_nf4_map[code] * absmax after rounding to BF16 or F32; a scale that is not 0 has to be from 2^-100 to 2^100. Sets
 * absmax[i], and block / 2 bytes of codes for each block, the first one in the high nibble, unless `code` is NULL. 0 and -0 have the
 * code of 0. */
size_t same_nf4(float *absmax, uint8_t *code, const float *x, size_t nblocks, size_t block, enum dtype type);

#endif
