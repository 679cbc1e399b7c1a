/* test_kernel_sets: every set of kernels against the scalar one, bit for bit, member by member.
 *
 * Buffers end at an inaccessible page, or a few guard elements before it, so that a read or write beyond the end is fatal
 * (and named) or detected. A set that this CPU lacks is reported as not tested.
 */
#include "check.h"

#include <string.h>

#include "base/bytes.h"
#include "block_fields.h"
#include "fence.h"
#include "kernel/kernels.h"
#include "sets.h"

enum { CANARY = 0xA5, BATCH = 70, ROUNDED = 1 << 16 };

static struct fence input, scale_input, scalar_output, output;

/* Returns both outputs: `count` elements of `size` bytes, ending `slack` elements before the fence, filled with canaries. */
static void
outputs(void **expected, void **got, size_t count, size_t size, size_t slack)
{
    size_t reach = (count + slack + 16) * size;         /* 16 guard elements before as well */

    memset(scalar_output.end - reach, CANARY, reach);
    memset(output.end - reach, CANARY, reach);
    *expected = scalar_output.end - (count + slack) * size;
    *got = output.end - (count + slack) * size;
}

static bool
outputs_equal(size_t count, size_t size, size_t slack)
{
    size_t reach = (count + slack + 16) * size;

    return memcmp(scalar_output.end - reach, output.end - reach, reach) == 0;
}

static const uint16_t edge_halves[] = { 0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x83FF, 0x0400, 0x8400, 0x3C00,
    0xBC00, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7C01, 0xFC01, 0x7E00, 0xFE00, 0x7FFF, 0xFFFF };

static const uint32_t edge_floats[] = { 0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x807FFFFF,
    0x00800000, 0x80800000, 0x00FFFFFF, 0x01000000, 0x3F800000, 0xBF800000, 0x3F7FFFFF, 0x7E7FFFFF, 0x7F000000,
    0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7F800001, 0x7FC00000, 0xFFC00000, 0x7FFFFFFF, 0xFFFFFFFF };

enum {
    EDGE_HALVES = sizeof edge_halves / sizeof edge_halves[0],
    EDGE_FLOATS = sizeof edge_floats / sizeof edge_floats[0]
};

/* ------------------------------------------------------------------ blocks */

/* Checks that both sets agree on n blocks at `src`, to F32, BF16 and F16. */
static bool
blocks_agree(const struct kernels *scalar, const struct kernels *k, enum dtype dtype, const uint8_t *src, size_t n,
    size_t slack)
{
    static const struct { enum dtype to; size_t size; } targets[] = {
        { DTYPE_F32, 4 }, { DTYPE_BF16, 2 }, { DTYPE_F16, 2 },
    };
    size_t count = n * dtype_facts(dtype)->elems;
    bool ok = true;

    for (int t = 0; t < 3; t++) {
        void *expected, *got;

        outputs(&expected, &got, count, targets[t].size, slack);
        kernels_block(scalar, dtype, targets[t].to, expected, src, n);
        kernels_block(k, dtype, targets[t].to, got, src, n);
        ok &= outputs_equal(count, targets[t].size, slack);
    }
    return ok;
}

/* Random bytes, 0 to 70 blocks, with and without a gap before the fence. */
static bool
blocks_random(const struct kernels *scalar, const struct kernels *k, const struct block_fields *fields)
{
    size_t nbytes = dtype_facts(fields->dtype)->bytes;
    bool ok = true;

    for (size_t n = 0; n <= BATCH; n++)
        for (size_t slack = 0; slack < 8; slack += slack + 1) {     /* 0 1 3 7 */
            uint8_t *src = input.end - n * nbytes - slack;

            fence_fill(src, n * nbytes);
            ok &= blocks_agree(scalar, k, fields->dtype, src, n, slack);
        }
    return ok;
}

/* Blocks of random bytes in which the caller sets factors, compared BATCH at a time. */
struct factor_batch {
    const struct kernels *scalar, *k;
    const struct block_fields *fields;
    size_t filled;
    bool ok;
};

