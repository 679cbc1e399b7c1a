/* codes4: dequantizes 4-bit codes with a table of 16 values, a scale and optionally a zero point for each group of elements:
 * bitsandbytes NF4 and FP4 (map[code] * absmax), GPTQ ((code - zero point) * scale), and similar schemes.
 *
 * The codes of a row are contiguous, two a byte. Computes elements [first, first + n) of the row:
 *
 *     y[i] = (map[code] - zeros[g]) * scales[g]        one F32 subtraction, one F32 multiplication
 *     g = (first + i) / group - first / group
 *
 *     y         n values; must not overlap the rest
 *     x         starts with the byte of element `first`, which is its first nibble if `first` is even
 *
 * Cannot fail; a NaN result is the canonical one.
 *
 * Groups of one element serve codes without group order (GPTQ's g_idx): zeros[i] and scales[i] then belong to element i.
 */
#ifndef KERNEL_CODES4_H
#define KERNEL_CODES4_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct codes4 {
    const float *map;           /* [16] */
    const float *zeros;         /* starting with the group of element `first`; NULL: no subtraction */
    const float *scales;        /* starting with the same group */
    size_t group;               /* elements in a group, not 0 */
    bool low_first;             /* the low nibble of a byte comes first */
};

void codes4_f32(float *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct codes4 *c);
void codes4_bf16(uint16_t *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct codes4 *c);

/* Dequantizes rows that share bytes in pairs, as in experts stored transposed: the low nibbles of a line are one row, the
 * high ones the next, and each column has one scale for all rows.
 *
 *     y[r * y_stride + c] = map[code] * scales[c]      r < rows, c < cols
 *
 * The code is in x[(first + r) / 2 * x_stride + c]: the low nibble if first + r is even, else the high one. Strides count
 * elements. Cannot fail; a NaN result is the canonical one.
 */
struct codes4_lanes {
    const float *map;           /* [16] */
    const float *scales;        /* [cols] */
    const uint8_t *x;
    size_t x_stride, first, rows, cols;         /* first: 0 or 1 */
};

void codes4_lanes_f32(float *restrict y, size_t y_stride, const struct codes4_lanes *c);
void codes4_lanes_bf16(uint16_t *restrict y, size_t y_stride, const struct codes4_lanes *c);

#endif
