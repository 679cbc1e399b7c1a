/* test_convrot: rotated rows, and integers to rotate, for every set of kernels: known vectors, the scalar set against the
 * sum in the header, the others bit for bit against the scalar set. All buffers end at an inaccessible page. */
#include "check.h"

#include <math.h>

#include "dtype/bfloat16.h"
#include "dtype/half.h"
#include "fence.h"
#include "kernel/convrot.h"
#include "kernel/kernels.h"
#include "sets.h"

enum { CANARY = 0xA5, GUARD = 64, CODES = 4 * CONVROT_MOST };

static struct fence codes, output, scalar_output;
static struct convrot_room room;

struct convrot_trial {
    size_t first, n, group;
    float scale;
    enum dtype to;
};

static size_t
round_up(size_t n, size_t step)
{
    return (n + step - 1) / step * step;
}

static void
run(const struct kernels *k, struct fence to, const struct convrot_trial *t)
{
    uint8_t *y = to.end - t->n * dtype_facts(t->to)->bytes;
    const uint8_t *x = codes.end - round_up(t->first % t->group + t->n, t->group);

    memset(y - GUARD, CANARY, GUARD);
    if (t->to == DTYPE_F32)
        k->convrot_f32((float *)(void *)y, x, t->first, t->n, t->group, t->scale, &room);
    else
        k->convrot_bf16((uint16_t *)(void *)y, x, t->first, t->n, t->group, t->scale, &room);
}

/* Returns an element of H_g, computed from its digits. */
static int
sign(size_t i, size_t j, size_t group)
{
    static const int h4[4][4] = { { 1, 1, 1, -1 }, { 1, 1, -1, 1 }, { 1, -1, 1, 1 }, { -1, 1, 1, 1 } };
    int s = 1;

    for (; group > 1; group /= 4, i /= 4, j /= 4)
        s *= h4[i % 4][j % 4];
    return s;
}

static bool
same_bits(float got, float expected)
{
    return bits_of_float(got) == (isnan(expected) ? 0x7FC00000 : bits_of_float(expected));
}

/* Some elements against the formula. */
static bool
holds(const struct kernels *k, const struct convrot_trial *t)
{
    size_t from = t->first % t->group, step = t->n > 600 ? t->n / 97 : 1;
    const uint8_t *x = codes.end - round_up(from + t->n, t->group);
    bool ok = true;

    run(k, output, t);
    for (size_t i = 0; i < t->n; i += step) {
        int32_t sum = 0;
        size_t base = (from + i) / t->group * t->group;

        for (size_t j = 0; j < t->group; j++)
            sum += sign(j, from + i - base, t->group) * (int8_t)x[base + j];
        float v = (float)sum * t->scale;
        if (sum == 0 && !isnan(v))
            v = 0;
        v = v / sqrtf((float)t->group);
        const uint8_t *y = output.end - (t->n - i) * dtype_facts(t->to)->bytes;
        ok = ok && (t->to == DTYPE_F32 ? same_bits(*(const float *)(const void *)y, v)
            : *(const uint16_t *)(const void *)y == bfloat16_of_float(v));
    }
    return ok;
}

static bool
agree(const struct kernels *scalar, const struct kernels *k, const struct convrot_trial *t)
{
    size_t reach = t->n * dtype_facts(t->to)->bytes + GUARD;

    run(scalar, scalar_output, t);
    run(k, output, t);
    return memcmp(scalar_output.end - reach, output.end - reach, reach) == 0;
}

static void
test_groups(const struct kernels *scalar, const struct kernels *k)
{
    static const float scales[] = { 0.0078125f, 0.0137f, -0.002f, 0, -0.0f, 1e-44f, 3e38f, INFINITY, NAN, 0x1p-100f,
        0x1p100f };

    for (size_t group = 4; group <= CONVROT_MOST; group *= 4) {
        size_t trials = group > 1024 ? 6 : (size_t)check_rounds(60, 300), most = CODES - group;
        bool ok = true;

        for (size_t j = 0; j < trials; j++) {
            struct convrot_trial t = { .first = fence_random() % (3 * group), .group = group,
                .to = j % 2 ? DTYPE_F32 : DTYPE_BF16, .scale = scales[fence_random() % (sizeof scales / sizeof *scales)] };

            fence_fill(codes.start, (size_t)(codes.end - codes.start));
            if (j % 5 == 0)             /* the largest sums, and many that are 0 */
                memset(codes.start, j % 10 ? 0x80 : 0x00, (size_t)(codes.end - codes.start));
            t.n = j < 2 ? most - t.first % group : fence_random() % (j % 3 ? 300 : most - group);
            ok = ok && (k == scalar ? holds(k, &t) : agree(scalar, k, &t));
        }
        CHECK_ROW(ok, k->name);
    }
}

