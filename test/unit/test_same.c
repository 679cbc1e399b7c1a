/* test_same: the kernels that compare exact encodings with their source, and those that find blocks of integers and of NVFP4 in dense
 * copies, for every set of kernels. */
#include "check.h"

#include <math.h>
#include <string.h>

#include "base/bytes.h"
#include "dtype/bfloat16.h"
#include "dtype/float8.h"
#include "dtype/half.h"
#include "fence.h"
#include "kernel/kernels.h"
#include "kernel/rounded.h"
#include "kernel/same.h"
#include "sets.h"

/* Returns the largest power of two of which v, not 0, is a multiple. */
static double
last_bit(float v)
{
    double unit = 0x1p-149;
    while (fmod((double)v, 2 * unit) == 0)
        unit *= 2;
    return unit;
}

/* What floats are, against a naive count; all ranges of them, among them 0, subnormal and infinite. */
static void
test_extent(const struct kernels *k)
{
    enum { N = 70 };
    bool ok = true;

    for (int round = 0; round < 400; round++) {
        float x[N], high = -INFINITY, low = INFINITY, least = INFINITY;
        double unit = INFINITY;
        bool finite = true, narrow = true;
        size_t n = (size_t)round % N + 1;

        for (size_t i = 0; i < n; i++) {
            uint32_t u = (uint32_t)fence_random();

            u = round % 4 == 0 ? u & 0xFFFF0000 : round % 4 == 1 ? u & 0x807FFFFF : u;
            x[i] = u % 7 == 0 ? 0 : float_of_bits((u & 0x7FFFFFFF) > 0x7F800000 ? u & 0xBFFFFFFF : u);
            finite = finite && isfinite(x[i]);
            narrow = narrow && (bits_of_float(x[i]) & 0xFFFF) == 0;
            high = x[i] > high ? x[i] : high;
            low = x[i] < low ? x[i] : low;
            if (x[i] != 0 && isfinite(x[i])) {
                least = fabsf(x[i]) < least ? fabsf(x[i]) : least;
                unit = last_bit(x[i]) < unit ? last_bit(x[i]) : unit;
            }
        }
        struct same_extent e = k->same_extent(x, n);
        ok = ok && e.high == high && e.low == low && e.finite == finite && e.narrow == narrow
            && (!finite || (e.least == least && (double)e.unit == unit));
    }
    CHECK_ROW(ok, "extent");
}

/* Integers times a scale and steps from a minimum are found again; one other value, or a code out of range, is not taken. */
static void
test_products(const struct kernels *k)
{
    enum { N = 64 };
    bool ok = true;

    for (int round = 0; round < 300; round++) {
        float x[N], d = (float)(1 + fence_random() % 255) * (round % 2 ? 0x1p-9f : -0x1p3f), m = (float)(fence_random() % 64) * 0x1p-4f;
        uint8_t q[N], wanted[N];
        bool rounds = round % 3 == 0;

        for (int kind = 0; kind < 2; kind++) {
            for (int i = 0; i < N; i++) {
                wanted[i] = (uint8_t)(fence_random() % 32);
                x[i] = kind == 0 ? (float)(wanted[i] - 16) * d : (float)wanted[i] * d + m;
                x[i] = kind == 0 && rounds ? bfloat16_to_float(bfloat16_of_float(x[i])) : x[i];
            }
#define FOUND(top_) k->same_products(q, x, N, kind == 0 ? &(struct same_codes){ .d = d, .zero = 16, .top = top_, .rounds = rounds } \
    : &(struct same_codes){ .d = d, .m = m, .top = top_ })
            ok = ok && FOUND(31) && memcmp(q, wanted, N) == 0;
            size_t at = fence_random() % N;
            float was = x[at];
            x[at] = kind == 0 ? 16 * d : 32 * d + m;
            ok = ok && !FOUND(31);
            x[at] = was + 0.25f * d;
            ok = ok && !FOUND(31);
            x[at] = NAN;
            ok = ok && !FOUND(31);
#undef FOUND
        }
    }
    CHECK_ROW(ok, "products");
}

