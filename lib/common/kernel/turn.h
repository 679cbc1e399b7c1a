/* turn: a matrix of units turned, rows into columns: y[c][r] = x[r][c].
 *   y         cols rows of `rows` units, y_stride bytes apart; must not overlap x
 *   x         rows rows of `cols` units, x_stride bytes apart
 *   unit      bytes of a unit, not 0; nothing in it is turned around
 * Cannot fail. What lies between the rows of y stays.
 *
 * Rows [r0, r1) of a taller matrix fill a slab of y: y + r0 * unit, x + r0 * x_stride, r1 - r0 rows. Fastest for
 * units of 1, 2, 4 and 8 bytes, rows in multiples of 64 bytes of y, and strides that are no power of two: lines a
 * power of two apart share few places in a cache. */
#ifndef KERNEL_TURN_H
#define KERNEL_TURN_H

#include <stddef.h>
#include <stdint.h>

void turn(uint8_t *restrict y, size_t y_stride, const uint8_t *restrict x, size_t x_stride, size_t rows, size_t cols,
    size_t unit);

#endif
