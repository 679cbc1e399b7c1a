/* lowrank: the sets of kernels agree, and with a loop, for all widths and offsets of a panel. */
#include "check.h"

#include <string.h>

#include "kernel/kernels.h"
#include "lowrank_expected.h"

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

/* Compares with sums that were rounded once. */
static void
check_expected(const struct kernels *k)
{
    static double v[EXPECTED_ROWS * EXPECTED_COLS], l[EXPECTED_ROWS * EXPECTED_RANK];
    static float r[(EXPECTED_COLS + LOWRANK_PANEL) * EXPECTED_RANK];
    for (size_t i = 0; i < EXPECTED_ROWS * EXPECTED_COLS; i++)
        v[i] = expected_w[i];
    for (size_t i = 0; i < EXPECTED_ROWS * EXPECTED_RANK; i++)
        l[i] = expected_l[i];
    for (size_t i = 0; i < EXPECTED_RANK * EXPECTED_COLS; i++)
        r[lowrank_at(EXPECTED_RANK, i / EXPECTED_COLS, i % EXPECTED_COLS)] = expected_r[i];
    k->lowrank_add(v, EXPECTED_COLS, &(const struct lowrank){ l, r, EXPECTED_RANK, EXPECTED_ROWS, 0, EXPECTED_COLS, EXPECTED_SCALE });
    for (size_t i = 0; i < EXPECTED_ROWS * EXPECTED_COLS; i++)
        CHECK((float)v[i] == expected_sum[i]);
}

int
main(void)
{
    struct err err;
    err_init(&err);
    const struct kernels *fast = kernels_pick(NULL, &err), *scalar = kernels_pick("scalar", &err);
    check_expected(fast);
    check_expected(scalar);
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
