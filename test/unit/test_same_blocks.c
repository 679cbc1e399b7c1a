/* test_same_blocks: the kernels that find blocks of MXFP4, MXFP8, NVFP4 and NF4 in dense copies, for every set of kernels: known blocks, blocks made
 * from random codes, and the same ones with a value that does not fit, bit for bit against the scalar set. The values end at an
 * inaccessible page. */
#include "check.h"

#include <math.h>
#include <string.h>

#include "base/bytes.h"
#include "dtype/float8.h"
#include "fence.h"
#include "kernel/bnb_maps.h"
#include "kernel/kernels.h"
#include "kernel/rounded.h"
#include "kernel/same_floats.h"
#include "sets.h"

enum { BLOCKS = 9, MOST = 128 * BLOCKS };

static const float e2m1[16] = { 0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6 };
static struct fence values;

static float *
room(size_t n)
{
    return (float *)(void *)(values.end - n * sizeof(float));
}

/* Returns the code of element i of a block of n. */
static unsigned
nibble(const uint8_t *code, size_t n, bool halves, size_t i)
{
    size_t at = halves ? i % (n / 2) : i / 2, high = halves ? i / (n / 2) : i % 2;
    return code[at] >> (high ? 4 : 0) & 15;
}

/* Changes a value so that its block may not fit any more. */
static void
spoil(float *x)
{
    static const float factor[] = { 0.25f, 0.5f, 0.75f, 1.25f, 1.125f, 2, 4, 0x1p-14f, 0x1p14f, -1, 1 + 0x1p-23f, 1 + 0x1p-9f };
    static const uint32_t edge[] = { 0x00000001, 0x00400000, 0x007FFFFF, 0x00800000, 0x80000000, 0x7F7FFFFF, 0x7F800000, 0x7FC00000,
        0xFF800001, 0x3F800000, 0x00010000, 0x7F000000 };
    uint32_t i = fence_random() % 12;
    *x = fence_random() % 3 != 0 ? *x * factor[i] : float_of_bits(edge[i]);
}

static void
test_known(const struct kernels *k)
{
    static const uint8_t even[16] = { 0x10, 0x32, 0x54, 0x76, 0x98, 0xBA, 0xDC, 0xFE, 0x10, 0x32, 0x54, 0x76, 0x98, 0xBA, 0xDC, 0xFE };
    static const uint8_t halves[16] = { 0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF };
    static const uint8_t half16[8] = { 0x80, 0x91, 0xA2, 0xB3, 0xC4, 0xD5, 0xE6, 0xF7 };
    /* 0, -0, 2^-9, 7 * 2^-9, 2^-6, -1, 1.125, 448; the last has the largest code */
    static const uint8_t eight[8] = { 0x00, 0x80, 0x01, 0x07, 0x08, 0xB8, 0x39, 0x7E };
    static const float eights[8] = { 0, -0.0f, 0x1p-9f, 0x1.cp-7f, 0x1p-6f, -1, 1.125f, 448 };
    static const uint8_t nf4[16] = { 0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF, 0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF };
    uint8_t scale[2], code[32];
    float *x = room(32), absmax;
    for (size_t i = 0; i < 32; i++)
        x[i] = e2m1[i % 16] * 0x1p-3f;
    CHECK(k->same_e2m1(scale, code, x, 1, &(struct same_e2m1){ 32, false, -127, 127 }) == 1 && scale[0] == 124 && memcmp(code, even, 16) == 0);
    CHECK(k->same_e2m1(scale, code, x, 1, &(struct same_e2m1){ 32, true, -127, 127 }) == 1 && scale[0] == 124 && memcmp(code, halves, 16) == 0);
    CHECK(k->same_e2m1(scale, code, x, 2, &(struct same_e2m1){ 16, true, -127, 127 }) == 2 && scale[1] == 124 && memcmp(code, half16, 8) == 0
        && memcmp(code + 8, half16, 8) == 0);
    CHECK(k->same_e2m1(scale, code, x, 1, &(struct same_e2m1){ 32, false, -127, -4 }) == 0);
    CHECK(k->same_e2m1(scale, code, x, 1, &(struct same_e2m1){ 32, false, -2, 127 }) == 0);          /* one half needs 2^-3 */
    for (size_t i = 0; i < 32; i++)
        x[i] = eights[i % 8] * 0x1p5f;
    CHECK(k->same_e4m3(scale, code, x, 1) == 1 && scale[0] == 132);
    for (size_t i = 0; i < 32; i++)
        CHECK(code[i] == eight[i % 8]);
    for (size_t i = 0; i < 32; i++)
        x[i] = rounded(DTYPE_BF16, float_of_bits(bnb_nf4_map[i % 16]) * 0.75f);
    CHECK(k->same_nf4(&absmax, code, x, 1, 32, DTYPE_BF16) == 1 && absmax == 0.75f && memcmp(code, nf4, 16) == 0);
    CHECK(k->same_nf4(&absmax, code, x, 1, 32, DTYPE_F32) == 0);
    memset(x, 0, 32 * sizeof *x);
    CHECK(k->same_e2m1(scale, code, x, 1, &(struct same_e2m1){ 32, false, -127, 127 }) == 1 && scale[0] == 0 && code[7] == 0);
    CHECK(k->same_e4m3(scale, code, x, 1) == 1 && scale[0] == 0 && code[7] == 0);
    CHECK(k->same_nf4(&absmax, code, x, 1, 32, DTYPE_BF16) == 1 && absmax == 0 && code[7] == 0x77);
}

