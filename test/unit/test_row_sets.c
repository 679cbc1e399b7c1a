/* test_row_sets: every set of kernels against the scalar one, bit for bit, for types whose rows have a prefix or are
 * interleaved. test_kernel_sets does the same for all other members. Buffers end at an inaccessible page, or a few elements
 * before it. */
#include "check.h"

#include <string.h>

#include "base/bytes.h"
#include "dtype/half.h"
#include "fence.h"
#include "kernel/kernels.h"
#include "sets.h"

enum { MOST = 9, GUARD = 16, CANARY = 0xA5 };

static struct fence input, scalar_output, output;

/* Checks that both sets agree on n blocks at `src`, to F32, BF16 and F16, and write nothing else. */
static bool
rows_agree(const struct kernels *scalar, const struct kernels *k, enum dtype dtype, const uint8_t *src, size_t n, size_t slack,
    const struct kernel_row *at)
{
    static const struct { enum dtype to; size_t size; } targets[] = {
        { DTYPE_F32, 4 }, { DTYPE_BF16, 2 }, { DTYPE_F16, 2 },
    };
    size_t count = n * dtype_facts(dtype)->elems;
    bool ok = true;

    for (int t = 0; t < 3; t++) {
        size_t reach = (count + slack + GUARD) * targets[t].size, back = (count + slack) * targets[t].size;

        memset(scalar_output.end - reach, CANARY, reach);
        memset(output.end - reach, CANARY, reach);
        kernels_row(scalar, dtype, targets[t].to, scalar_output.end - back, src, n, at);
        kernels_row(k, dtype, targets[t].to, output.end - back, src, n, at);
        ok &= memcmp(scalar_output.end - reach, output.end - reach, reach) == 0;
    }
    return ok;
}

/* Returns a factor of the kind that the type has in its prefixes: edges first, then any. */
static float
factor_of(enum dtype dtype, unsigned trial)
{
    static const uint32_t edges[] = { 0x00000000, 0x80000000, 0x00000001, 0x807FFFFF, 0x00800000, 0x00FFFFFF, 0x3F800000,
        0xBF7FFFFF, 0x7AFFFFFF, 0x7B000000, 0x7C000001, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7F800001,
        0x7FC00000, 0xFFFFFFFF };
    static const uint16_t halves[] = { 0x0000, 0x8000, 0x0001, 0x83FF, 0x0400, 0x3C00, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00,
        0x7C01, 0x7E00, 0xFFFF };

    if (dtype_facts(dtype)->prefix == 2)
        return half_to_float(trial < sizeof halves / sizeof *halves ? halves[trial] : (uint16_t)fence_random());
    if (trial < sizeof edges / sizeof *edges)
        return float_of_bits(edges[trial]);
    return float_of_bits(trial % 2 ? fence_random() : 0x2C000000u + (fence_random() & 0x87FFFFFFu));
}

/* Random blocks, their number from 0 to MOST, each row of interleaved ones, with and without a gap before the fence. */
static bool
rows_random(const struct kernels *scalar, const struct kernels *k, enum dtype dtype)
{
    const struct dtype_facts *f = dtype_facts(dtype);
    size_t step = dtype_block_step(dtype);
    unsigned rows = f->interleaved ? f->interleaved : 1;
    bool ok = true;

    for (unsigned trial = 0; trial < (unsigned)check_rounds(200, 4000); trial++)
        for (unsigned row = 0; row < rows; row++) {
            size_t n = trial % (MOST + 1), slack = trial % 4 == 3 ? 7 : trial % 4;
            const struct kernel_row at = { .scale = factor_of(dtype, trial), .row = row };
            uint8_t *src = input.end - n * step - slack;

            fence_fill(src, n * step);
            ok &= rows_agree(scalar, k, dtype, src, n, slack, &at);
        }
    return ok;
}

int
main(void)
{
    const struct kernels *scalar = sets_pick(sets[0]);

    fence_guard("test_row_sets");
    input = fence_new(MOST * 4 * 256 + 4096);
    scalar_output = fence_new(4 * (MOST * 256 + 4096));
    output = fence_new(4 * (MOST * 256 + 4096));
    for (int i = 1; i < SETS && CHECK(scalar != NULL); i++) {
        const struct kernels *k = sets_pick(sets[i]);
        unsigned own = 0, all = 0;

        for (enum dtype dtype = 0; k != NULL && dtype < DTYPE_COUNT; dtype++) {
            if (scalar->row_f32[dtype] == NULL)
                continue;
            fence_what[0] = sets[i];
            fence_what[1] = dtype_name(dtype);
            all++;
            own += k->row_f32[dtype] != scalar->row_f32[dtype] && k->row_bf16[dtype] != NULL;
            CHECK_ROW(rows_random(scalar, k, dtype), dtype_name(dtype));
        }
        printf("test_row_sets: %s replaces %u of %u types\n", sets[i], own, all);
    }
    return check_done("test_row_sets");
}
