/* test_encode: rows of floats to the blocks of ggml, for every set of kernels: known vectors, from an independent encoder
 * that was compared with ggml's C; awkward blocks; and the sets bit for bit against the scalar one. All buffers end at an
 * inaccessible page. */
#include "check.h"

#include <float.h>
#include <math.h>

#include "dtype/ggml_block.h"
#include "fence.h"
#include "kernel/encode_fp4.h"
#include "kernel/kernels.h"
#include "sets.h"
#include "sha256.h"

enum { ROWS = 8, COLS = 256, NELEMS = ROWS * COLS, CANARY = 0xA5, GUARD = 64 };

static struct fence input, weights, output, scalar_output;

static const enum dtype types[] = { DTYPE_Q4_0, DTYPE_Q4_1, DTYPE_Q5_0, DTYPE_Q5_1, DTYPE_Q8_0, DTYPE_Q1_0, DTYPE_Q2_0,
    DTYPE_Q2_K, DTYPE_Q3_K, DTYPE_Q4_K, DTYPE_Q5_K, DTYPE_Q6_K, DTYPE_TQ1_0, DTYPE_TQ2_0, DTYPE_MXFP4, DTYPE_NVFP4 };

enum { TYPES = sizeof types / sizeof *types };

/* Encodes rows x cols floats into blocks that end at the fence of `to`. Returns the blocks. */
static const uint8_t *
encode(const struct kernels *k, enum dtype dtype, struct fence to, const float *x, size_t rows, size_t cols,
    const float *importance)
{
    const struct dtype_facts *facts = dtype_facts(dtype);
    size_t nbytes = rows * cols / facts->elems * facts->bytes;
    uint8_t *y = to.end - nbytes;

    memset(y - GUARD, CANARY, nbytes + GUARD);
    CHECK_ROW(k->encode[dtype](dtype, y, x, rows, cols, importance), facts->name);
    for (int i = 1; i <= GUARD; i++)
        if (y[-i] != CANARY)
            CHECK_ROW(false, facts->name);
    return y;
}

/* --- known vectors */

static uint32_t state;

static uint32_t
next(void)
{
    return state = state * 1664525u + 1013904223u;
}

/* Fills x with values of several magnitudes, and weights up to 1. */
static void
golden_input(float x[NELEMS], float importance[COLS])
{
    state = 12345;
    for (int i = 0; i < NELEMS; i++) {
        int mantissa = (int)(next() >> 8) - (1 << 23);

        x[i] = ldexpf((float)mantissa, -23 - (int)(next() >> 29));
    }
    CHECK(sha256_starts("d9d194e276b0370d900558b7f8ff52a42701291bff960196f7e5ac056b800a4a", x, NELEMS * sizeof *x));
    state = 54321;
    for (int i = 0; i < COLS; i++)
        importance[i] = (float)((next() >> 8) + 1) * 0x1p-24f;
    CHECK(sha256_starts("2edb10ac68159e31a79ba471daa8358da47625dbac4bf6b9d73996b6be42f4fe", importance,
        COLS * sizeof *importance));
}