/* Any place of a difference, and NaN, is seen; zeros of both signs are the same. */
static void
test_same(const struct kernels *k)
{
    enum { N = 131 };
    float x[N], y[N];
    bool ok = true;

    for (size_t i = 0; i < N; i++)
        x[i] = (float)(int32_t)fence_random();
    for (size_t n = 0; n <= N; n++) {
        memcpy(y, x, sizeof y);
        ok = ok && k->same_rounded(DTYPE_F32, x, y, n);
        for (size_t i = 0; i < N; i++) {
            y[i] = i % 3 != 0 ? nextafterf(x[i], 0) : (float)NAN;
            ok = ok && k->same_rounded(DTYPE_F32, x, y, n) == (i >= n);
            y[i] = x[i];
        }
    }
    x[40] = 0;
    y[40] = -0.0f;
    CHECK_ROW(ok && k->same_rounded(DTYPE_F32, x, y, N), "same");
}

/* The comparison after rounding agrees with the reference: for neighbours of BF16 and F16 numbers, and where these end. */
static void
test_same_rounded(const struct kernels *k)
{
    static const enum dtype types[] = { DTYPE_F32, DTYPE_BF16, DTYPE_F16 };
    static const float ends[] = { 0, -0.0f, 65519, 65520, 0x1.FEFFFEp127f, 0x1.FFp127f, 0x1p-25f, 0x1p-134f, (float)INFINITY, (float)NAN };
    enum { N = 19, ENDS = sizeof ends / sizeof *ends };
    bool ok = true;

    for (unsigned t = 0; t < 3; t++)
        for (size_t round = 0; round < 4000; round++) {
            float x[N], y[N];
            for (size_t i = 0; i < N; i++) {
                x[i] = float_of_bits((uint32_t)fence_random() & (i % 2 == 0 ? 0xFFFF0000u : 0xFFFFE000u));
                x[i] = isnan(x[i]) ? 1 : x[i];
                y[i] = float_of_bits(bits_of_float(x[i]) + (uint32_t)(fence_random() % 0x3000));
            }
            size_t at = fence_random() % N;
            if (round % 2 == 0)
                memcpy(y, x, sizeof y);
            x[at] = ends[fence_random() % ENDS];
            y[at] = round % 3 != 0 ? ends[fence_random() % ENDS] : x[at];
            ok = ok && k->same_rounded(types[t], x, y, N) == same_rounded(types[t], x, y, N);
        }
    CHECK_ROW(ok, "same after rounding");
}

/* Products of codes and a scale are found as such, and the first other value is. */
static void
test_same_fp8(const struct kernels *k)
{
    static const enum dtype codes[] = { DTYPE_F8_E4M3, DTYPE_F8_E5M2 }, types[] = { DTYPE_F32, DTYPE_BF16 };
    enum { N = 83 };
    bool ok = true;

    for (unsigned round = 0; round < 8000; round++) {
        enum dtype code = codes[round % 2], type = types[round / 2 % 2];
        float x[N], scale = (1 + (float)(fence_random() % (1 << 20)) * 0x1p-20f) * ldexpf(1, (int)(fence_random() % 100) - 50);
        for (size_t i = 0; i < N; i++) {
            uint8_t c = (uint8_t)fence_random();
            x[i] = float8_to_float(code, (c & 0x7F) <= (code == DTYPE_F8_E4M3 ? 0x7E : 0x7B) ? c : 0) * scale;
            x[i] = type == DTYPE_BF16 ? rounded(DTYPE_BF16, x[i]) : x[i];
        }
        size_t n = fence_random() % (N + 1), at = fence_random() % N;
        ok = ok && k->same_fp8(code, type, x, n, scale) == n;
        x[at] = round % 3 == 0 ? (float)NAN : round % 3 == 1 ? 1.03f * x[at] : (code == DTYPE_F8_E4M3 ? 480.0f : 65536.0f) * scale;
        ok = ok && k->same_fp8(code, type, x, n, scale) == same_fp8(code, type, x, n, scale);
        ok = ok && (x[at] == 0 || k->same_fp8(code, type, x, n, scale) == (at < n ? at : n));
    }
    CHECK_ROW(ok, "codes times a scale");
}

