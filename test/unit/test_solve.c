/* test_solve: the solvers of exact encodings against brute force: a search over all scales of F16 (or all minima, of small
 * exponents) that knows no number theory. A solver must succeed exactly where it does, and what it returns must decode to the
 * values. */
#include "check.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/bytes.h"
#include "dtype/bfloat16.h"
#include "dtype/float8.h"
#include "dtype/half.h"
#include "encode/solve_mx.h"
#include "encode/solve_nf4.h"
#include "kernel/bnb_maps.h"
#include "kernel/rounded.h"

enum { N = 8 };

static uint64_t state = 1;

static unsigned
number(unsigned below)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (unsigned)(state >> 33) % below;
}

static const struct kernels *kernels;

static struct solve_block
block_of(const float *x, size_t n, struct exact_fail *fail)
{
    *fail = (struct exact_fail){ 0 };
    return (struct solve_block){ .x = x, .n = n, .level = EXACT_F32, .kernels = kernels, .fail = fail };
}

/* --- integers times a scale of F16 */

static bool
fits_scale(const float *x, double d, int low, int top)
{
    for (int i = 0; i < N; i++) {
        double q = rint((double)x[i] / d);
        if (!(q >= low && q <= top && (float)(q * d) == x[i]))
            return false;
    }
    return true;
}

static bool
brute_int(const float *x, int low, int top)
{
    bool zero = true;
    for (int i = 0; i < N; i++)
        zero = zero && x[i] == 0;
    for (unsigned half = 1; half < 0x7C00; half++) {
        double d = (double)half_to_float((uint16_t)half);
        if (fits_scale(x, d, low, top) || fits_scale(x, -d, low, top))
            return true;
    }
    return zero;
}

/* Values that are often, but not always, multiples of one number of F16. */
static void
fill_int(float *x, unsigned bits)
{
    float d = half_to_float((uint16_t)(number(0x7000) + 0x400));
    int span = 1 << (bits - 1), step = 1 + (int)number(3);
    for (int i = 0; i < N; i++)
        x[i] = (float)((int)number((unsigned)(2 * span / step)) - span / step) * d * (float)step;
    if (number(3) == 0)
        x[number(N)] *= 1.0f + (float)number(3) * 0x1p-11f;
    if (number(4) == 0)
        x[number(N)] = d * 0x1p-3f * (float)number(9);
}

static void
test_int(int rounds)
{
    for (int round = 0; round < rounds; round++) {
        float x[N];
        unsigned bits = 4 + number(2);
        int span = 1 << (bits - 1);
        struct exact_fail fail;
        struct int_group g;
        uint8_t q[N];
        fill_int(x, bits);
        const struct solve_int how = { bits, false, -span, DTYPE_F16 };
        const struct solve_block b = block_of(x, N, &fail);
        bool found = solve_int(&b, &how, &g, q), can = brute_int(x, -span, span - 1), same = found;
        CHECK(found == can);
        CHECK(found == (fail.cause == EXACT_HOLDS));
        for (int i = 0; found && i < N; i++)
            same = same && ((float)q[i] - g.zero) * g.scale == x[i] && q[i] < 2 * span;
        CHECK(same == found && (!found || rounded(DTYPE_F16, g.scale) == g.scale));
    }
}

/* --- powers of two */

static bool
brute_power(const float *x, enum dtype type, int codes, int least, int most, int *smallest)
{
    for (int t = least; t <= most; t++) {
        bool all = true;
        for (int i = 0; all && i < N; i++) {
            bool any = false;
            for (int c = 0; !any && c < codes; c++) {
                double v = type == DTYPE_F8_E4M3 ? (double)float8_to_float(type, (uint8_t)c)
                    : (double)((const float[]){ 0, .5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -.5f, -1, -1.5f, -2, -3, -4, -6 })[c];
                any = isfinite(v) && ldexp(v, t) == (double)x[i];
            }
            all = any;
        }
        if (all) {
            *smallest = t;
            return true;
        }
    }
    return false;
}

static void
test_power(int rounds)
{
    for (int round = 0; round < rounds; round++) {
        float x[N];
        bool eight = number(2) != 0;
        int base = (int)number(60) - 30, t = 0, smallest = 0;
        struct exact_fail fail;
        for (int i = 0; i < N; i++)
            x[i] = ldexpf((float)((int)number(eight ? 31 : 7) - (eight ? 15 : 3)), base + (int)number(eight ? 16 : 3));
        const struct solve_block b = block_of(x, N, &fail);
        bool found = solve_mx_power(&t, &b, eight ? &solve_e4m3 : &solve_e2m1, -127, 127);
        bool can = brute_power(x, eight ? DTYPE_F8_E4M3 : DTYPE_UNKNOWN, eight ? 256 : 16, -127, 127, &smallest);
        CHECK(found == can);
        CHECK(!found || t == smallest);
    }
}

