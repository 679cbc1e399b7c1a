/* encode_mx: each set of kernels against the scalar one, bit for bit. The scalar one is tested in test_encode_schemes.c and
 * test/peers/peer_forget_groups.py. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "check.h"
#include "kernel/encode_mx.h"
#include "kernel/kernels.h"
#include "sets.h"

enum { MOST = 32, ROUNDS = 20000 };

static uint64_t state = 7;

static uint32_t
next(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 32);
}

/* Values near limits and ties of E2M1 times a scale, and random ones. */
static float
value(float scale)
{
    static const float limits[] = { 0, 0.25f, 0.5f, 0.75f, 1, 1.25f, 1.5f, 1.75f, 2, 2.5f, 3, 3.5f, 4, 5, 6, 7 };
    float x = limits[next() % 16] * scale;
    uint32_t bits = bits_of_float(x);
    switch (next() % 8) {
    case 0:     return float_of_bits(next());
    case 1:     return float_of_bits(next() % 0x00800000u | (next() & 0x80000000u));
    case 2:     return (next() & 1) != 0 ? -0.0f : 0.0f;
    case 3:     return float_of_bits((bits + 1) | (next() & 0x80000000u));
    case 4:     return float_of_bits((bits != 0 ? bits - 1 : 0) | (next() & 0x80000000u));
    default:    return float_of_bits(bits | (next() & 0x80000000u));
    }
}

static bool
same(const struct kernels *k, const struct kernels *scalar, size_t n, const struct encode_e2m1 *how)
{
    float x[MOST], back[2][MOST] = { { 0 } };
    uint8_t y[2][MOST / 2] = { { 0 } };
    for (size_t i = 0; i < n; i++)
        x[i] = value(how->scale);
    k->encode_e2m1(y[0], back[0], x, n, how);
    scalar->encode_e2m1(y[1], back[1], x, n, how);
    bool ok = memcmp(y[0], y[1], sizeof y[0]) == 0;
    for (size_t i = 0; i < n; i++)
        ok = ok && (isnan(back[0][i]) ? isnan(back[1][i]) : bits_of_float(back[0][i]) == bits_of_float(back[1][i]));
    memset(y[0], 0, sizeof y[0]);
    k->encode_e2m1(y[0], NULL, x, n, how);
    float a = k->encode_most(x, n), b = scalar->encode_most(x, n);
    return ok && memcmp(y[0], y[1], sizeof y[0]) == 0 && bits_of_float(a) == bits_of_float(b);
}

static void
check_set(const struct kernels *k, const struct kernels *scalar)
{
    static const enum dtype quotients[] = { DTYPE_F32, DTYPE_BF16, DTYPE_F16 };
    bool ok = true;
    for (unsigned i = 0; ok && i < ROUNDS; i++) {
        struct encode_e2m1 how = { .quotient = DTYPE_F32, .rule = next() % 3, .high_first = next() & 1,
            .plus_zero = next() & 1 };
        how.scale = next() % 8 == 0 ? float_of_bits(next()) : ldexpf(1 + (float)(next() % 1024) / 1024, (int)(next() % 40) - 20);
        if (how.rule == E2M1_PLAIN)
            how.quotient = quotients[next() % 3];
        ok = same(k, scalar, 2 * (1 + next() % (MOST / 2)), &how);
    }
    CHECK_ROW(ok, k->name);
}

int
main(void)
{
    const struct kernels *scalar = sets_pick(sets[0]);
    for (unsigned i = 1; i < SETS; i++) {
        const struct kernels *k = sets_pick(sets[i]);
        if (k)
            check_set(k, scalar);
    }
    return check_done("encode_mx");
}
