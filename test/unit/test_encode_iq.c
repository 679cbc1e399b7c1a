/* test_encode_iq: the encoders of ggml's IQ types: known vectors for each set that this CPU runs; awkward floats; and every
 * set against the scalar one, byte for byte. The vectors are from an independent encoder that was compared with ggml's C. */
#include "check.h"
#include "fence.h"
#include "sets.h"
#include "sha256.h"

#include <math.h>
#include <string.h>

#include "dtype/bfloat16.h"
#include "kernel/encode_iq.h"

enum { ROWS = 8, COLS = 256, NELEMS = ROWS * COLS, CANARY = 0xA5 };

static uint32_t state;

static uint32_t
next(void)
{
    return state = state * 1664525u + 1013904223u;
}

/* First digits of the SHA-256 of 8 encoded rows of 256: without weights and with them; decoded; and of the rows with
 * elements 32 to 63 set to zero, without weights. NULL: none. */
static const struct iq_golden {
    enum dtype dtype;
    const char *alone, *weighted, *decoded, *gap;
    uint8_t first[4];
} golden[] = {
    { DTYPE_IQ2_XXS, NULL, "addf49c836798e6e46a361b7b548a93f", "1570af08aafba6afb2637c46f339078b", NULL,
        { 0x97, 0x1d, 0x70, 0x00 } },
    { DTYPE_IQ2_XS, NULL, "0bd78f15e7d487542678ed6d61099b4c", "f8de7cb17f9007254ecb12d8aa5c818d", NULL,
        { 0x18, 0x1e, 0x7d, 0x43 } },
    { DTYPE_IQ3_XXS, "2bf95dc31d811a3c8fc417bbde2522db", "7ff5043179409d03d969f26d07ab17af",
        "9377698d45730692e435fd52b8c7e027", "436f8234b88f601099f785da5b790035", { 0xcf, 0x19, 0x58, 0x2f } },
    { DTYPE_IQ1_S, NULL, "27ffa47a7c0ac4ebfa925be99662a90a", "1409b98e7274dd1d530c903633b30658", NULL,
        { 0x60, 0x2b, 0x28, 0x3d } },
    { DTYPE_IQ4_NL, "73e1d85099d36ba3a699aae49734068c", "5c8f62fadc950eb5f699be0c04772f1f",
        "5607ab0ba49264ee62a2e41ae960c008", NULL, { 0xe3, 0x1f, 0x80, 0x88 } },
    { DTYPE_IQ3_S, "48b50d7e52816a0ffd4e3c177a8eb9c0", "0a19ba8e01f49bfc662da37f5dfccb7e",
        "a0258bfd0a004b5401aa2f9c997b0166", "888a76b75f1ddb8a17efcd12f3135b16", { 0x35, 0x19, 0x57, 0x5f } },
    { DTYPE_IQ2_S, "8cace238b743e13112bab9101542465e", "71c4b2d2b105298e62d73eb32f3578fe",
        "e566896e176bb92bea25cf4af418121f", "f7416059a2a4bdef0c5ab27b35a6eacb", { 0x7a, 0x1e, 0xf9, 0x00 } },
    { DTYPE_IQ4_XS, "7635c99406ef77bd732f833b9872e465", "e21c93d3ab25f5dd8369b3163d278591",
        "8fae574ff5dce2bfbc8c32ae883d19e1", "73cbc0671df6ef49d2d6109b5aa3e74b", { 0xf6, 0x0b, 0x33, 0xc0 } },
    { DTYPE_IQ1_M, "b7d46210fc9f9a6127f41dbb30339263", "b5ef1d2e16b45a3d08122f6538f0bdd6",
        "d05e1963d7c53364b66ae4671f17e568", "679c4b3afb46cab678618e9d16660583", { 0x28, 0x05, 0x24, 0xd1 } },
};

enum { TYPES = sizeof golden / sizeof golden[0] };

static float x[NELEMS], importance[COLS];

static void
fill_golden(void)
{
    state = 12345;
    for (int i = 0; i < NELEMS; i++) {
        int32_t u = (int32_t)(next() >> 8) - (1 << 23);

        x[i] = ldexpf((float)u, -23 - (int)(next() >> 29));
    }
    state = 54321;
    for (int j = 0; j < COLS; j++)
        importance[j] = ldexpf((float)((next() >> 8) + 1), -24);
}

static bool
encodes_to(const struct kernels *k, enum dtype dtype, const float *weights, const char *hash, uint8_t *y)
{
    size_t nbytes = NELEMS / dtype_facts(dtype)->elems * dtype_facts(dtype)->bytes;

    memset(y, CANARY, nbytes);
    return k->encode[dtype](dtype, y, x, ROWS, COLS, weights) && sha256_starts(hash, y, nbytes);
}