/* Returns true if a set finds the same as the scalar set, with codes and without them. */
static bool
is_same_e2m1(const struct kernels *k, const float *x, size_t n, const struct same_e2m1 *how, size_t *held)
{
    uint8_t scale[3][BLOCKS], code[2][MOST];
    *held = same_e2m1(scale[0], code[0], x, n, how);
    return k->same_e2m1(scale[1], code[1], x, n, how) == *held && k->same_e2m1(scale[2], NULL, x, n, how) == *held
        && memcmp(scale[0], scale[1], *held) == 0 && memcmp(scale[0], scale[2], *held) == 0
        && memcmp(code[0], code[1], *held * how->block / 2) == 0;
}

/* Blocks with a largest code get their exponents and codes back, within the limits; others are decoded to themselves. */
static void
test_e2m1(const struct kernels *k)
{
    bool ok = true;
    for (unsigned round = 0; round < 6000; round++) {
        const struct same_e2m1 how = { round % 2 ? 32 : 16, round % 4 < 2, round % 5 == 0 ? -20 : -127, round % 7 == 0 ? 15 : 127 };
        size_t n = fence_random() % (BLOCKS + 1), held = 0, fits = n;
        uint8_t wanted[MOST], t[BLOCKS], scale[BLOCKS], code[MOST];
        float *x = room(n * how.block);
        int base = round % 3 == 0 ? -125 : round % 3 == 1 ? 126 - 40 : -20;
        for (size_t i = 0; i < n * how.block; i++) {
            if (i % how.block == 0)
                t[i / how.block] = fence_random() % 5 == 0 ? 0 : (uint8_t)(base + (int)(fence_random() % 40) + 127);
            wanted[i] = t[i / how.block] == 0 ? fence_random() & 8 : i % how.block == 3 ? 7 : fence_random() & 15;
            x[i] = ldexpf(e2m1[wanted[i]], t[i / how.block] - 127);
        }
        for (size_t i = 0; i < n && how.least == -127; i++)
            fits = fits == n && t[i] != 0 && t[i] - 127 > how.most ? i : fits;
        ok = ok && is_same_e2m1(k, x, n, &how, &held) && (how.least != -127 || held == fits);
        k->same_e2m1(scale, code, x, n, &how);
        for (size_t i = 0; i < held; i++)
            ok = ok && (t[i] == 0 || how.least != -127 ? (t[i] == 0) == (scale[i] == 0) : scale[i] == t[i]);
        for (size_t i = 0; i < held * how.block; i++) {
            unsigned q = nibble(code + i / how.block * (how.block / 2), how.block, how.halves, i % how.block);
            ok = ok && (how.least == -127 ? q == wanted[i] : ldexpf(e2m1[q], scale[i / how.block] - 127) == x[i]);
        }
        if (n == 0)
            continue;
        spoil(&x[fence_random() % (n * how.block)]);
        ok = ok && is_same_e2m1(k, x, n, &how, &held);
        k->same_e2m1(scale, code, x, n, &how);
        for (size_t i = 0; i < held * how.block; i++) {
            unsigned q = nibble(code + i / how.block * (how.block / 2), how.block, how.halves, i % how.block);
            ok = ok && ldexpf(e2m1[q], scale[i / how.block] - 127) == x[i];
        }
    }
    CHECK_ROW(ok, "blocks of E2M1");
}

static bool
is_same_e4m3(const struct kernels *k, const float *x, size_t n, size_t *held)
{
    uint8_t scale[3][BLOCKS], code[2][MOST];
    *held = same_e4m3(scale[0], code[0], x, n);
    bool same = k->same_e4m3(scale[1], code[1], x, n) == *held && k->same_e4m3(scale[2], NULL, x, n) == *held
        && memcmp(scale[0], scale[1], *held) == 0 && memcmp(scale[0], scale[2], *held) == 0
        && memcmp(code[0], code[1], *held * SAME_MX) == 0;
    for (size_t i = 0; i < *held * SAME_MX; i++)
        same = same && ldexpf(float8_to_float(DTYPE_F8_E4M3, code[1][i]), scale[1][i / SAME_MX] - 127) == x[i];
    return same;
}

