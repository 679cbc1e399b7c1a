/* lowrank: the sets of kernels agree, and with a loop, for all widths and offsets of a panel. */
#include "check.h"

#include <string.h>

#include "kernel/kernels.h"

enum { ROWS = 13, RANK = 5, COLS = 37 };

static float
number(void)
{
    static uint32_t state = 7;
    state = state * 1664525 + 1013904223;
    return (float)(int32_t)state * 1e-9f;
}

static void
compare(const struct kernels *a, const struct kernels *b, const struct lowrank *p)
{
    static double x[ROWS * COLS], y[ROWS * COLS];
    for (size_t i = 0; i < ROWS * COLS; i++)
        x[i] = y[i] = number();
    a->lowrank_add(x, COLS, p);
    b->lowrank_add(y, COLS, p);
    CHECK(memcmp(x, y, sizeof x) == 0);
    a->lowrank_product(x, COLS, p);
    b->lowrank_product(y, COLS, p);
    CHECK(memcmp(x, y, sizeof x) == 0);
    double t = 0;
    for (size_t k = 0; k < RANK; k++)
        t += p->l[k] * (double)p->r[lowrank_at(RANK, k, p->first)];
    CHECK(memcmp(&x[0], &t, sizeof t) == 0);
}

int
main(void)
{
    struct err err;
    err_init(&err);
    const struct kernels *fast = kernels_pick(NULL, &err), *scalar = kernels_pick("scalar", &err);
    static double l[ROWS * RANK];
    static float r[(COLS + LOWRANK_PANEL) * RANK];
    for (size_t i = 0; i < sizeof l / sizeof *l; i++)
        l[i] = number();
    for (size_t i = 0; i < sizeof r / sizeof *r; i++)
        r[i] = number();
    for (size_t first = 0; first < 10; first++)
        for (size_t cols = 1; first + cols <= COLS; cols += 3)
            for (size_t rows = 1; rows <= ROWS; rows++)
                compare(fast, scalar, &(const struct lowrank){ l, r, RANK, rows, first, cols, 0.3 });
    return check_done("lowrank");
}