static void
test_golden(const struct kernels *k)
{
    static uint8_t y[NELEMS];
    static float back[NELEMS];

    fill_golden();
    CHECK(sha256_starts("d9d194e276b0370d", x, sizeof x));
    CHECK(sha256_starts("2edb10ac68159e31", importance, sizeof importance));
    for (int i = 0; i < TYPES; i++) {
        const struct iq_golden *g = &golden[i];
        const char *name = dtype_name(g->dtype);

        CHECK_ROW(encode_needs_importance(g->dtype) == (g->alone == NULL), name);
        CHECK_ROW(encodes_to(k, g->dtype, importance, g->weighted, y), name);
        if (g->alone != NULL)
            CHECK_ROW(encodes_to(k, g->dtype, NULL, g->alone, y), name);
        CHECK_ROW(memcmp(y, g->first, sizeof g->first) == 0, name);
        kernels_block(k, g->dtype, DTYPE_F32, back, y, NELEMS / dtype_facts(g->dtype)->elems);
        CHECK_ROW(sha256_starts(g->decoded, back, sizeof back), name);
    }
    for (int r = 0; r < ROWS; r++)
        memset(x + COLS * r + 32, 0, 32 * sizeof *x);
    for (int i = 0; i < TYPES; i++)
        if (golden[i].gap != NULL)
            CHECK_ROW(encodes_to(k, golden[i].dtype, NULL, golden[i].gap, y), dtype_name(golden[i].dtype));
}

/* Most columns have weight 0, so splits of IQ1_M tie, and the order of the sums decides. */
static void
test_sparse(const struct kernels *k)
{
    static uint8_t y[NELEMS];
    float every32[COLS], even[COLS];

    fill_golden();
    for (int j = 0; j < COLS; j++) {
        every32[j] = j % 32 == 5 ? importance[j] : 0;
        even[j] = j % 2 == 0 ? importance[j] : 0;
    }
    CHECK_ROW(encodes_to(k, DTYPE_IQ1_M, every32, "1f7d392ab25c8bfcbf68d53fd884e624", y), k->name);
    CHECK_ROW(encodes_to(k, DTYPE_IQ1_M, even, "b5fac6505a913b098dac5a42f204337a", y), k->name);
}

/* Only columns with value 0 have a weight: the runs fit a scale of 0 but keep their indices. */
static void
test_scale_zero(const struct kernels *k)
{
    static const uint8_t first[] = { 0xff, 0xff, 0, 0, 0xff, 0xff };
    static uint8_t y[56];
    float weights[COLS] = { 0 };

    fill_golden();
    for (int g = 0; g < 16; g++) {
        x[16 * g + 5] = 0;
        weights[16 * g + 5] = g % 2 == 0;
    }
    CHECK_ROW(k->encode[DTYPE_IQ1_M](DTYPE_IQ1_M, y, x, 1, COLS, weights), k->name);
    CHECK_ROW(memcmp(y, first, sizeof first) == 0 && y[32] == 0x77 && y[33] == 0 && y[48] == 0 && y[49] == 0, k->name);
}

/* --- awkward floats with known results ------------------------------------------------------------------------ */

static bool
all_are(const uint8_t *y, size_t n, uint8_t byte)
{
    for (size_t i = 0; i < n; i++)
        if (y[i] != byte)
            return false;
    return true;
}

static void
test_zeros(const struct kernels *k)
{
    static uint8_t y[512];

    for (int i = 0; i < TYPES; i++)
        for (int minus = 0; minus < 2; minus++) {
            enum dtype dtype = golden[i].dtype;
            const char *name = dtype_name(dtype);

            for (int j = 0; j < COLS; j++)
                x[j] = minus ? -0.0f : 0.0f;
            memset(y, CANARY, sizeof y);
            CHECK_ROW(k->encode[dtype](dtype, y, x, 1, COLS, importance), name);
            if (dtype == DTYPE_IQ4_NL)
                for (int b = 0; b < 8; b++)
                    CHECK_ROW(all_are(y + 18 * b, 2, 0) && all_are(y + 18 * b + 2, 16, 0x88), name);
            else if (dtype == DTYPE_IQ4_XS)
                CHECK_ROW(y[0] == 0 && y[1] == 0x80 && all_are(y + 2, 2, 0xAA) && all_are(y + 4, 4, 0)
                    && all_are(y + 8, 128, 0x88), name);
            else
                CHECK_ROW(all_are(y, dtype_facts(dtype)->bytes, 0), name);
        }
}