static void
test_e4m3(const struct kernels *k)
{
    bool ok = true;
    for (unsigned round = 0; round < 6000; round++) {
        size_t n = fence_random() % (BLOCKS + 1), held = 0;
        uint8_t wanted[MOST], t[BLOCKS], scale[BLOCKS], code[MOST];
        float *x = room(n * SAME_MX);
        const unsigned least = round % 3 == 0 ? 0 : round % 3 == 1 ? 8 : 0x50;
        for (size_t i = 0; i < n * SAME_MX; i++) {
            if (i % SAME_MX == 0)
                t[i / SAME_MX] = fence_random() % 5 == 0 ? 0 : (uint8_t)(fence_random() % (119 + 118) - 117 + 127);
            unsigned q = least + fence_random() % (0x7F - least);
            wanted[i] = (uint8_t)((t[i / SAME_MX] == 0 || fence_random() % 8 == 0 ? 0 : i % SAME_MX == 30 ? 0x77 + q % 8 : q)
                | (fence_random() & 0x80));
            if (t[i / SAME_MX] != 0 && i % SAME_MX == 7)
                wanted[i] = 0x7E;
            x[i] = ldexpf(float8_to_float(DTYPE_F8_E4M3, wanted[i]), t[i / SAME_MX] - 127);
        }
        ok = ok && is_same_e4m3(k, x, n, &held) && held == n;
        k->same_e4m3(scale, code, x, n);
        ok = ok && memcmp(scale, t, n) == 0 && memcmp(code, wanted, n * SAME_MX) == 0;
        if (n != 0) {
            spoil(&x[fence_random() % (n * SAME_MX)]);
            ok = ok && is_same_e4m3(k, x, n, &held);
        }
    }
    CHECK_ROW(ok, "blocks of E4M3");
}

static bool
is_same_nf4(const struct kernels *k, const float *x, size_t n, size_t block, enum dtype type, size_t *held)
{
    float absmax[3][BLOCKS];
    uint8_t code[2][MOST];
    *held = same_nf4(absmax[0], code[0], x, n, block, type);
    bool same = k->same_nf4(absmax[1], code[1], x, n, block, type) == *held && k->same_nf4(absmax[2], NULL, x, n, block, type) == *held
        && memcmp(absmax[0], absmax[1], *held * sizeof(float)) == 0 && memcmp(absmax[0], absmax[2], *held * sizeof(float)) == 0
        && memcmp(code[0], code[1], *held * block / 2) == 0;
    for (size_t i = 0; i < *held * block; i++)
        same = same && rounded(type, float_of_bits(bnb_nf4_map[code[1][i / 2] >> (i % 2 ? 0 : 4) & 15]) * absmax[1][i / block]) == x[i];
    return same;
}

static void
test_nf4(const struct kernels *k)
{
    bool ok = true;
    for (unsigned round = 0; round < 6000; round++) {
        const enum dtype type = round % 3 == 0 ? DTYPE_F32 : DTYPE_BF16;
        size_t n = fence_random() % (BLOCKS + 1), block = 32u << fence_random() % 3, held = 0;
        uint8_t wanted[MOST], code[MOST];
        float *x = room(n * block), a[BLOCKS], absmax[BLOCKS];
        for (size_t i = 0; i < n * block; i++) {
            if (i % block == 0)
                a[i / block] = fence_random() % 8 == 0 ? 0 : rounded(type, ldexpf(1 + (float)(fence_random() % (1 << 23)) * 0x1p-23f,
                    (int)(fence_random() % 198) - 99));
            wanted[i] = a[i / block] == 0 ? 7 : i % block == 9 ? (fence_random() & 1) * 15 : fence_random() & 15;
            x[i] = rounded(type, float_of_bits(bnb_nf4_map[wanted[i]]) * a[i / block]);
        }
        ok = ok && is_same_nf4(k, x, n, block, type, &held) && held == n && k->same_nf4(absmax, code, x, n, block, type) == n
            && memcmp(absmax, a, n * sizeof *a) == 0;
        for (size_t i = 0; i < n * block; i++)
            ok = ok && (code[i / 2] >> (i % 2 ? 0 : 4) & 15) == wanted[i];
        if (n != 0) {
            spoil(&x[fence_random() % (n * block)]);
            ok = ok && is_same_nf4(k, x, n, block, type, &held);
        }
    }
    CHECK_ROW(ok, "blocks of NF4");
}

int
main(void)
{
    fence_guard("test_same_blocks");
    values = fence_new(MOST * sizeof(float));
    for (int i = 0; i < SETS; i++) {
        const struct kernels *k = sets_pick(sets[i]);
        if (k == NULL)
            continue;
        fence_what[0] = sets[i];
        fence_what[1] = "blocks";
        test_known(k);
        test_e2m1(k);
        test_e4m3(k);
        test_nf4(k);
    }
    return check_done("test_same_blocks");
}