static void
test_golden(const struct kernels *k, const float *x, float *sparse, const float *importance)
{
    /* first digits of SHA-256; NULL: equal to the one before, or unknown */
    static const struct { enum dtype dtype; const char *plain, *weighted, *sparse; } rows[] = {
        { DTYPE_Q4_0, "c6d97bfc30abc4573a55491be59c7b8e", "0a94c72890bd4b3a25305ec68f3fb5a0", NULL },
        { DTYPE_Q4_1, "fd4c1bb9bed0a1cf6e18a27f331b2f95", "8c0eb22c9aeae6f5ba25fd723c25a599", NULL },
        { DTYPE_Q5_0, "4a08b8a2930f39d931482de887f12e80", "2b235e4cba6f95745ca6598050c7da87", NULL },
        { DTYPE_Q5_1, "bface505c418bfe83ebfdefa84c82988", "6d00779783bea943d39343420bd5bb33", NULL },
        { DTYPE_Q8_0, "829b4152e483abccbd73197fea975526", NULL, NULL },
        { DTYPE_Q2_K, "c2c4d54c791e332f2adbc51b8f11b4e4", "500fa50940475fee05358f5da0ea9330",
            "a7172855354e8a05196475afb8422b38" },
        { DTYPE_Q3_K, "bc84932064a31771f3d27f20fd3cfa59", "a83fa7c8e3eb2c6fd3215f78dbcfd347",
            "6e3729a5e5b4b996579beee65ce10df7" },
        { DTYPE_Q4_K, "5014c4fffcb8aca88863d28a689d0a24", "75690beab85949b02153c647efcbbba7",
            "c59e17f4b21c194d6ba277c2d3b9908e" },
        { DTYPE_Q5_K, "53c455495321a1d92a090d689de89b97", "c8284afb8f0fc1bf30f49facdbafe006",
            "ffd53e437c627fdb12257a29eb639731" },
        { DTYPE_Q6_K, "85c9d6e2dcdd9d9a35a14e96e4d425e8", "d684dd927fe438277db7c083e1de2259",
            "a66c2cad41327ac0499581784e831b04" },
        { DTYPE_TQ1_0, "93c96cda626ecaa8723d09e6dd5fd421", NULL, NULL },
        { DTYPE_TQ2_0, "5f8e4cb1665749562ac71b174ce23c4c", NULL, NULL },
        { DTYPE_MXFP4, "3b0132eb70bacee7a2f0773b77cebd8a", NULL, NULL },
        { DTYPE_NVFP4, "1fbd3498c99877b3f72913d397c5a52e", NULL, NULL },
        { DTYPE_Q1_0, "6363cefdcecf83f1cbb3e6b8dd733e1b", NULL, NULL },
        { DTYPE_Q2_0, "58417aafd815bd5cd9f45977d328bf0e", NULL, NULL },
    };

    memcpy(sparse, x, NELEMS * sizeof *x);
    for (int r = 0; r < ROWS; r++)
        memset(sparse + r * COLS + 32, 0, 32 * sizeof *x);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct dtype_facts *facts = dtype_facts(rows[i].dtype);
        size_t nbytes = NELEMS / facts->elems * facts->bytes;
        const char *weighted = rows[i].weighted != NULL ? rows[i].weighted : rows[i].plain;

        fence_what[1] = facts->name;
        CHECK_ROW(sha256_starts(rows[i].plain, encode(k, rows[i].dtype, output, x, ROWS, COLS, NULL), nbytes),
            facts->name);
        CHECK_ROW(sha256_starts(weighted, encode(k, rows[i].dtype, output, x, ROWS, COLS, importance), nbytes),
            facts->name);
        if (rows[i].sparse != NULL)
            CHECK_ROW(sha256_starts(rows[i].sparse, encode(k, rows[i].dtype, output, sparse, ROWS, COLS, NULL), nbytes),
                facts->name);
    }
}

/* A scale whose few weighted elements fit a negative one wraps, and is limited in Q5_K. */
static void
test_clamp(const struct kernels *k, float *x, float *importance)
{
    state = 12;
    for (int i = 0; i < NELEMS; i++) {
        x[i] = ldexpf((float)((int)(next() >> 8) - (1 << 23)), -23);
        next();
    }
    CHECK(bits_of_float(x[0]) == 0xBF04C08A && bits_of_float(x[1]) == 0xBF6D8D16);
    memset(importance, 0, COLS * sizeof *importance);
    importance[5] = 3;
    CHECK(sha256_starts("b715bd0c9367a454545f0f67fb3a57ee", encode(k, DTYPE_Q5_K, output, x, ROWS, COLS, importance),
        ROWS * Q5_K_BYTES));
}

/* --- awkward blocks */

/* Expected bytes of a block, as pairs of count and value. */
struct runs {
    enum dtype dtype;
    uint8_t runs[5][2];
};

static bool
block_is(const uint8_t *y, const struct runs *want)
{
    size_t at = 0;

    for (int r = 0; r < 5; r++)
        for (int i = 0; i < want->runs[r][0]; i++)
            if (y[at++] != want->runs[r][1])
                return false;
    return at == dtype_facts(want->dtype)->bytes;
}

static void
all_equal(float x[COLS], float value)
{
    for (int i = 0; i < COLS; i++)
        x[i] = value;
}