static void
batch_flush(struct factor_batch *batch)
{
    size_t nbytes = dtype_facts(batch->fields->dtype)->bytes;

    /* blocks start at the room for BATCH, so a short batch does not end at the fence */
    batch->ok &= blocks_agree(batch->scalar, batch->k, batch->fields->dtype, input.end - BATCH * nbytes,
        batch->filled, 0);
    batch->filled = 0;
}

static uint8_t *
batch_block(struct factor_batch *batch)
{
    size_t nbytes = dtype_facts(batch->fields->dtype)->bytes;
    uint8_t *block;

    if (batch->filled == BATCH)
        batch_flush(batch);
    block = input.end - BATCH * nbytes + batch->filled++ * nbytes;
    fence_fill(block, nbytes);
    return block;
}

/* Every pair of edge factors, four blocks each. */
static bool
blocks_edges(const struct kernels *scalar, const struct kernels *k, const struct block_fields *fields)
{
    struct factor_batch batch = { scalar, k, fields, 0, true };

    for (int d = 0; d < EDGE_HALVES; d++)
        for (int m = 0; m < EDGE_HALVES; m++)
            for (int i = 0; i < 4; i++) {
                uint8_t *block = batch_block(&batch);

                if (fields->d != NO_FIELD)
                    block_put_half(fields->dtype, block, fields->d, edge_halves[d]);
                if (fields->m != NO_FIELD)
                    block_put_half(fields->dtype, block, fields->m, edge_halves[m]);
                if (fields->dtype == DTYPE_Q8_K)
                    block_put_float(block, edge_floats[(d * EDGE_HALVES + m) % EDGE_FLOATS]);
            }
    batch_flush(&batch);
    return batch.ok;
}

/* All 65536 binary16 factors, in each of the two places; for other types the same number of scales of their own kind. */
static bool
blocks_all_factors(const struct kernels *scalar, const struct kernels *k, const struct block_fields *fields)
{
    struct factor_batch batch = { scalar, k, fields, 0, true };

    for (unsigned h = 0; h < 0x10000; h++) {
        if (fields->d != NO_FIELD)
            block_put_half(fields->dtype, batch_block(&batch), fields->d, (uint16_t)h);
        else if (fields->dtype == DTYPE_Q8_K)
            block_put_float(batch_block(&batch), h << 16 | fence_random() >> 16);
        else if (fields->dtype == DTYPE_MXFP4)
            batch_block(&batch)[0] = (uint8_t)h;
        else                                                    /* NVFP4: its first scale; the other three are random */
            batch_block(&batch)[0] = (uint8_t)h;
        if (fields->m != NO_FIELD)
            block_put_half(fields->dtype, batch_block(&batch), fields->m, (uint16_t)h);
    }
    batch_flush(&batch);
    return batch.ok;
}

static void
test_blocks(const struct kernels *scalar, const struct kernels *k)
{
    unsigned own_f32 = 0, own_bf16 = 0;

    for (int i = 0; i < BLOCK_FIELDS; i++) {
        const struct block_fields *fields = &block_fields[i];

        fence_what[1] = dtype_name(fields->dtype);
        own_f32 += k->block_f32[fields->dtype] != scalar->block_f32[fields->dtype];
        own_bf16 += k->block_bf16[fields->dtype] != NULL;
        CHECK_ROW(blocks_random(scalar, k, fields), fence_what[1]);
        CHECK_ROW(blocks_edges(scalar, k, fields), fence_what[1]);
        CHECK_ROW(blocks_all_factors(scalar, k, fields), fence_what[1]);
    }
    printf("test_kernel_sets: %s replaces %u of %d block types to F32 and %u to BF16\n", k->name, own_f32,
        (int)BLOCK_FIELDS, own_bf16);
}

/* ----------------------------------------------------------------- rounding */

static bool
round_agrees(kernel_round16 *a, kernel_round16 *b, const uint32_t *bits, size_t n, size_t slack)
{
    float *x = (float *)(void *)(input.end - 4 * (n + slack));
    void *expected, *got;

    memcpy(x, bits, 4 * n);
    outputs(&expected, &got, n, 2, slack);
    a(expected, x, n);
    b(got, x, n);
    return outputs_equal(n, 2, slack);
}

