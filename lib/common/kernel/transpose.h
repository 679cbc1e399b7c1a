/* transpose: transposes a matrix of units: y[c][r] = x[r][c].
 *
 *     y         cols rows of `rows` units, y_stride bytes apart; must not overlap x
 *     x         rows rows of `cols` units, x_stride bytes apart
 *     unit      bytes of a unit, not 0; their order is kept
 *
 * Cannot fail. Bytes between the rows of y are not written.
 *
 * To transpose rows [r0, r1) of a taller matrix into a slab of y, pass y + r0 * unit, x + r0 * x_stride and r1 - r0 rows.
 * Fastest for units of 1, 2, 4 and 8 bytes, rows of y in multiples of 64 bytes, and strides that are not powers of two:
 * lines a power of two apart share few places in a cache.
 */
#ifndef KERNEL_TRANSPOSE_H
#define KERNEL_TRANSPOSE_H

#include <stddef.h>
#include <stdint.h>

void transpose(uint8_t *restrict y, size_t y_stride, const uint8_t *restrict x, size_t x_stride, size_t rows, size_t cols,
    size_t unit);

#endif