/* INT8 of 64 values in one group of 64, as quantized by comfy-kitchen. */
static void
test_known(const struct kernels *k)
{
    static const uint8_t x[64] = {
        0x0a, 0xeb, 0x27, 0xd9, 0x15, 0x9b, 0x32, 0xe5, 0xf3, 0xd4, 0xb4, 0x79, 0x2c, 0x0d, 0xed, 0xfc,
        0xdc, 0xbd, 0x54, 0x07, 0xe8, 0x24, 0xa9, 0x13, 0xc5, 0x5d, 0xe2, 0xf0, 0xff, 0xdf, 0x1b, 0x29,
        0x38, 0x18, 0xf9, 0x07, 0x8c, 0x7f, 0x04, 0x13, 0x21, 0x01, 0x3d, 0xf0, 0xff, 0xdf, 0x1b, 0xce,
        0xdc, 0x18, 0xf9, 0x07, 0x43, 0x24, 0x60, 0xb7, 0x21, 0xa6, 0xe2, 0x95, 0xff, 0x3b, 0xc0, 0x29,
    };
    static const float sums[8] = { -467, 377, -243, 607, -13, -625, 219, -399 };
    static const uint16_t decoded[8] = { 0xbf24, 0x3f04, 0xbeaa, 0x3f55, 0xbc92, 0xbf5b, 0x3e99, 0xbf0c };
    static const char row[] = "++-+++-+++-+--+-";
    uint8_t one[16] = { [1] = 1 };
    uint16_t y[8];
    float f[16];

    k->convrot_bf16(y, x, 0, 8, 64, float_of_bits(0x3c3366ce), &room);
    CHECK(memcmp(y, decoded, sizeof y) == 0);
    k->convrot_f32(f, x, 64, 8, 64, 8, &room);
    CHECK(memcmp(f, sums, sizeof sums) == 0);
    k->convrot_f32(f, one, 0, 16, 16, 4, &room);
    for (unsigned i = 0; i < 16; i++)
        CHECK(f[i] == (row[i] == '+' ? 1 : -1));
}

/* Values of asym_w4a8_int8, from codes and scales, before they are rotated back. */
static void
test_round(const struct kernels *k)
{
    static const float special[] = { 0.5f, 1.5f, -0.5f, -2.5f, 126.5f, 127.4f, 127.5f, -127.5f, 1e30f, -INFINITY, NAN,
        -0.0f };
    static const int8_t rounded[] = { 0, 2, 0, -2, 126, 127, 127, -127, 127, -127, 0, 0 };
    enum { SPECIAL = sizeof rounded, MOST = 300 };
    bool ok = true;

    for (size_t n = 0; n <= MOST; n++) {
        float *x = (float *)(void *)codes.end - n;
        int8_t *y = (int8_t *)output.end - n, expected[MOST];

        for (size_t i = 0; i < n; i++) {
            size_t which = fence_random() % (2 * SPECIAL);
            int v = (int)(fence_random() % 255) - 127;

            x[i] = which < SPECIAL ? special[which] : (float)v + 0.25f * (float)(fence_random() % 3) - 0.25f;
            expected[i] = which < SPECIAL ? rounded[which] : (int8_t)v;
        }
        *(output.end - n - 1) = CANARY;
        k->round_int8(y, x, n);
        ok = ok && memcmp(y, expected, n) == 0 && *(output.end - n - 1) == CANARY;
    }
    CHECK_ROW(ok, k->name);
}

int
main(void)
{
    const struct kernels *scalar = NULL;

    fence_guard("test_convrot");
    codes = fence_new(CODES);
    output = fence_new(CODES * sizeof(float) + GUARD);
    scalar_output = fence_new(CODES * sizeof(float) + GUARD);
    for (int i = 0; i < SETS; i++) {
        const struct kernels *k = sets_pick(sets[i]);

        if (k == NULL)
            continue;
        if (i == 0)
            scalar = k;
        fence_what[0] = sets[i];
        fence_what[1] = "convrot";
        test_known(k);
        test_groups(scalar, k);
        fence_what[1] = "round_int8";
        test_round(k);
    }
    return check_done("test_convrot");
}