static void
test_refused(const struct kernels *k)
{
    static const enum dtype types[] = { DTYPE_IQ2_S, DTYPE_IQ2_XS, DTYPE_IQ3_S };
    static uint8_t y[512];

    fill_golden();
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++)
        for (int minus = 0; minus < 2; minus++) {
            const float *weights = encode_needs_importance(types[t]) ? importance : NULL;

            x[100] = minus ? -INFINITY : INFINITY;
            CHECK_ROW(!k->encode[types[t]](types[t], y, x, 1, COLS, weights), dtype_name(types[t]));
        }
    fill_golden();
    for (int j = 0; j < COLS; j++)
        x[j] *= 0x1p120f;
    CHECK(!k->encode[DTYPE_IQ3_S](DTYPE_IQ3_S, y, x, 1, COLS, NULL));
}

/* Sixteen columns with weight 0 become a run of zeros in IQ1_M. */
static void
test_no_weight(const struct kernels *k)
{
    static uint8_t y[56], zeros[56];
    float weights[COLS];

    fill_golden();
    memcpy(weights, importance, sizeof weights);
    memset(weights + 32, 0, 16 * sizeof *weights);
    CHECK(k->encode[DTYPE_IQ1_M](DTYPE_IQ1_M, y, x, 1, COLS, weights));
    memset(x + 32, 0, 16 * sizeof *x);
    CHECK(k->encode[DTYPE_IQ1_M](DTYPE_IQ1_M, zeros, x, 1, COLS, weights) && y[4] == 0 && y[5] == 0 && zeros[4] == 0);
}

/* --- rows and buffers ----------------------------------------------------------------------------------------- */

/* Any division into calls yields the same bytes, with no write or read beyond them. */
static void
test_pieces(const struct kernels *k)
{
    static uint8_t whole[NELEMS];
    struct fence in = fence_new(sizeof x), out = fence_new(NELEMS), weights = fence_new(sizeof importance);

    fence_what[0] = k->name;
    fill_golden();
    memcpy(weights.end - sizeof importance, importance, sizeof importance);
    for (int i = 0; i < TYPES; i++) {
        enum dtype dtype = golden[i].dtype;
        size_t elems = dtype_facts(dtype)->elems, bytes = dtype_facts(dtype)->bytes, row = COLS / elems * bytes;
        kernel_encode *encode = k->encode[dtype];
        bool ok = true;

        fence_what[1] = dtype_name(dtype);
        ok &= encode(dtype, whole, x, ROWS, COLS, importance);
        for (size_t r = 0; r < ROWS; r++) {
            float *from = (float *)(void *)(in.end - COLS * sizeof *x);
            uint8_t *to = out.end - row;

            memcpy(from, x + COLS * r, COLS * sizeof *x);
            memset(to - 64, CANARY, row + 64);
            ok &= encode(dtype, to, from, 1, COLS, (const float *)(const void *)(weights.end - sizeof importance));
            ok &= memcmp(to, whole + row * r, row) == 0 && all_are(to - 64, 64, CANARY);
        }
        CHECK_ROW(ok, fence_what[1]);
        if (golden[i].alone == NULL)
            continue;
        ok &= encode(dtype, whole, x, ROWS, COLS, NULL);
        for (size_t n = 0, b = 0; b + n <= NELEMS / elems; b += n, n++) {
            float *from = (float *)(void *)(in.end - n * elems * sizeof *x);
            uint8_t *to = out.end - n * bytes;

            memcpy(from, x + b * elems, n * elems * sizeof *x);
            memset(to - 64, CANARY, n * bytes + 64);
            ok &= n % 2 ? encode(dtype, to, from, 1, n * elems, NULL) : encode(dtype, to, from, n, elems, NULL);
            ok &= memcmp(to, whole + b * bytes, n * bytes) == 0 && all_are(to - 64, 64, CANARY);
        }
        CHECK_ROW(ok, fence_what[1]);
    }
}

/* --- every set against the scalar one ------------------------------------------------------------------------- */

/* Returns a number with approximately normal distribution and standard deviation 1. */
static float
gauss(void)
{
    float sum = -6;

    for (int i = 0; i < 12; i++)
        sum += (float)(fence_random() >> 8) * 0x1p-24f;
    return sum;
}

enum iq_kind { NORMAL, TIES, BFLOAT, HEAVY, TERNARY, CONSTANT, ALTERNATING, POSITIVE, OUTLIER, SPARSE, SCALED, TINY,
    HUGE_ONES, GAPS, SCALED_RUNS, RANDOM_BITS, SPECIAL, KINDS };