/* A block of zeros, and one of negative zeros, which is equal except in Q4_1 and Q5_1. */
static void
test_zeros(const struct kernels *k, float x[COLS])
{
    static const struct runs rows[] = {
        { DTYPE_Q4_0, { { 1, 0 }, { 1, 0x80 }, { 16, 0x88 } } },
        { DTYPE_Q4_1, { { 20, 0 } } },
        { DTYPE_Q5_0, { { 1, 0 }, { 1, 0x80 }, { 4, 0xFF }, { 16, 0 } } },
        { DTYPE_Q5_1, { { 24, 0 } } },
        { DTYPE_Q8_0, { { 34, 0 } } },
        { DTYPE_Q1_0, { { 2, 0 }, { 16, 0xFF } } },
        { DTYPE_Q2_0, { { 2, 0 }, { 16, 0x55 } } },
        { DTYPE_Q2_K, { { 84, 0 } } },
        { DTYPE_Q3_K, { { 110, 0 } } },
        { DTYPE_Q4_K, { { 144, 0 } } },
        { DTYPE_Q5_K, { { 176, 0 } } },
        { DTYPE_Q6_K, { { 210, 0 } } },
        { DTYPE_TQ1_0, { { 48, 0x80 }, { 4, 0x7F }, { 2, 0 } } },
        { DTYPE_TQ2_0, { { 64, 0x55 }, { 2, 0 } } },
        { DTYPE_MXFP4, { { 17, 0 } } },
        { DTYPE_NVFP4, { { 36, 0 } } },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        enum dtype dtype = rows[i].dtype;
        size_t elems = dtype_facts(dtype)->elems;
        struct runs negative = rows[i];

        all_equal(x, 0.0f);
        CHECK_ROW(block_is(encode(k, dtype, output, x, 1, elems, NULL), &rows[i]), dtype_name(dtype));
        if (dtype == DTYPE_Q4_1)
            negative = (struct runs){ dtype, { { 3, 0 }, { 1, 0x80 }, { 16, 0 } } };
        if (dtype == DTYPE_Q5_1)
            negative = (struct runs){ dtype, { { 3, 0 }, { 1, 0x80 }, { 20, 0 } } };
        all_equal(x, -0.0f);
        CHECK_ROW(block_is(encode(k, dtype, output, x, 1, elems, NULL), &negative), dtype_name(dtype));
    }
}

/* A negative constant is the minimum of types that have one; an infinity gets codes of 0 for itself; the inverse of a factor
 * below 2^-128 is infinite, which yields codes of 0. */
static void
test_awkward(const struct kernels *k, float x[COLS])
{
    static const struct runs minus_two[] = {
        { DTYPE_Q4_1, { { 3, 0 }, { 1, 0xC0 }, { 16, 0 } } },
        { DTYPE_Q5_1, { { 3, 0 }, { 1, 0xC0 }, { 20, 0 } } },
    };
    static const struct runs infinite = { DTYPE_Q4_0, { { 1, 0 }, { 1, 0xFC }, { 1, 0x80 }, { 15, 0x88 } } };
    static const struct runs tiny = { DTYPE_Q8_0, { { 34, 0 } } };

    all_equal(x, -2.0f);
    for (int i = 0; i < 2; i++)
        CHECK_ROW(block_is(encode(k, minus_two[i].dtype, output, x, 1, 32, NULL), &minus_two[i]),
            dtype_name(minus_two[i].dtype));
    all_equal(x, 0.0f);
    x[0] = INFINITY;
    CHECK(block_is(encode(k, DTYPE_Q4_0, output, x, 1, 32, NULL), &infinite));
    all_equal(x, 1e-44f);
    CHECK(block_is(encode(k, DTYPE_Q8_0, output, x, 1, 32, NULL), &tiny));
}