/* Sets a block as a copy of a quantized one: codes of so many bits times a scale, plus a minimum for steps. Some have other values, too. */
static void
fill_block(float x[SAME_INTS], unsigned bits, int kind)
{
    static const float odd[] = { 0, -0.0f, 1, -1, 0x1p-130f, 0x1p-149f, 3e38f, 0x1p-20f, (float)INFINITY, (float)NAN };
    static const float e2m1[8] = { 0, 1, 2, 3, 4, 6, 8, 12 };
    const int half = 1 << (bits - 1), reach = fence_random() % 4 == 0 ? (int)(fence_random() % (unsigned)half) + 1 : half;
    float d = ldexpf(1, (int)(fence_random() % 44) - 26), m = (float)(int)(fence_random() % 2048) * d * 0.25f - 100 * d;
    d *= kind == 2 || fence_random() % 8 == 0 ? 1 + (float)(fence_random() % 1024) * 0x1p-10f : 1;
    d = fence_random() % 2 != 0 ? d : -d;
    for (size_t i = 0; i < SAME_INTS; i++) {
        int code = (int)(fence_random() % (unsigned)(2 * reach)) - reach;
        float v = reach % 3 == 0 ? e2m1[code & 7] * (code < 0 ? -1 : 1) : (float)code;
        x[i] = kind == 1 ? (float)(code + half) * fabsf(d) + m : kind == 2 ? rounded(DTYPE_BF16, v * d) : v * d;
    }
    if (fence_random() % 8 == 0)
        x[fence_random() % SAME_INTS] = odd[fence_random() % (sizeof odd / sizeof *odd)];
    if (fence_random() % 16 == 0)
        x[fence_random() % SAME_INTS] *= 1.01f;
    const bool zeros = fence_random() % 16 == 0;
    for (size_t i = 0; zeros && i < SAME_INTS; i++)
        x[i] = fence_random() % 2 != 0 ? 0.0f : -0.0f;
}

/* Tries all scales in turn: the largest code of the largest magnitude, then the last run of scales, then the scale with the
 * most zero bits. Returns SAME_NONE if no positive scale fits. */
static uint32_t
try_all_scales(const float x[SAME_INTS], unsigned bits)
{
    const float half = (float)(1 << (bits - 1));
    float most = 0, best = 0;
    uint32_t lo = 0, hi = 0;
    for (size_t i = 0; i < SAME_INTS; i++)
        most = fabsf(x[i]) > most ? fabsf(x[i]) : most;
    for (uint32_t p = 0x7BFF; p > 0; p--) {
        float d = half_to_float((uint16_t)p), c = rintf(most / d);
        bool fits = c <= half;
        for (size_t i = 0; fits && i < SAME_INTS; i++)
            fits = rintf(x[i] / d) < half && rounded(DTYPE_BF16, rintf(x[i] / d) * d) == x[i];
        if (fits && c > best)
            hi = p;
        else if (!fits || p + 1 != lo)
            continue;
        best = c;
        lo = p;
    }
    if (hi == 0)
        return SAME_NONE;
    uint32_t step = 1 << 14;
    while ((lo + step - 1) / step * step > hi)
        step /= 2;
    return (lo + step - 1) / step * step;
}

