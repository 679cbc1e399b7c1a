/* lowrank: the sets of kernels agree, and with a loop, for all widths and offsets of a panel; so does merging into codes with
 * its separate steps. */
#include "check.h"

#include <float.h>
#include <math.h>
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

static double
total(const double lanes[SHIFT_LANES])
{
    double sum = 0;
    for (unsigned i = 0; i < SHIFT_LANES; i++)
        sum += lanes[i];
    return sum;
}

static bool
is_near(const double a[SHIFT_LANES], const double b[SHIFT_LANES])
{
    return fabs(total(a) - total(b)) <= 1e-6 * fabs(total(a));
}

/* Merges into codes at an odd address, and by separate steps. With `large`, some results are NaN, infinite or FLT_MAX. */
static void
compare_merge(const struct kernels *a, const struct kernels *b, const struct lowrank *p, bool large)
{
    enum { N = ROWS * COLS };
    static uint8_t x[2 * N + 1], y[2 * N + 1];
    static float before[N], now[N], after[N];
    static double v[N];
    static uint16_t code[N];
    struct lowrank_sums one = { .shifts = !large }, two = one, steps = { .beyond = 0 };
    for (size_t i = 0; i < N; i++)
        before[i] = large && i % 11 == 0 ? NAN : large && i % 13 == 0 ? -FLT_MAX : number();
    b->round_bf16(code, before, N);
    memcpy(x + 1, code, sizeof code);
    memcpy(y + 1, code, sizeof code);
    for (size_t i = 0; i < p->rows; i++) {
        b->widen[DTYPE_BF16](before, x + 1 + 2 * i * COLS, p->cols);
        b->wide_from(v, before, p->cols);
        b->lowrank_add(v, COLS, &(const struct lowrank){ p->l + i * p->rank, p->r, p->rank, 1, p->first, p->cols, p->s });
        b->wide_to(now, v, p->cols);
        b->round_bf16(code + i * COLS, now, p->cols);
        b->widen[DTYPE_BF16](after, (const uint8_t *)(code + i * COLS), p->cols);
        steps.beyond += b->wide_beyond(v, p->cols, FLT_MAX);
        b->shift(&steps.shift, before, now, before, after, p->cols);
    }
    a->lowrank_merge(x + 1, COLS, p, &one);
    b->lowrank_merge(y + 1, COLS, p, &two);
    CHECK(memcmp(x + 1, code, sizeof code) == 0 && memcmp(y + 1, code, sizeof code) == 0);
    CHECK(one.beyond == steps.beyond && two.beyond == steps.beyond && large == (steps.beyond != 0));
    if (large)
        return;
    lowrank_sums_end(&one);
    lowrank_sums_end(&two);
    CHECK(memcmp(&one, &two, sizeof one) == 0 && one.shift.moved == steps.shift.moved && one.shift.moved != 0);
    CHECK(is_near(one.shift.base, steps.shift.base) && is_near(one.shift.change, steps.shift.change));
    CHECK(is_near(one.shift.both, steps.shift.both) && is_near(one.shift.rest, steps.shift.rest));
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
            for (size_t rows = 1; rows <= ROWS; rows++) {
                const struct lowrank p = { l, r, RANK, rows, first, cols, 0.3 };
                compare(fast, scalar, &p);
                compare_merge(fast, scalar, &p, false);
                compare_merge(fast, scalar, &p, true);
            }
    return check_done("lowrank");
}