/* All upper halves, with the lower halves at which either rounding changes direction, in every size and many alignments. */
static void
test_round(const char *name, kernel_round16 *a, kernel_round16 *b)
{
    static const uint16_t low[] = { 0x0000, 0x0001, 0x0FFF, 0x1000, 0x1001, 0x1FFF, 0x2000, 0x2FFF, 0x3000, 0x3001,
        0x7FFF, 0x8000, 0x8001, 0xEFFF, 0xF000, 0xF001, 0xFFFF };
    static uint32_t bits[ROUNDED];
    bool ok = true;

    fence_what[1] = name;
    for (size_t i = 0; i < sizeof low / sizeof low[0]; i++) {
        for (uint32_t high = 0; high < ROUNDED; high++)
            bits[high] = high << 16 | low[i];
        ok &= round_agrees(a, b, bits, ROUNDED, i % 5);
    }
    CHECK_ROW(ok, name);
    for (int round = 0; round < check_rounds(8, 64); round++) {
        for (size_t i = 0; i < ROUNDED; i++)
            bits[i] = fence_random();
        ok &= round_agrees(a, b, bits, ROUNDED, (size_t)(round % 9));
    }
    CHECK_ROW(ok, name);
    for (size_t n = 0; n <= 300; n++)
        for (size_t slack = 0; slack < 18; slack++) {
            for (size_t i = 0; i < n; i++)
                bits[i] = fence_random() % 8 == 0 ? edge_floats[fence_random() % EDGE_FLOATS] : fence_random();
            ok &= round_agrees(a, b, bits, n, slack);
        }
    CHECK_ROW(ok, name);
}

/* ---------------------------------------------------------------------- fp8 */

enum { SCALES = 2048 };

/* Rows that end at the fence (without a gap after the last one). Codes and scales are at the end of `input` and
 * `scale_input`. */
static bool
rows_agree(const struct kernels *scalar, const struct kernels *k, enum dtype dtype, size_t rows, size_t cols,
    size_t gap, size_t scale_cols)
{
    size_t stride = cols + gap;
    size_t count = rows == 0 ? 0 : (rows - 1) * stride + cols;
    const uint8_t *x = input.end - count;
    const float *scales = (float *)(void *)scale_input.end - (cols + scale_cols - 1) / scale_cols;
    const struct fp8_rows m = { dtype, rows, cols, x, stride, scales, scale_cols };
    void *expected, *got;
    bool ok;

    outputs(&expected, &got, count, 4, gap % 3);
    scalar->fp8_f32(expected, stride, &m);
    k->fp8_f32(got, stride, &m);
    ok = outputs_equal(count, 4, gap % 3);
    outputs(&expected, &got, count, 2, gap % 3);
    scalar->fp8_bf16(expected, stride, &m);
    k->fp8_bf16(got, stride, &m);
    return ok & outputs_equal(count, 2, gap % 3);
}

/* All codes, each in several places, with one scale. */
static bool
codes_agree(const struct kernels *scalar, const struct kernels *k, enum dtype dtype, float scale)
{
    enum { CODES = 5 * 256 + 37 };

    for (size_t i = 0; i < CODES; i++)
        input.end[-1 - (ptrdiff_t)i] = (uint8_t)(i * 37 + i / 256);
    ((float *)(void *)scale_input.end)[-1] = scale;
    return rows_agree(scalar, k, dtype, 1, CODES, 0, CODES);
}

/* Scales: one in `rare` is an edge case, one in twice as many has random bits, the others are typical of weights. */
static void
fill_scales(uint32_t rare)
{
    float *scales = (float *)(void *)scale_input.end - SCALES;

    for (int i = 0; i < SCALES; i++) {
        uint32_t kind = fence_random() % (2 * rare);

        scales[i] = float_of_bits(kind < 2 ? edge_floats[fence_random() % EDGE_FLOATS] : kind == 2 ? fence_random()
            : 0x38000000 + fence_random() % 0x02000000);
    }
}