static void
fill(enum iq_kind kind, int round)
{
    static const float special[] = { NAN, -NAN, INFINITY, -INFINITY, 3e38f, -3e38f, 1e-45f, 0, -0.0f, 1e15f, 1e18f };
    float scale = ldexpf(1, (int)(fence_random() % 180) - 130), constant = gauss();

    for (int i = 0; i < NELEMS; i++) {
        float v = gauss();

        switch (kind) {
        case NORMAL: v *= 0.05f; break;
        case TIES: v = (float)((int)(fence_random() % 33) - 16) * 0.5f; break;
        case BFLOAT: v = bfloat16_to_float(bfloat16_of_float(v * 0.05f)); break;
        case HEAVY: v = v * v * v * v * v; break;
        case TERNARY: v = (float)((int)(fence_random() % 3) - 1) * 0.03f; break;
        case CONSTANT: v = constant; break;
        case ALTERNATING: v = i % 2 ? constant : -constant; break;
        case POSITIVE: v = fabsf(v); break;
        case OUTLIER: v = i % 67 == round % 67 ? ldexpf(v, i % 60 - 40) : 0; break;
        case SPARSE: v = fence_random() % 8 ? 0 : v; break;
        case SCALED: v *= scale; break;
        case TINY: v *= 0x1p-126f; break;
        case HUGE_ONES: v *= ldexpf(1, 40 + round % 60); break;
        case GAPS: v = i / 16 % 3 == round % 3 ? 0 : v; break;
        case SCALED_RUNS: v = ldexpf(v, i / 16 % 32 - 24); break;
        case RANDOM_BITS: v = float_of_bits(fence_random()); v = isnan(v) ? NAN : v; break;
        default: v = fence_random() % 50 ? v : special[fence_random() % (sizeof special / sizeof *special)]; break;
        }
        x[i] = v;
    }
    for (int j = 0; j < COLS; j++) {
        importance[j] = (float)(fence_random() >> 8) * 0x1p-20f;
        if (round % 4 == 1 && j / 8 % 5 == 0)
            importance[j] = 0;
        if (round % 4 == 2)
            importance[j] = 1;
        if (round % 8 == 3 && fence_random() % 2)
            importance[j] = 0;
        if (round % 8 == 5 && j % 32 != 5)
            importance[j] = 0;
    }
}

static void
test_agrees(const struct kernels *scalar, const struct kernels *k)
{
    static uint8_t expected[NELEMS], got[NELEMS];
    unsigned own = 0, refused = 0;

    fence_what[0] = k->name;
    for (int i = 0; i < TYPES; i++) {
        enum dtype dtype = golden[i].dtype;

        fence_what[1] = dtype_name(dtype);
        own += k->encode[dtype] != scalar->encode[dtype];
        if (k->encode[dtype] == scalar->encode[dtype])
            continue;
        for (int kind = 0; kind < KINDS; kind++) {
            bool ok = true;

            for (int round = 0; round < 8; round++) {
                const float *weights = round % 2 || encode_needs_importance(dtype) ? importance : NULL;

                fill(kind, round);
                memset(expected, CANARY, sizeof expected);
                memset(got, CANARY, sizeof got);
                for (int r = 0; r < ROWS; r++) {                /* by rows, because some are refused */
                    uint8_t *a = expected + COLS * r, *b = got + COLS * r;
                    bool made = scalar->encode[dtype](dtype, a, x + COLS * r, 1, COLS, weights);

                    ok &= k->encode[dtype](dtype, b, x + COLS * r, 1, COLS, weights) == made;
                    ok &= !made || memcmp(a, b, COLS) == 0;
                    refused += !made;
                }
            }
            CHECK_ROW(ok, fence_what[1]);
        }
    }
    printf("test_encode_iq: %s replaces %u of %d encoders; %u rows refused\n", k->name, own, (int)TYPES, refused);
}

int
main(void)
{
    const struct kernels *scalar = sets_pick("scalar");
    struct err err;

    fence_guard("test_encode_iq");
    err_init(&err);
    for (int i = 0; i < TYPES; i++)
        CHECK(encode_grids_build(golden[i].dtype, &err) && encode_grids_build(golden[i].dtype, &err));
    CHECK(encode_grids_build(DTYPE_Q8_0, &err) && !encode_needs_importance(DTYPE_Q8_0));
    for (int i = 0; i < SETS; i++) {
        const struct kernels *k = sets_pick(sets[i]);

        if (k == NULL)
            continue;
        test_golden(k);
        test_sparse(k);
        test_scale_zero(k);
        test_zeros(k);
        test_refused(k);
        test_no_weight(k);
        test_pieces(k);
        if (k != scalar)
            test_agrees(scalar, k);
    }
    return check_done("test_encode_iq");
}
