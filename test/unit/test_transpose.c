/* test_transpose: transposed matrices, for every set of kernels: every unit is at its place, and nothing else changes. Both
 * buffers end at an inaccessible page, or a few bytes before it. */
#include "check.h"

#include "fence.h"
#include "kernel/kernels.h"
#include "sets.h"

enum { CANARY = 0xA5, ROOM = 1 << 20 };

static struct fence input, output;

/* The last row of either matrix has no gap after it. */
static size_t
reach(size_t rows, size_t stride, size_t width)
{
    return rows == 0 || width == 0 ? 0 : (rows - 1) * stride + width;
}

static bool
is_transposed(const struct kernels *k, size_t rows, size_t cols, size_t unit, size_t x_gap, size_t y_gap, size_t slack)
{
    size_t x_stride = cols * unit + x_gap, y_stride = rows * unit + y_gap;
    size_t x_size = reach(rows, x_stride, cols * unit), y_size = reach(cols, y_stride, rows * unit);
    uint8_t *x = input.end - slack - x_size, *y = output.end - slack - y_size;
    bool same = true;

    memset(y - 64, CANARY, y_size + 64 + slack);
    k->transpose(y, y_stride, x, x_stride, rows, cols, unit);
    for (size_t c = 0; c < cols; c++) {
        for (size_t r = 0; r < rows; r++)
            same = same && memcmp(y + c * y_stride + r * unit, x + r * x_stride + c * unit, unit) == 0;
        for (size_t i = rows * unit; i < y_stride && c + 1 < cols && rows > 0; i++)
            same = same && y[c * y_stride + i] == CANARY;
    }
    for (size_t i = 0; i < 64; i++)
        same = same && (y - 64)[i] == CANARY;
    for (size_t i = 0; i < slack; i++)
        same = same && (output.end - slack)[i] == CANARY;
    return same;
}

/* A 4 x 2 matrix of words, written by hand. */
static void
test_known(const struct kernels *k)
{
    static const uint8_t x[4][8] = { { 0, 1, 2, 3, 4, 5, 6, 7 }, { 8, 9, 10, 11, 12, 13, 14, 15 },
        { 16, 17, 18, 19, 20, 21, 22, 23 }, { 24, 25, 26, 27, 28, 29, 30, 31 } };
    static const uint8_t expected[2][16] = {
        { 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27 },
        { 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31 } };
    uint8_t y[2][16];

    k->transpose(y[0], 16, x[0], 8, 4, 2, 4);
    CHECK(memcmp(y, expected, sizeof y) == 0);
}

/* Sizes around the size of a block, which is at most 64 rows by 16 columns. */
static void
test_sizes(const struct kernels *k, size_t unit)
{
    static const size_t rows[] = { 0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 23, 31, 32, 33, 40, 63, 64, 65, 100, 129 };
    static const size_t cols[] = { 0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 31, 33, 64, 66, 127, 130 };
    bool same = true;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t j = 0; j < sizeof cols / sizeof *cols; j++)
            for (size_t slack = 0; slack < 3; slack++)
                same = same && is_transposed(k, rows[i], cols[j], unit, fence_random() % 3 * 7, fence_random() % 3 * 5, slack);
    CHECK_ROW(same, k->name);
}

/* Slab by slab, like a reader of a few rows at a time. */
static void
test_slabs(const struct kernels *k)
{
    enum { ROWS = 86, COLS = 40, UNIT = 4, STRIDE = ROWS * UNIT + 64 };
    const uint8_t *x = input.start;
    uint8_t *whole = output.start, *y = output.start + COLS * STRIDE;

    memset(whole, 0, 2 * COLS * STRIDE);
    k->transpose(whole, STRIDE, x, COLS * UNIT, ROWS, COLS, UNIT);
    for (size_t r = 0, n; r < ROWS; r += n) {
        n = r + 24 < ROWS ? 24 : ROWS - r;
        k->transpose(y + r * UNIT, STRIDE, x + r * COLS * UNIT, COLS * UNIT, n, COLS, UNIT);
    }
    CHECK(memcmp(whole, y, COLS * STRIDE) == 0);
}

int
main(void)
{
    static const size_t units[] = { 1, 2, 3, 4, 8, 16, 100 };

    fence_guard("test_transpose");
    input = fence_new(4 * ROOM);
    output = fence_new(4 * ROOM);
    fence_fill(input.start, 4 * ROOM);
    for (size_t i = 0; i < SETS; i++) {
        const struct kernels *k = sets_pick(sets[i]);

        if (k == NULL)
            continue;
        fence_what[0] = sets[i];
        test_known(k);
        for (size_t u = 0; u < sizeof units / sizeof *units; u++)
            test_sizes(k, units[u]);
        test_slabs(k);
    }
    return check_done("test_transpose");
}
