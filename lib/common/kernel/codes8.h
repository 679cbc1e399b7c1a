/* codes8: dequantizes codes of up to 8 bits, one a byte, with a scale and optionally a zero point for each group of
 * elements: INT8 of compressed-tensors, ModelOpt and similar schemes, and the output of bits.h.
 *
 * Computes elements [first, first + n) of a row:
 *
 *     y[i] = (x[i] - zeros[g]) * scales[g]             one F32 subtraction, one F32 multiplication
 *     g = (first + i) / group - first / group
 *
 *     y         n values; must not overlap the rest
 *     x         n codes
 *
 * Cannot fail; a NaN result is the canonical one.
 *
 * Groups of one element serve codes without group order: zeros[i] and scales[i] then belong to element i.
 */
#ifndef KERNEL_CODES8_H
#define KERNEL_CODES8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct codes8 {
    const float *zeros;         /* starting with the group of element `first`; NULL: no subtraction */
    const float *scales;        /* starting with the same group */
    size_t group;               /* elements in a group, not 0 */
    bool is_signed;             /* codes are two's complement */
    bool narrow;                /* codes are unsigned and below 16, so a group can be a table of values */
};

void codes8_f32(float *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct codes8 *c);
void codes8_bf16(uint16_t *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct codes8 *c);

#endif
