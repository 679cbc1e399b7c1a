/* shift, wide: the sets of kernels agree for all lengths; sums do not depend on their order. */
#include "check.h"

#include <math.h>
#include <string.h>

#include "base/exact_sum.h"
#include "kernel/kernels.h"

enum { N = 77 };

static float
number(void)
{
    static uint32_t state = 5;
    state = state * 1664525 + 1013904223;
    return (float)(int32_t)state * 1e-9f;
}

static void
compare(const struct kernels *a, const struct kernels *b, size_t n)
{
    float list[4][N], x[N], y[N];
    double v[N + 1], w[N + 1];
    struct shift_lanes one = { .moved = 0 }, two = { .moved = 0 };
    for (size_t k = 0; k < 4; k++)
        for (size_t i = 0; i < n; i++)
            list[k][i] = k == 3 && i % 3 == 0 ? list[2][i] : number();
    for (int round = 0; round < 2; round++) {
        a->shift(&one, list[0], list[1], list[2], list[3], n);
        b->shift(&two, list[0], list[1], list[2], list[3], n);
    }
    CHECK(memcmp(&one, &two, sizeof one) == 0 && one.moved == 2 * (n - (n + 2) / 3));
    for (size_t i = 0; i < n; i++)
        v[i] = (double)number() * (1 + 1e-9 * (double)i);
    a->wide_to(x, v, n);
    b->wide_to(y, v, n);
    CHECK(memcmp(x, y, n * sizeof *x) == 0);
    size_t odd = n / 2;
    CHECK(a->wide_beyond(v, n, 4) == 0 && b->wide_beyond(v, n, 4) == 0);
    v[odd] = n % 3 == 0 ? NAN : n % 3 == 1 ? INFINITY : -4.5;
    CHECK(n == 0 || (a->wide_beyond(v, n, 4) == 1 && b->wide_beyond(v, n, 4) == 1));
    memcpy((float *)(void *)(v + n) - n, x, n * sizeof *x);     /* in the second half, as block.c has them */
    memcpy((float *)(void *)(w + n) - n, x, n * sizeof *x);
    a->wide_from(v, (float *)(void *)(v + n) - n, n);
    b->wide_from(w, (float *)(void *)(w + n) - n, n);
    CHECK(memcmp(v, w, n * sizeof *v) == 0 && (n == 0 || v[n - 1] == x[n - 1]));
}

static void
test_exact_sum(void)
{
    static const double list[] = { 1e300, 1, -1e300, 0x1p-1074, 3e-200, -1, 0x1.fffffffffffffp1023, -0x1.fffffffffffffp1023 };
    enum { LIST = sizeof list / sizeof *list };
    struct exact_sum up = { .lost = false }, down = { .lost = false }, joined = { .lost = false };
    for (size_t i = 0; i < LIST; i++) {
        exact_sum_add(&up, list[i]);
        exact_sum_add(i % 2 ? &down : &joined, list[LIST - 1 - i]);
    }
    exact_sum_join(&joined, &down);
    CHECK(exact_sum_value(&up) == 3e-200 && exact_sum_value(&joined) == 3e-200);
    exact_sum_add(&up, NAN);
    CHECK(isnan(exact_sum_value(&up)));
}

int
main(void)
{
    struct err err;
    err_init(&err);
    const struct kernels *fast = kernels_pick(NULL, &err), *scalar = kernels_pick("scalar", &err);
    for (size_t n = 0; n <= N; n++)
        compare(fast, scalar, n);
    test_exact_sum();
    return check_done("shift");
}
