/* codes4: 4-bit codes that stand for a table of 16 values, with a scale and perhaps a zero point for each group of
 * elements: bitsandbytes NF4 and FP4 (map[code] * absmax), GPTQ ((code - zero point) * scale), and their like.
 *
 * A row's codes lie side by side, two a byte. Elements [first, first + n) of the row:
 *
 *     y[i] = (map[code] - zeros[g]) * scales[g]        one F32 subtraction, one F32 multiplication
 *     g = (first + i) / group - first / group
 *
 *   y         n values; must not overlap the rest
 *   x         from the byte of element `first` on, which is its first nibble when `first` is even
 *
 * Cannot fail; a NaN result is the canonical one.
 *
 * Groups of one element hold what has no order (GPTQ's g_idx): zeros[i] and scales[i] are then the element's own. */
#ifndef KERNEL_CODES4_H
#define KERNEL_CODES4_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct codes4 {
    const float *map;           /* [16] */
    const float *zeros;         /* from the group of element `first` on; NULL: nothing is taken off */
    const float *scales;        /* likewise */
    size_t group;               /* elements of a group, not 0 */
    bool low_first;             /* the low nibble of a byte comes first */
};

void codes4_f32(float *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct codes4 *c);
void codes4_bf16(uint16_t *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct codes4 *c);

/* Rows of which two share bytes, as experts lie that are stored transposed: the low nibbles of a line are one row, the
 * high ones the next, and a column has one scale for all of them.
 *
 *     y[r * y_stride + c] = map[code] * scales[c]      r < rows, c < cols
 *
 * code: of x[(first + r) / 2 * x_stride + c] the low nibble where first + r is even, else the high one. Strides count
 * elements. Cannot fail; a NaN result is the canonical one. */
struct codes4_lanes {
    const float *map;           /* [16] */
    const float *scales;        /* [cols] */
    const uint8_t *x;
    size_t x_stride, first, rows, cols;         /* first: 0 or 1 */
};

void codes4_lanes_f32(float *restrict y, size_t y_stride, const struct codes4_lanes *c);
void codes4_lanes_bf16(uint16_t *restrict y, size_t y_stride, const struct codes4_lanes *c);

#endif
