/* codes8: codes of up to 8 bits, one a byte, with a scale and perhaps a zero point for each group of elements: INT8 of
 * compressed-tensors, ModelOpt and their like, and what bits.h unpacks.
 *
 * Elements [first, first + n) of a row:
 *
 *     y[i] = (x[i] - zeros[g]) * scales[g]             one F32 subtraction, one F32 multiplication
 *     g = (first + i) / group - first / group
 *
 *   y         n values; must not overlap the rest
 *   x         n codes
 *
 * Cannot fail; a NaN result is the canonical one.
 *
 * Groups of one element hold what has no order: zeros[i] and scales[i] are then the element's own. */
#ifndef KERNEL_CODES8_H
#define KERNEL_CODES8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct codes8 {
    const float *zeros;         /* from the group of element `first` on; NULL: nothing is taken off */
    const float *scales;        /* likewise */
    size_t group;               /* elements of a group, not 0 */
    bool is_signed;             /* codes are two's complement */
    bool narrow;                /* codes are unsigned and none is above 15: the values of a group can be a table */
};

void codes8_f32(float *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct codes8 *c);
void codes8_bf16(uint16_t *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct codes8 *c);

#endif
