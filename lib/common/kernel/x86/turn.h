/* turn: matrices of units of 1, 2, 4 and 8 bytes, a block at a time. avx2_turn.c and avx512_turn.c include this after
 * saying, with LANES the number of 16-byte lanes in a register:
 *
 *     vec                     such a register
 *     gather_lanes(x, step)   16 bytes from x, x + step, ...: one lane each
 *     put_vec(y, v)           write it, at any alignment
 *     unpack_low(a, b, unit), unpack_high(a, b, unit)     the units of half a lane of each, in turn
 *
 * A lane holds k = 16 / unit units. A block is k columns of LANES * k rows; register i begins as row i of it, row i + k
 * in the next lane, and so on. Write a unit's place in its lane's k x k units as the bits of register and place in
 * lane, ri ci. To unpack registers i and i + k/2 into 2i and 2i + 1 moves these bits round by one; after as many rounds
 * as ri has bits, ri and ci have changed places, and a register is LANES * k units of one column. */
#ifndef KERNEL_X86_TURN_H
#define KERNEL_X86_TURN_H

#include "kernel/turn.h"

enum { LANE = 16, LINE = 64 };

static ALWAYS_INLINE void
turn_block(uint8_t *restrict y, size_t y_stride, const uint8_t *restrict x, size_t x_stride, const size_t unit)
{
    const size_t k = LANE / unit;
    vec v[LANE], w[LANE];

    for (size_t i = 0; i < k; i++)
        v[i] = gather_lanes(x + i * x_stride, k * x_stride);
    for (size_t round = 1; round < k; round *= 2) {
        for (size_t i = 0; i < k / 2; i++) {
            w[2 * i] = unpack_low(v[i], v[i + k / 2], unit);
            w[2 * i + 1] = unpack_high(v[i], v[i + k / 2], unit);
        }
        for (size_t i = 0; i < k; i++)
            v[i] = w[i];
    }
    for (size_t i = 0; i < k; i++)
        put_vec(y + i * y_stride, v[i]);
}

static ALWAYS_INLINE size_t
min(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Columns in strips of one line of x. The last block of rows and of columns ends where the matrix does, over what has
 * been written already. */
static ALWAYS_INLINE void
turn_units(uint8_t *restrict y, size_t y_stride, const uint8_t *restrict x, size_t x_stride, size_t rows, size_t cols,
    const size_t unit)
{
    const size_t k = LANE / unit, high = LANES * k, strip = LINE / unit;

    if (rows < high || cols < k) {
        turn(y, y_stride, x, x_stride, rows, cols, unit);
        return;
    }
    for (size_t from = 0; from < cols; from += strip)
        for (size_t i = 0; i < rows; i += high)
            for (size_t j = from; j < min(from + strip, cols); j += k) {
                size_t r = min(i, rows - high), c = min(j, cols - k);

                turn_block(y + c * y_stride + r * unit, y_stride, x + r * x_stride + c * unit, x_stride, unit);
            }
}

static void
turn_any(uint8_t *restrict y, size_t y_stride, const uint8_t *restrict x, size_t x_stride, size_t rows, size_t cols,
    size_t unit)
{
    switch (unit) {
    case 1: turn_units(y, y_stride, x, x_stride, rows, cols, 1); break;
    case 2: turn_units(y, y_stride, x, x_stride, rows, cols, 2); break;
    case 4: turn_units(y, y_stride, x, x_stride, rows, cols, 4); break;
    case 8: turn_units(y, y_stride, x, x_stride, rows, cols, 8); break;
    default: turn(y, y_stride, x, x_stride, rows, cols, unit);
    }
}

#endif
