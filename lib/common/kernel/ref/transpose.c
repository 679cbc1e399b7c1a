/* transpose: works in strips of columns, so that each line of x is used completely while it is in the cache. */
#include "kernel/transpose.h"

#include <string.h>

#include "base/num.h"

enum { LINE = 64 };

/* `unit` is a constant once inlined: copying one is a load and a store. */
static inline void
transpose_units(uint8_t *restrict y, size_t y_stride, const uint8_t *restrict x, size_t x_stride, size_t rows, size_t cols,
    const size_t unit)
{
    size_t strip = 1;
    if (unit < LINE)
        strip = LINE / unit;

    for (size_t from = 0; from < cols; from += strip)
        for (size_t r = 0; r < rows; r++)
            for (size_t c = from; c < num_min(from + strip, cols); c++)
                memcpy(y + c * y_stride + r * unit, x + r * x_stride + c * unit, unit);
}

void
transpose(uint8_t *restrict y, size_t y_stride, const uint8_t *restrict x, size_t x_stride, size_t rows, size_t cols,
    size_t unit)
{
    switch (unit) {
    case 1: transpose_units(y, y_stride, x, x_stride, rows, cols, 1); break;
    case 2: transpose_units(y, y_stride, x, x_stride, rows, cols, 2); break;
    case 4: transpose_units(y, y_stride, x, x_stride, rows, cols, 4); break;
    case 8: transpose_units(y, y_stride, x, x_stride, rows, cols, 8); break;
    default: transpose_units(y, y_stride, x, x_stride, rows, cols, unit);
    }
}
