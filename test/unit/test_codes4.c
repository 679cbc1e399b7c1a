/* test_codes4: rows of 4-bit codes, for every set of kernels, against the formula and bit for bit against the scalar set.
 * All buffers end at an inaccessible page. */
#include "check.h"

#include <math.h>

#include "base/bytes.h"
#include "dtype/bfloat16.h"
#include "fence.h"
#include "kernel/kernels.h"
#include "sets.h"

enum { CANARY = 0xA5, GUARD = 16, MOST = 6000 };

static struct fence codes, map_input, zero_input, scale_input, output, scalar_output;

static const float numbers[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
static const float fp4[16] = { 0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6 };

/* Two groups of eight: in GPTQ's packing, code - 8 times 2^-3, the low nibble first; and in bitsandbytes' order. */
static void
test_known(const struct kernels *k)
{
    static const uint8_t x[8] = { 0x10, 0x32, 0x54, 0x76, 0x98, 0xBA, 0xDC, 0xFE };
    static const float zeros[2] = { 8, 0 }, scales[2] = { 0.125f, -3.0f };
    static const float low[16] = { -1, -0.875f, -0.75f, -0.625f, -0.5f, -0.375f, -0.25f, -0.125f,
        -24, -27, -30, -33, -36, -39, -42, -45 };
    static const float high[16] = { 0.125f, 0, 0.375f, 0.25f, 0.625f, 0.5f, 0.875f, 0.75f,
        -27, -24, -33, -30, -39, -36, -45, -42 };
    float y[16];
    uint16_t y16[16];

    k->codes4_f32(y, x, 0, 16, &(struct codes4){ numbers, zeros, scales, 8, true });
    CHECK(memcmp(y, low, sizeof y) == 0);
    k->codes4_f32(y, x, 0, 16, &(struct codes4){ numbers, NULL, scales, 8, false });
    CHECK(memcmp(y, high, sizeof y) == 0);
    k->codes4_bf16(y16, x, 0, 16, &(struct codes4){ numbers, zeros, scales, 8, true });
    for (int i = 0; i < 16; i++)
        CHECK(bfloat16_to_float(y16[i]) == low[i]);
    /* 1/3 as F32, times 15 - 2.5: rounded to F32 (0x40855556), then to BF16 */
    k->codes4_bf16(y16, x + 7, 1, 1, &(struct codes4){ numbers, &(float){ 2.5f }, &(float){ 1.0f / 3 }, 3, true });
    CHECK(y16[0] == 0x4085);
}

/* One row, in both formats. Codes, zeros and scales are at the end of their memory. */
struct codes4_trial {
    size_t first, n, group;
    bool low_first, has_zeros;
};

static struct codes4
input_of(const struct codes4_trial *t)
{
    size_t ngroups = t->n == 0 ? 0 : (t->first + t->n - 1) / t->group - t->first / t->group + 1;

    return (struct codes4){
        .map = (const float *)(void *)map_input.end - 16,
        .zeros = t->has_zeros ? (const float *)(void *)zero_input.end - ngroups : NULL,
        .scales = (const float *)(void *)scale_input.end - ngroups,
        .group = t->group,
        .low_first = t->low_first,
    };
}

static const uint8_t *
codes_of(const struct codes4_trial *t)
{
    return codes.end - (t->first % 2 + t->n + 1) / 2;
}

static void
run(const struct kernels *k, struct fence to, const struct codes4_trial *t, enum dtype dtype)
{
    const struct codes4 c = input_of(t);
    size_t size = dtype_facts(dtype)->bytes;
    uint8_t *y = to.end - t->n * size;

    memset(y - GUARD, CANARY, t->n * size + GUARD);
    if (dtype == DTYPE_F32)
        k->codes4_f32((float *)(void *)y, codes_of(t), t->first, t->n, &c);
    else
        k->codes4_bf16((uint16_t *)(void *)y, codes_of(t), t->first, t->n, &c);
}

/* The scalar set against the header's formula. */
static bool
holds(const struct kernels *k, const struct codes4_trial *t)
{
    const struct codes4 c = input_of(t);
    const float *y = (const float *)(void *)output.end - t->n;
    const uint16_t *y16 = (const uint16_t *)(void *)scalar_output.end - t->n;
    bool same = true;

    run(k, output, t, DTYPE_F32);
    run(k, scalar_output, t, DTYPE_BF16);
    for (size_t i = 0; i < t->n; i++) {
        size_t at = t->first % 2 + i, g = (t->first + i) / t->group - t->first / t->group;
        uint8_t byte = codes_of(t)[at / 2];
        float v = c.map[(at % 2 == 1) == t->low_first ? byte >> 4 : byte & 15];

        if (c.zeros)
            v -= c.zeros[g];
        v *= c.scales[g];
        same = same && bits_of_float(y[i]) == (isnan(v) ? 0x7FC00000 : bits_of_float(v))
            && y16[i] == bfloat16_of_float(v);
    }
    return same;
}

static bool
agree(const struct kernels *scalar, const struct kernels *k, const struct codes4_trial *t)
{
    bool same = true;

    for (int i = 0; i < 2; i++) {
        enum dtype dtype = i ? DTYPE_F32 : DTYPE_BF16;
        size_t reach = t->n * dtype_facts(dtype)->bytes + GUARD;

        run(scalar, scalar_output, t, dtype);
        run(k, output, t, dtype);
        same = same && memcmp(scalar_output.end - reach, output.end - reach, reach) == 0;
    }
    return same;
}

/* Infinite, NaN, zero, subnormal, ties; random bits; or values typical of a weight. */
static float
random_factor(void)
{
    static const uint32_t edges[] = { 0x00000000, 0x80000000, 0x00000001, 0x807FFFFF, 0x00800000, 0x3F800000,
        0x3F808000, 0x3F818000, 0x3F7FFFFF, 0x7F7FFFFF, 0x7F7F8000, 0x7F800000, 0xFF800000, 0x7F800001, 0xFFC00000,
        0xFFFFFFFF };
    uint32_t kind = fence_random() % 8;

    return float_of_bits(kind == 0 ? edges[fence_random() % (sizeof edges / sizeof *edges)] : kind == 1 ? fence_random()
        : 0x3B000000 + fence_random() % 0x02000000);
}

static void
fill_inputs(void)
{
    float *map = (float *)(void *)map_input.end - 16;
    float *zeros = (float *)(void *)zero_input.end - MOST, *scales = (float *)(void *)scale_input.end - MOST;
    uint32_t kind = fence_random() % 4;         /* the map of GPTQ, and its zeros; FP4's; a sign in bit 3; random values */
    bool finite = fence_random() % 4 != 0;      /* scales that cannot yield NaN */
    bool usual = fence_random() % 3 == 0;       /* scales whose products are normal numbers, or just below */

    fence_fill(codes.end - MOST, MOST);
    for (size_t i = 0; i < 16; i++)
        map[i] = kind == 0 ? numbers[i] : kind == 1 ? fp4[i] : random_factor();
    for (size_t i = 0; kind == 2 && i < 8; i++)
        map[i + 8] = fence_random() % 8 ? -map[i] : map[i];
    if (kind == 1 && fence_random() % 2)
        map[8] = 0;
    for (size_t i = 0; i < MOST; i++) {
        zeros[i] = kind == 0 ? (float)(fence_random() % 17) : random_factor();
        scales[i] = random_factor();
        if (finite && !isfinite(scales[i]))
            scales[i] = float_of_bits(bits_of_float(scales[i]) & 0xFF7FFFFF);
        if (usual)
            scales[i] = ldexpf(scales[i] < 0 ? -1.3f : 1.7f, (int)(fence_random() % 253) - 126);
    }
}

static struct codes4_trial
random_trial(size_t group)
{
    return (struct codes4_trial){
        .first = fence_random() % (3 * group), .n = fence_random() % (fence_random() % 4 ? 300 : MOST), .group = group,
        .low_first = fence_random() % 2, .has_zeros = fence_random() % 4 != 0,
    };
}

static const size_t group_sizes[] = { 1, 2, 3, 7, 8, 16, 31, 32, 33, 48, 63, 64, 65, 96, 100, 128, 129, 256, 1000, 4096,
    100000 };

enum { GROUP_SIZES = sizeof group_sizes / sizeof *group_sizes };

static void
test_formula(const struct kernels *k)
{
    bool ok = true;

    for (size_t i = 0; i < GROUP_SIZES; i++)
        for (int j = 0; j < 100; j++) {
            struct codes4_trial t = random_trial(group_sizes[i]);

            fill_inputs();
            ok = ok && holds(k, &t);
        }
    CHECK_ROW(ok, k->name);
}

static void
test_set(const struct kernels *scalar, const struct kernels *k)
{
    for (size_t i = 0; i < GROUP_SIZES; i++) {
        size_t group = group_sizes[i];
        bool ok = true;

        for (int j = 0; j < 300; j++) {
            struct codes4_trial t = random_trial(group);

            if (j % 10 == 0)
                fill_inputs();
            ok = ok && agree(scalar, k, &t);
        }
        CHECK_ROW(ok, "random runs");
        for (size_t n = 0; n < 140; n++)                /* every length, with an even and an odd start */
            for (unsigned flags = 0; flags < 8; flags++) {
                struct codes4_trial t = { .first = flags & 1, .n = n, .group = group, .low_first = flags & 2,
                    .has_zeros = flags & 4 };

                ok = ok && agree(scalar, k, &t);
            }
        CHECK_ROW(ok, "short runs");
    }
}

/* --- lanes */

enum { LINE_MOST = 1100 };

/* Columns of a wider matrix whose last line ends with the memory; rows of the output are GUARD elements apart. */
static struct codes4_lanes
lanes_of(size_t first, size_t rows, size_t cols)
{
    size_t lines = (first + rows + 1) / 2, stride = cols + fence_random() % 40;

    return (struct codes4_lanes){ .map = (const float *)(void *)map_input.end - 16,
        .scales = (const float *)(void *)scale_input.end - cols, .x_stride = stride, .first = first, .rows = rows,
        .cols = cols, .x = codes.end - (lines == 0 ? 0 : (lines - 1) * stride + cols) };
}

static bool
same_lanes(const struct kernels *k, const struct codes4_lanes *l, enum dtype dtype)
{
    size_t size = dtype_facts(dtype)->bytes, stride = l->cols + GUARD, n = l->rows * stride;
    uint8_t *y = output.end - n * size;
    bool same = true;

    memset(y, CANARY, n * size);
    if (dtype == DTYPE_F32)
        k->codes4_lanes_f32((float *)(void *)y, stride, l);
    else
        k->codes4_lanes_bf16((uint16_t *)(void *)y, stride, l);
    for (size_t r = 0; r < l->rows; r++) {
        for (size_t c = 0; c < l->cols; c++) {
            uint8_t byte = l->x[(l->first + r) / 2 * l->x_stride + c];
            float v = l->map[(l->first + r) % 2 ? byte >> 4 : byte & 15] * l->scales[c];
            size_t at = (r * stride + c) * size;

            same = same && (dtype == DTYPE_F32 ? load_le32(y + at) == (isnan(v) ? 0x7FC00000 : bits_of_float(v))
                : load_le16(y + at) == bfloat16_of_float(v));
        }
        for (size_t i = 0; i < GUARD * size; i++)
            same = same && y[(r * stride + l->cols) * size + i] == CANARY;
    }
    return same;
}

static void
test_lanes(const struct kernels *k)
{
    bool ok = true;

    for (int i = 0; i < 4000; i++) {
        size_t rows = fence_random() % 5, cols = fence_random() % (i % 8 ? 140 : LINE_MOST);

        if (i % 4 == 0)
            fill_inputs();
        const struct codes4_lanes l = lanes_of(fence_random() % 2, rows, cols);

        ok = ok && same_lanes(k, &l, i % 3 ? DTYPE_BF16 : DTYPE_F32);
    }
    CHECK_ROW(ok, k->name);
}

int
main(void)
{
    const struct kernels *scalar = NULL;

    fence_guard("test_codes4");
    codes = fence_new(MOST);
    map_input = fence_new(16 * sizeof(float));
    zero_input = fence_new(MOST * sizeof(float));
    scale_input = fence_new(MOST * sizeof(float));
    output = fence_new(5 * (LINE_MOST + GUARD) * sizeof(float) + GUARD);
    scalar_output = fence_new(MOST * sizeof(float) + GUARD);
    for (int i = 0; i < SETS; i++) {
        const struct kernels *k = sets_pick(sets[i]);

        if (k == NULL)
            continue;
        fence_what[0] = sets[i];
        fence_what[1] = "codes4";
        test_known(k);
        fence_what[1] = "codes4 lanes";
        test_lanes(k);
        fence_what[1] = "codes4";
        if (i == 0) {
            scalar = k;
            test_formula(k);
        } else {
            test_set(scalar, k);
        }
    }
    return check_done("test_codes4");
}