/* Scale bytes of a block with one value that is not 0. */
static void
test_fp4(const struct kernels *k, float x[COLS])
{
    static const struct { uint32_t bits; uint8_t scale, code; } mxfp4[] = {
        { 0x40FFFFFF, 128, 6 }, { 0x40FFFFFE, 127, 7 }, { 0x3FFFFFFF, 125, 7 }, { 0x3F7FFFFF, 124, 7 },
        { 0x4DFFFFF5, 154, 6 }, { 0x4DFFFFF4, 153, 7 }, { 0x01000000, 0, 6 },
    };
    static const struct { float value; uint8_t scale; } nvfp4[] = {
        { 6.0f, 0x38 }, { 0.001f, 0 }, { 0.0117f, 1 }, { 0.09374f, 7 }, { 2688.0f, 0x7E }, { 3000.0f, 0x7E },
    };

    all_equal(x, 0.0f);
    for (size_t i = 0; i < sizeof mxfp4 / sizeof *mxfp4; i++) {
        x[3] = float_of_bits(mxfp4[i].bits);
        const uint8_t *y = encode(k, DTYPE_MXFP4, output, x, 1, MXFP4_ELEMS, NULL);
        CHECK(y[0] == mxfp4[i].scale && y[1 + 3] == mxfp4[i].code);
    }
    for (size_t i = 0; i < sizeof nvfp4 / sizeof *nvfp4; i++) {
        x[3] = nvfp4[i].value;
        CHECK(encode(k, DTYPE_NVFP4, output, x, 1, NVFP4_ELEMS, NULL)[0] == nvfp4[i].scale);
    }
}

/* The table of mxfp4_exponent against the logarithm of doubles rounded to a float, near every power of two. */
static void
test_mxfp4_exponent(void)
{
    bool ok = true;

    for (uint32_t exponent = 0; exponent <= 255; exponent++)
        for (uint32_t i = 0; i < 400; i++) {
            uint32_t bits = (exponent << 23) + i - 200;

            if (bits == 0 || bits >= 0x7F800000)
                continue;
            int e = (int)floorf((float)log2((double)float_of_bits(bits))) - 2 + 127;
            ok &= mxfp4_exponent(float_of_bits(bits)) == (uint8_t)e;
        }
    for (uint32_t bits = 1; bits < 0x1000000; bits += bits < 0x20000 ? 1 : 97) {           /* subnormals */
        int e = (int)floorf((float)log2((double)float_of_bits(bits))) - 2 + 127;

        ok &= mxfp4_exponent(float_of_bits(bits)) == (uint8_t)e;
    }
    CHECK(ok);
    CHECK(mxfp4_exponent(0.0f) == 0 && mxfp4_exponent(INFINITY) == 0);
}

/* --- sets against the scalar one */

enum { MOST_ROWS = 6, MOST_COLS = 3 * 256, MOST = MOST_ROWS * MOST_COLS };

/* Returns a number with approximately normal distribution and variance 1. */
static float
bell(void)
{
    float sum = 0.0f;

    for (int i = 0; i < 12; i++)
        sum += (float)(fence_random() >> 8) * 0x1p-24f;
    return sum - 6.0f;
}

static float
as_bf16(float v)
{
    return float_of_bits((bits_of_float(v) + 0x8000u) & 0xFFFF0000u);
}

static const float edges[] = { 0.0f, -0.0f, 1e-45f, -1e-45f, 1e-39f, FLT_MIN, -FLT_MIN, 1e-20f, 1e-15f, -1e-15f, 1e-7f,
    1.0f, -1.0f, 0.5f, 1e15f, -1e15f, 1e18f, 1e20f, FLT_MAX, -FLT_MAX, INFINITY, -INFINITY, NAN };

enum { EDGES = sizeof edges / sizeof *edges, KINDS = 16 };

static float
any_edge(void)
{
    return edges[fence_random() % EDGES];
}