/* Finds blocks as the scalar functions do; what it finds is what the decoder of the type yields. */
static void
test_same_ints(const struct kernels *k)
{
    static const enum dtype types[][3] = { { DTYPE_Q4_0, DTYPE_Q5_0, DTYPE_Q8_0 }, { DTYPE_Q4_1, DTYPE_Q5_1, DTYPE_Q5_1 } };
    static const unsigned widths[] = { 4, 5, 8 };
    kernel_same_ints *const finds[] = { k->same_int_powers, k->same_int_steps, k->same_int_rounded };
    kernel_same_ints *const wanted[] = { same_int_powers, same_int_steps, same_int_rounded };
    enum { N = 21 };
    bool ok = true;

    for (unsigned round = 0; round < 6000; round++) {
        const unsigned kind = round % 3, width = kind == 1 && round / 3 % 3 == 2 ? 1 : round / 3 % 3, bits = widths[width];
        const enum dtype type = types[kind == 1][width];
        float x[N * SAME_INTS], back[N * SAME_INTS];
        uint8_t q[N * SAME_INTS], q2[N * SAME_INTS], y[N * 34];
        uint16_t f[2 * N], f2[2 * N];
        size_t n = fence_random() % (N + 1), found = 0;
        for (size_t i = 0; i < n; i++)
            fill_block(x + i * SAME_INTS, bits, (int)kind);
        ok = ok && finds[kind](q, f, x, n, bits) == wanted[kind](q2, f2, x, n, bits);
        for (size_t i = 0; i < n; i++) {
            bool held = f[2 * i] != SAME_NONE;
            ok = ok && f[2 * i] == f2[2 * i] && f[2 * i + 1] == f2[2 * i + 1];
            ok = ok && (!held || memcmp(q + i * SAME_INTS, q2 + i * SAME_INTS, SAME_INTS) == 0);
            found += held;
        }
        ok = ok && finds[kind](NULL, f2, x, n, bits) == found && memcmp(f, f2, n * 4) == 0;
        k->q_join(type, y, q, f, n);
        k->block_f32[type](back, y, n);
        for (size_t i = 0; i < n * SAME_INTS; i++)
            ok = ok && (f[i / SAME_INTS * 2] == SAME_NONE || (kind == 2 ? rounded(DTYPE_BF16, back[i]) : back[i]) == x[i]);
        for (size_t i = 0; round < 600 && kind == 2 && i < n && i < 3; i++)
            if (f[2 * i] != SAME_NONE && f[2 * i] != 0 && f[2 * i] < 0x8000)
                ok = ok && f[2 * i] == try_all_scales(x + i * SAME_INTS, bits);
    }
    CHECK_ROW(ok, "blocks of integers");
}

/* A copy of MXFP4 with the scale 2^-3 in Q5_0 and Q5_1, one of integers times 0x1.8p-6 in BF16, zeros, and a block of other values. */
static void
test_known_ints(const struct kernels *k)
{
    static const float e2m1[8] = { 0, 0.5f, 1, 1.5f, 2, 3, 4, 6 };
    float x[3 * SAME_INTS];
    uint8_t q[3 * SAME_INTS];
    uint16_t f[6];
    bool ok = true;

    for (size_t i = 0; i < SAME_INTS; i++) {
        x[i] = e2m1[i % 8] * (i % 16 < 8 ? 0.125f : -0.125f);
        x[SAME_INTS + i] = 0;
        x[2 * SAME_INTS + i] = i == 7 ? 0x1.02p0f : (float)(i % 3);
    }
    ok = ok && k->same_int_powers(q, f, x, 3, 5) == 2 && f[0] == 0x2C00 && f[1] == 0 && f[2] == 0 && f[4] == SAME_NONE;     /* 2^-4 */
    for (size_t i = 0; i < SAME_INTS; i++)
        ok = ok && q[i] == 16 + (int)(x[i] * 16) && q[SAME_INTS + i] == 16;
    ok = ok && k->same_int_steps(q, f, x, 3, 5) == 1 && f[0] == 0x2C00 && f[1] == 0xBA00 && f[2] == SAME_NONE && f[4] == SAME_NONE;
    for (size_t i = 0; i < SAME_INTS; i++)
        ok = ok && q[i] == (int)((x[i] + 0.75f) * 16);
    for (size_t i = 0; i < SAME_INTS; i++)
        x[i] = rounded(DTYPE_BF16, ((float)(i % 16) - 8) * 0x1.8p-6f);
    ok = ok && k->same_int_rounded(q, f, x, 2, 4) == 2 && f[0] == 0x2600 && f[1] == 0 && f[2] == 0;
    for (size_t i = 0; i < SAME_INTS; i++)
        ok = ok && q[i] == i % 16 && q[SAME_INTS + i] == 8;
    for (size_t i = 0; i < SAME_INTS; i++)
        x[i] = -x[i];                           /* 8 is not a code: the scale is negative */
    ok = ok && k->same_int_rounded(q, f, x, 1, 4) == 1 && f[0] == 0xA600 && q[0] == 0 && q[15] == 15;
    CHECK_ROW(ok, "known blocks of integers");
}