static void
test_fp8(const struct kernels *scalar, const struct kernels *k, enum dtype dtype)
{
    static const size_t widths[] = { 1, 16, 32, 100, 128, 1000 };
    bool ok = true;

    fence_what[1] = dtype_name(dtype);
    for (int i = 0; i < EDGE_FLOATS; i++)
        ok &= codes_agree(scalar, k, dtype, float_of_bits(edge_floats[i]));
    CHECK_ROW(ok, fence_what[1]);
    for (uint32_t high = 0; high < 0x1000; high++) {            /* every sign, exponent, top of the mantissa */
        ok &= codes_agree(scalar, k, dtype, float_of_bits(high << 20));
        ok &= codes_agree(scalar, k, dtype, float_of_bits(high << 20 | fence_random() >> 12));
        ok &= codes_agree(scalar, k, dtype, float_of_bits(high << 20 | (fence_random() & 0xF0000)));    /* BF16 */
        ok &= codes_agree(scalar, k, dtype, float_of_bits(high << 20 | 0xFFFFF));
    }
    CHECK_ROW(ok, fence_what[1]);
    for (size_t cols = 0; cols <= 200; cols++)                  /* one scale */
        for (size_t rows = 0; rows <= 6; rows++)
            for (size_t gap = 0; gap < 40; gap += 13) {
                fence_fill(input.end - 7 * 240, 7 * 240);
                fill_scales(2);
                ok &= rows_agree(scalar, k, dtype, rows, cols, gap, cols + 1);
            }
    CHECK_ROW(ok, fence_what[1]);
    fence_fill(input.end - 21 * 1500, 21 * 1500);
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++)       /* many, the last one with fewer columns */
        for (size_t rows = 0; rows <= 20; rows++)
            for (size_t cols = 1; cols <= 1400; cols += 1 + fence_random() % 150)
                for (uint32_t rare = 2; rare <= 2000; rare *= 10) {
                    fill_scales(rare);
                    ok &= rows_agree(scalar, k, dtype, rows, cols, fence_random() % 90, widths[w]);
                }
    CHECK_ROW(ok, fence_what[1]);
    fence_fill(input.end - 128 * 1024, 128 * 1024);
    for (uint32_t rare = 20; rare <= 20000; rare *= 10) {       /* the blocks of real files; more blocks than tables */
        fill_scales(rare);
        ok &= rows_agree(scalar, k, dtype, 128, 1024, 0, 128);
        ok &= rows_agree(scalar, k, dtype, 128, 128, 896, 128);
        ok &= rows_agree(scalar, k, dtype, 12, 10000, 7, 128);
        ok &= rows_agree(scalar, k, dtype, 12, 10000, 0, 33);
        ok &= rows_agree(scalar, k, dtype, 60, 64 * 33, 1, 33);
        ok &= rows_agree(scalar, k, dtype, 60, 64 * 33 + 1, 1, 33);
        ok &= rows_agree(scalar, k, dtype, 60, SCALES, 0, 1);
        ok &= rows_agree(scalar, k, dtype, 1, 100000, 0, 128);
    }
    CHECK_ROW(ok, fence_what[1]);
}

int
main(void)
{
    static const enum dtype float8[] = { DTYPE_F8_E4M3, DTYPE_F8_E5M2, DTYPE_F8_E4M3FNUZ, DTYPE_F8_E5M2FNUZ };
    const struct kernels *scalar;

    fence_guard("test_kernel_sets");
    input = fence_new(4 * ROUNDED + 4096);
    scale_input = fence_new(4 * SCALES);
    scalar_output = fence_new(4 * (128 * 1024 + 4096));
    output = fence_new(4 * (128 * 1024 + 4096));
    scalar = sets_pick(sets[0]);
    if (!CHECK(scalar != NULL))
        return check_done("test_kernel_sets");

    for (int i = 1; i < SETS; i++) {
        const struct kernels *k = sets_pick(sets[i]);

        if (k == NULL)
            continue;
        fence_what[0] = sets[i];
        CHECK(strcmp(k->name, sets[i]) == 0);
        test_blocks(scalar, k);
        test_round("round_bf16", scalar->round_bf16, k->round_bf16);
        test_round("round_f16", scalar->round_f16, k->round_f16);
        for (int t = 0; t < 4; t++)
            test_fp8(scalar, k, float8[t]);
        printf("test_kernel_sets: %s compared with scalar\n", sets[i]);
    }
    return check_done("test_kernel_sets");
}