/* --- steps from a minimum */

static bool
fits_steps(const float *x, float d, float m, int top)
{
    for (int i = 0; i < N; i++) {
        double q = d != 0 ? rint(((double)x[i] - (double)m) / (double)d) : 0;
        if (!(q >= 0 && q <= top && (float)(q * (double)d) + m == x[i]))
            return false;
    }
    return true;
}

/* Searches scales and minima of F16 in a band of exponents, which holds every solution of the values made below. */
static bool
brute_steps(const float *x, int top)
{
    static float list[5000];
    size_t n = 0;
    for (unsigned half = 0; half < 0x8000; half++) {
        float v = half_to_float((uint16_t)half);
        if (v == 0 || (v >= 0x1p-6f && v <= 64 && v == floorf(v * 64) / 64))
            list[n++] = v;
    }
    for (size_t a = 0; a < n; a++)
        for (size_t k = 0; k < n; k++)
            for (int sign = 0; sign < 4; sign++)
                if (fits_steps(x, sign & 1 ? -list[a] : list[a], sign & 2 ? -list[k] : list[k], top))
                    return true;
    return false;
}

static void
test_steps(int rounds)
{
    for (int round = 0; round < rounds; round++) {
        float x[N], d = (float)(1 + number(200)) / 64, m = (float)((int)number(200) - 100) / 64;
        struct exact_fail fail;
        struct int_group g;
        uint8_t q[N];
        for (int i = 0; i < N; i++)
            x[i] = (float)number(8) * d + m;
        if (round % 3 == 0)
            x[0] += 1.0f / 64;
        const struct solve_steps how = { .bits = 3, .type = DTYPE_F16 };
        const struct solve_block b = block_of(x, N, &fail);
        bool found = solve_steps(&b, &how, &g, q), same = found;
        for (int i = 0; found && i < N; i++)
            same = same && (float)q[i] * g.scale + g.zero == x[i] && q[i] < 8;
        CHECK(same == found);
        CHECK(found || !brute_steps(x, 7));
    }
}

/* --- rounded products */

/* A scale that was rounded away: BF16 values of INT4 and INT8 codes with scales of F32 and BF16. */
static void
test_copies(int rounds)
{
    for (int round = 0; round < rounds; round++) {
        float x[32], d = (float)(1 + number(1 << 20)) * 0x1p-30f;
        bool eight = number(2) != 0, narrow = number(2) != 0;
        int span = eight ? 128 : 8;
        struct exact_fail fail;
        struct int_group g;
        uint8_t q[32];
        d = narrow ? rounded(DTYPE_BF16, d) : d;
        for (int i = 0; i < 32; i++)
            x[i] = rounded(DTYPE_BF16, (float)((int)number(2 * (unsigned)span) - span) * d);
        x[0] = rounded(DTYPE_BF16, (float)-span * d);
        struct solve_block b = block_of(x, 32, &fail);
        b.level = EXACT_BF16;
        const struct solve_int how = { eight ? 8 : 4, false, -span, narrow ? DTYPE_BF16 : DTYPE_F32 };
        bool found = solve_int(&b, &how, &g, q), same = found;
        for (int i = 0; found && i < 32; i++)
            same = same && rounded(DTYPE_BF16, ((float)q[i] - g.zero) * g.scale) == x[i];
        CHECK(found && same);
    }
}

static void
test_nf4(int rounds)
{
    for (int round = 0; round < rounds; round++) {
        float x[64], absmax, was = (float)(1 + number(1 << 23)) * 0x1p-24f;
        struct exact_fail fail;
        uint8_t q[64];
        bool bf16 = number(2) != 0, tiny = bf16 && number(2) != 0, same = true;
        was *= tiny ? 0x1p-128f : 1;        /* rounded to so few bits that other codes are each other's negatives */
        for (int i = 0; i < 64; i++) {
            float v = float_of_bits(bnb_nf4_map[i == 0 ? 15 : number(16)]) * was;
            x[i] = bf16 ? rounded(DTYPE_BF16, v) : v;
        }
        struct solve_block b = block_of(x, 64, &fail);
        b.level = bf16 ? EXACT_BF16 : EXACT_F32;
        bool found = solve_nf4(&b, &absmax, q);
        for (int i = 0; found && i < 64; i++) {
            float v = float_of_bits(bnb_nf4_map[q[i]]) * absmax;
            same = same && (bf16 ? rounded(DTYPE_BF16, v) : v) == x[i];
        }
        CHECK(found && same);
        CHECK(bf16 || absmax == was);
        x[5] = was * 0.123f;
        CHECK(tiny || (!solve_nf4(&b, &absmax, q) && fail.cause == EXACT_SPAN));
    }
}