/* Blocks that ggml's decoder makes, and other decoders' formulas, get their scales and codes back if a code of the largest magnitude occurs. */
static void
test_same_nvfp4(const struct kernels *k)
{
    static const float values[8] = { 0, 0.5f, 1, 1.5f, 2, 3, 4, 6 };
    enum { N = 21, BLOCK = SAME_NVFP4 };
    bool ok = true;

    for (unsigned round = 0; round < 4000; round++) {
        struct same_nvfp4 how = { .type = round % 2 != 0 ? DTYPE_BF16 : DTYPE_F32, .divides = round % 3 == 1, .codes_first = round % 3 == 2,
            .powers = round % 7 == 0 };
        how.second = ldexpf(how.powers ? 1 : 1 + (float)(fence_random() % (1 << 20)) * 0x1p-20f, (int)(fence_random() % 60) - 30);
        float x[N * BLOCK];
        uint8_t scale[N], code[N * BLOCK], s[N], c[N * BLOCK / 2], found[N], s2[N], c2[N * BLOCK / 2], found2[N];
        for (size_t i = 0; i < N * BLOCK; i++) {
            if (i % BLOCK == 0)
                scale[i / BLOCK] = (uint8_t)(how.powers ? (fence_random() % 15 + 1) << 3 : fence_random() % 0x7E + 1);
            code[i] = i % BLOCK == 5 ? 7 : fence_random() & 15;
            float e = float8_to_float(DTYPE_F8_E4M3, scale[i / BLOCK]), v = values[code[i] & 7];
            v = how.codes_first ? v * e * how.second : v * (how.divides ? e / how.second : e * how.second);
            x[i] = rounded(how.type, code[i] & 8 ? -v : v);
        }
        size_t n = fence_random() % (N + 1);
        ok = ok && k->same_nvfp4(s, c, found, x, n, &how) == n && memcmp(s, scale, n) == 0;
        for (size_t i = 0; i < n * BLOCK; i++)
            ok = ok && (c[i / 2] >> i % 2 * 4 & 15) == code[i] && found[i / BLOCK] >> (code[i] & 7) & 1;
        for (size_t i = 0; how.powers && i < n; i++) {
            struct e2m1_range r = { -1000, 1000 };
            int lo = ilogbf(x[i * BLOCK + 5]) - 2, hi = 1000;
            for (size_t j = i * BLOCK; j < (i + 1) * BLOCK; j++)        /* halves, 2 and 4, and the rest are 1 and 3 times a power of two */
                hi = x[j] != 0 && ilogbf(x[j]) + 1 - (fabsf(x[j]) != ldexpf(1, ilogbf(x[j]))) < hi
                    ? ilogbf(x[j]) + 1 - (fabsf(x[j]) != ldexpf(1, ilogbf(x[j]))) : hi;
            ok = ok && k->e2m1_range(&r, x + i * BLOCK, 1) == 1 && r.lo == lo && r.hi == hi;
        }
        x[fence_random() % (N * BLOCK)] = round % 5 == 0 ? (float)NAN : 0.77f * x[5];
        size_t held = same_nvfp4(s2, c2, found2, x, N, &how);
        ok = ok && k->same_nvfp4(s, c, found, x, N, &how) == held && memcmp(s, s2, held) == 0 && memcmp(c, c2, held * 8) == 0
            && memcmp(found, found2, held) == 0;
    }
    CHECK_ROW(ok, "blocks of NVFP4");
}

int
main(void)
{
    fence_guard("test_same");
    for (int i = 0; i < SETS; i++) {
        const struct kernels *k = sets_pick(sets[i]);
        if (k == NULL)
            continue;
        fence_what[0] = sets[i];
        fence_what[1] = "same";
        test_same(k);
        test_extent(k);
        test_products(k);
        test_same_rounded(k);
        test_same_fp8(k);
        test_same_ints(k);
        test_known_ints(k);
        test_same_nvfp4(k);
    }
    return check_done("test_same");
}