/* Fills n floats of one kind. In some kinds, groups of 16 and blocks of 32 and 256 differ in magnitude. */
static void
fill(float *x, size_t n, int kind)
{
    float scale = ldexpf(1.0f, (int)(fence_random() % 24) - 12), constant = bell() * scale;

    for (size_t i = 0; i < n; i++) {
        if (i % 16 == 0 && (kind == 4 || kind == 5))
            scale = ldexpf(1.0f, (int)(fence_random() % 40) - 20);
        switch (kind) {
        case 0: case 1: x[i] = bell() * 0.05f; break;
        case 2: x[i] = as_bf16(bell() * 0.05f); break;
        case 3: x[i] = as_bf16(bell() * scale); break;
        case 4: x[i] = fabsf(bell()) * scale; break;
        case 5: x[i] = -fabsf(bell()) * scale; break;
        case 6: x[i] = (float)((int)(fence_random() % 33) - 16); break;             /* ties */
        case 7: x[i] = (float)((int)(fence_random() % 3) - 1) * scale; break;
        case 8: x[i] = fence_random() % 4 ? 0.0f : bell(); break;
        case 9: x[i] = i / 32 % 3 == 1 ? 0.0f : i / 32 % 3 == 2 ? constant : bell(); break;
        case 10: x[i] = bell() * (fence_random() % 64 ? 1e-3f : 1e3f); break;       /* outliers */
        case 11: x[i] = ldexpf(bell(), (int)(i / 256 * 37 % 276) - 150); break;      /* all magnitudes, block by block */
        case 12: x[i] = fence_random() % 100 ? bell() : any_edge(); break;
        case 13: x[i] = any_edge(); break;
        case 14: x[i] = float_of_bits(fence_random()); break;                       /* random bits */
        default: x[i] = constant; break;
        }
    }
}

static void
fill_importance(float *w, size_t n, int kind)
{
    for (size_t i = 0; i < n; i++)
        w[i] = kind == 0 ? (float)(fence_random() >> 8) * 0x1p-24f : kind == 1 ? 1.0f : kind == 2
            ? (fence_random() % 3 == 0 ? 0.0f : expf(4.0f * bell())) : fence_random() % 20 == 0 ? 1.0f : 0.0f;
}

static bool
sets_agree(const struct kernels *scalar, const struct kernels *k, enum dtype dtype, const float *x, size_t rows,
    size_t cols, const float *importance)
{
    const struct dtype_facts *facts = dtype_facts(dtype);
    const uint8_t *expected = encode(scalar, dtype, scalar_output, x, rows, cols, importance);
    const uint8_t *got = encode(k, dtype, output, x, rows, cols, importance);

    return memcmp(expected, got, rows * cols / facts->elems * facts->bytes) == 0;
}

static void
test_sets(const struct kernels *scalar, const struct kernels *k, enum dtype dtype)
{
    static char what[64];
    const struct dtype_facts *facts = dtype_facts(dtype);

    fence_what[1] = facts->name;
    if (k->encode[dtype] == scalar->encode[dtype])
        return;
    for (int kind = 0; kind < KINDS; kind++) {
        bool ok = true;

        for (size_t round = 0; round < 24; round++) {
            size_t rows = 1 + fence_random() % MOST_ROWS, blocks = fence_random() % (MOST_COLS / facts->elems + 1);
            size_t cols = blocks * facts->elems;
            float *x = (float *)(void *)input.end - rows * cols, *w = (float *)(void *)weights.end - cols;

            fill(x, rows * cols, kind);
            fill_importance(w, cols, (int)round % 4);
            ok &= sets_agree(scalar, k, dtype, x, rows, cols, NULL);
            ok &= sets_agree(scalar, k, dtype, x, rows, cols, w);
        }
        snprintf(what, sizeof what, "%s %s, kind %d", k->name, facts->name, kind);
        CHECK_ROW(ok, what);
    }
}

int
main(void)
{
    const struct kernels *scalar = sets_pick(sets[0]);

    fence_guard("test_encode");
    input = fence_new(MOST * sizeof(float));
    weights = fence_new(NELEMS * sizeof(float));
    output = fence_new(2 * MOST + GUARD);
    scalar_output = fence_new(2 * MOST + GUARD);
    if (!CHECK(scalar != NULL))
        return check_done("test_encode");
    test_mxfp4_exponent();
    for (int i = 0; i < SETS; i++) {
        const struct kernels *k = sets_pick(sets[i]);
        float *x = (float *)(void *)input.end - NELEMS, *importance = (float *)(void *)weights.end - COLS;

        if (k == NULL)
            continue;
        fence_what[0] = sets[i];
        golden_input(x, importance);
        test_golden(k, x, x - NELEMS, importance);
        test_clamp(k, x, importance);
        x += NELEMS - COLS;
        test_zeros(k, x);
        test_awkward(k, x);
        test_fp4(k, x);
        for (int t = 0; t < TYPES; t++)
            test_sets(scalar, k, types[t]);
    }
    return check_done("test_encode");
}