/* --- what is not finite, and blocks of zeros */

static void
test_edges(void)
{
    float x[32] = { 0 };
    struct exact_fail fail;
    struct int_group g;
    uint8_t q[32];
    int t;
    struct solve_block b = block_of(x, 32, &fail);
    const struct solve_int how = { 4, false, -8, DTYPE_F16 };
    const struct solve_steps steps = { .bits = 4, .type = DTYPE_F16 };
    CHECK(solve_int(&b, &how, &g, q) && g.scale == 0 && q[7] == 8);
    CHECK(solve_steps(&b, &steps, &g, q) && g.scale == 0 && g.zero == 0 && q[7] == 0);
    const float none[32] = { 0 };
    struct solve_block integers = b;            /* with a scale of 0, MLX has the code that mlx-lm makes of INT4's 0 */
    integers.scale = none;
    integers.source = (struct exact_source){ .codes = EXACT_INT, .bits = 4 };
    CHECK(solve_steps(&integers, &(const struct solve_steps){ 4, DTYPE_F16, .narrow = true, .centre = true }, &g, q) && g.scale == 0
        && q[0] == 8 && q[31] == 8);
    CHECK(solve_mx_power(&t, &b, &solve_e2m1, -127, 127) && t == -127);
    for (int i = 0; i < 3; i++) {
        x[9] = i == 0 ? NAN : i == 1 ? INFINITY : -INFINITY;
        CHECK(!solve_int(&b, &how, &g, q) && fail.cause == EXACT_NONFINITE && fail.index == 9);
        CHECK(!solve_steps(&b, &steps, &g, q) && fail.cause == EXACT_NONFINITE);
        CHECK(!solve_mx_power(&t, &b, &solve_e2m1, -127, 127) && fail.cause == EXACT_NONFINITE);
    }
    x[9] = 0x1p-149f;
    CHECK(solve_mx_power(&t, &b, &solve_e4m3, -140, 127) && t == -140);
    CHECK(!solve_mx_power(&t, &b, &solve_e2m1, -127, 127) && fail.cause == EXACT_SCALE);
    CHECK(!solve_int(&b, &how, &g, q) && fail.cause == EXACT_SCALE);
    x[9] = FLT_MAX;
    x[10] = 0x1p-149f;
    CHECK(!solve_int(&b, &how, &g, q) && fail.cause == EXACT_SPAN);
    CHECK(!solve_steps(&b, &steps, &g, q) && fail.cause == EXACT_SPAN);
    for (int i = 0; i < 32; i++)
        x[i] = 0x1p-30f;
    CHECK(!solve_steps(&b, &steps, &g, q) && fail.cause == EXACT_SCALE);
}

/* Blocks of the smallest numbers: no reader of NVFP4 may round the product of the two scales to 0. A divisor would be too large. */
static void
test_smallest(void)
{
    static const enum solve_nvfp4_reader readers[] = { SOLVE_NVFP4_MULTIPLIES, SOLVE_NVFP4_OVER, SOLVE_NVFP4_BLOCKS };
    static const float values[8] = { 0, 0.5f, 1, 1.5f, 2, 3, 4, 6 };
    for (int r = 0; r < 3; r++) {
        const float second = readers[r] == SOLVE_NVFP4_OVER ? SOLVE_NVFP4_UNIT * 0x1p-149f : 0x1p-149f;
        float x[16];
        struct exact_fail fail;
        uint8_t q[16], scale;
        for (int i = 0; i < 16; i++)
            x[i] = i % 3 == 0 ? 0 : i % 3 == 1 ? 0x1p-149f : -0x1p-148f;
        struct solve_block b = block_of(x, 16, &fail);
        bool ok = solve_nvfp4(&b, readers[r], second, &scale, q);
        for (int i = 0; ok && i < 16; i++) {
            float v = solve_nvfp4_value(readers[r], values[q[i] & 7], float8_to_float(DTYPE_F8_E4M3, scale), second);
            ok = (q[i] & 8 ? -v : v) == x[i];
        }
        CHECK(ok);
    }
}

int
main(void)
{
    struct err err;
    err_init(&err);
    kernels = kernels_pick(NULL, &err);
    test_int(check_rounds(1500, 20000));
    test_power(check_rounds(3000, 30000));
    test_steps(check_rounds(30, 120));
    test_copies(check_rounds(300, 3000));
    test_nf4(check_rounds(300, 3000));
    test_edges();
    test_smallest();
    return check_done("test_solve");
}
