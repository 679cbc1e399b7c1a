/* test_rows: rows of codes of a byte each (codes8, affine) and the unpacking (bits, packs), for every set of kernels: the
 * scalar set against the formulas of the headers, the others bit for bit against the scalar set. All buffers end at an
 * inaccessible page. */
#include "check.h"

#include <math.h>

#include "base/bytes.h"
#include "dtype/bfloat16.h"
#include "dtype/half.h"
#include "fence.h"
#include "kernel/bits.h"
#include "kernel/kernels.h"
#include "sets.h"

enum { CANARY = 0xA5, GUARD = 64, MOST = 4000 };

static float map[256];                  /* values of the codes in a fused affine row */
static struct fence codes, first_input, second_input, output, scalar_output;

/* Values typical of a weight, with occasional others: random bits, NaN, infinite, subnormal. */
static float
random_value(void)
{
    static const uint32_t edges[] = { 0x00000000, 0x80000000, 0x00000001, 0x807FFFFF, 0x00800000, 0x3F800000, 0x3F808000,
        0x3F818000, 0x3F7FFFFF, 0x7F7FFFFF, 0x7F7F8000, 0x7F800000, 0xFF800000, 0x7F800001, 0xFFC00000, 0xFFFFFFFF,
        0x477FF000, 0x477FE000, 0x33000000, 0x33000001 };
    uint32_t kind = fence_random() % 16;

    return float_of_bits(kind == 0 ? edges[fence_random() % (sizeof edges / sizeof *edges)] : kind == 1 ? fence_random()
        : 0x3B000000 + fence_random() % 0x02000000);
}

static void
fill_inputs(void)
{
    float *a = (float *)(void *)first_input.end - MOST, *b = (float *)(void *)second_input.end - MOST;

    fence_fill(codes.end - MOST, MOST);
    for (size_t i = 0; i < 256; i++)
        map[i] = random_value();
    for (size_t i = 0; i < MOST; i++) {
        a[i] = fence_random() % 2 ? (float)(fence_random() % 256) : random_value();
        b[i] = random_value();
    }
}

static float
to_type(enum dtype in, float v)
{
    if (in == DTYPE_BF16)
        return bfloat16_to_float(bfloat16_of_float(v));
    return in == DTYPE_F16 ? half_to_float(half_of_float(v)) : v;
}

struct rows_trial {
    size_t first, n, group;
    bool is_signed, has_zeros;          /* codes8 */
    bool affine, term_first, fused, mapped;
    bool nibbles;                       /* two codes a byte; with affine, to BF16 */
    bool narrow;                        /* codes are below 16 */
    enum dtype in, to;
};

/* The pairs of numbers for groups are at the end of their memory. */
static const float *
pairs(struct fence of, const struct rows_trial *t)
{
    size_t ngroups = t->n == 0 ? 0 : (t->first % t->group + t->n - 1) / t->group + 1;

    return (const float *)(void *)of.end - ngroups;
}

/* So are the codes. */
static const uint8_t *
codes_of(const struct rows_trial *t)
{
    return codes.end - (t->nibbles ? (t->first % 2 + t->n + 1) / 2 : t->n);
}

static uint8_t
code_of(const struct rows_trial *t, size_t i)
{
    size_t at = t->first % 2 + i;

    return t->nibbles ? codes_of(t)[at / 2] >> at % 2 * 4 & 15 : codes_of(t)[i];
}

static void
run(const struct kernels *k, struct fence to, const struct rows_trial *t)
{
    size_t size = dtype_facts(t->to)->bytes;
    uint8_t *y = to.end - t->n * size;
    const uint8_t *x = codes_of(t);
    const struct codes8 c = { t->has_zeros ? pairs(first_input, t) : NULL, pairs(second_input, t), t->group, t->is_signed,
        t->narrow };
    const struct affine a = { pairs(second_input, t), pairs(first_input, t), t->group, t->in, t->term_first,
        t->fused, t->mapped ? map : NULL, t->narrow };

    for (size_t i = 0; t->narrow && i < t->n; i++)
        codes.end[-(ptrdiff_t)t->n + (ptrdiff_t)i] &= 15;
    memset(y - GUARD, CANARY, t->n * size + GUARD);
    if (t->nibbles)
        k->affine4_bf16((uint16_t *)(void *)y, x, t->first, t->n, &a);
    else if (t->affine && t->to == DTYPE_BF16)
        k->affine_bf16((uint16_t *)(void *)y, x, t->first, t->n, &a);
    else if (t->affine)
        k->affine_f32((float *)(void *)y, x, t->first, t->n, &a);
    else if (t->to == DTYPE_F32)
        k->codes8_f32((float *)(void *)y, x, t->first, t->n, &c);
    else
        k->codes8_bf16((uint16_t *)(void *)y, x, t->first, t->n, &c);
}

static bool
same_bits(float got, float expected)
{
    return bits_of_float(got) == (isnan(expected) ? 0x7FC00000 : bits_of_float(expected));
}

/* Compares with the formula. */
static bool
holds(const struct kernels *k, const struct rows_trial *t)
{
    const float *a = pairs(first_input, t), *b = pairs(second_input, t);
    bool ok = true;

    run(k, output, t);
    for (size_t i = 0; i < t->n; i++) {
        size_t g = (t->first + i) / t->group - t->first / t->group;
        uint8_t code = code_of(t, i);
        float v = t->is_signed ? (int8_t)code : code;

        if (t->affine && t->fused)
            v = to_type(t->in, fmaf(t->mapped ? map[code] : v, b[g], a[g]));
        else if (t->affine && t->term_first)
            v = to_type(t->in, to_type(t->in, v - a[g]) * b[g]);
        else if (t->affine)
            v = to_type(t->in, to_type(t->in, v * b[g]) + a[g]);
        else if (t->has_zeros)
            v = (v - a[g]) * b[g];
        else
            v = v * b[g];
        ok = ok && (t->to == DTYPE_F32 ? same_bits(((const float *)(void *)output.end)[(ptrdiff_t)i - (ptrdiff_t)t->n], v)
            : ((const uint16_t *)(void *)output.end)[(ptrdiff_t)i - (ptrdiff_t)t->n] == bfloat16_of_float(v));
    }
    return ok;
}

static bool
agree(const struct kernels *scalar, const struct kernels *k, const struct rows_trial *t)
{
    size_t reach = t->n * dtype_facts(t->to)->bytes + GUARD;

    run(scalar, scalar_output, t);
    run(k, output, t);
    return memcmp(scalar_output.end - reach, output.end - reach, reach) == 0;
}

static struct rows_trial
random_trial(size_t group, size_t n)
{
    static const enum dtype types[] = { DTYPE_BF16, DTYPE_F16, DTYPE_F32 };
    struct rows_trial t = { .first = fence_random() % (3 * group), .n = n, .group = group, .affine = fence_random() % 2,
        .to = fence_random() % 2 ? DTYPE_F32 : DTYPE_BF16 };

    if (t.affine) {
        t.term_first = fence_random() % 2;
        t.nibbles = t.to == DTYPE_BF16 && fence_random() % 2;
        t.fused = fence_random() % 2;
        t.mapped = t.fused && fence_random() % 2;
        t.in = types[fence_random() % 3];
    } else {
        t.is_signed = fence_random() % 2;
        t.has_zeros = fence_random() % 4 != 0;
    }
    t.narrow = !t.nibbles && !t.is_signed && fence_random() % 2;
    return t;
}

static const size_t group_sizes[] = { 1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 64, 65, 128, 1000, 100000 };

static void
test_rows(const struct kernels *scalar, const struct kernels *k)
{
    for (size_t i = 0; i < sizeof group_sizes / sizeof *group_sizes; i++) {
        bool ok = true;

        for (size_t j = 0; j < 1500; j++) {
            struct rows_trial t = random_trial(group_sizes[i], j < 200 ? j : fence_random() % (j % 3 ? 300 : MOST));

            if (j % 20 == 0)
                fill_inputs();
            ok = ok && (k == scalar ? holds(k, &t) : agree(scalar, k, &t));
        }
        CHECK_ROW(ok, k->name);
    }
}

/* Eight codes of 3 bits, 0 to 7, are the bytes 88 c6 fa; a word of AWQ with columns 0 to 7 is 75316420. */
static void
test_known(const struct kernels *k)
{
    static const uint8_t three[3] = { 0x88, 0xC6, 0xFA }, word[4] = { 0x20, 0x64, 0x31, 0x75 };
    static const unsigned shift[8] = { 0, 16, 4, 20, 8, 24, 12, 28 };
    uint8_t y[8];

    k->bits_stream(y, three, 0, 8, 3);
    for (unsigned i = 0; i < 8; i++)
        CHECK(y[i] == i);
    for (unsigned i = 0; i < 8; i++) {
        k->bits_lane(y, word, 1, 4, shift[i], 4);
        CHECK(y[0] == i);
    }
}

/* Three words of AWQ with columns 0 to 7: the function takes two at a time. */
static void
test_order(void)
{
    static const uint8_t words[12] = { 0x20, 0x64, 0x31, 0x75, 0x20, 0x64, 0x31, 0x75, 0x20, 0x64, 0x31, 0x75 };
    static const uint8_t ordered[12] = { 0x10, 0x32, 0x54, 0x76, 0x10, 0x32, 0x54, 0x76, 0x10, 0x32, 0x54, 0x76 };
    uint8_t y[12];

    bits_order(y, words, 3);
    CHECK(memcmp(y, ordered, sizeof y) == 0);
}

/* Codes written to a stream, or to lanes, one bit at a time are read back. */
static bool
comes_back(const struct kernels *k, size_t first, size_t n, unsigned bits)
{
    size_t nbytes = ((first % 8 + n) * bits + 7) / 8;
    uint8_t *x = codes.end - nbytes, *y = output.end - n, wanted[MOST];
    bool same;

    memset(x, 0, nbytes);
    for (size_t i = 0; i < n; i++) {
        wanted[i] = (uint8_t)(fence_random() & ((1U << bits) - 1));
        for (unsigned b = 0; b < bits; b++) {
            size_t at = (first % 8 + i) * bits + b;

            x[at / 8] |= (uint8_t)((wanted[i] >> b & 1) << at % 8);
        }
    }
    memset(y - GUARD, CANARY, GUARD);
    k->bits_stream(y, x, first, n, bits);
    same = memcmp(y, wanted, n) == 0;
    for (size_t i = 1; i <= GUARD; i++)
        same = same && *(y - i) == CANARY;
    return same;
}

static bool
lane_comes_back(const struct kernels *k, size_t n, size_t unit, unsigned shift, unsigned bits)
{
    uint8_t *x = codes.end - n * unit, *y = output.end - n, wanted[MOST];

    fence_fill(x, n * unit);
    for (size_t i = 0; i < n; i++) {
        uint64_t u = 0;

        for (size_t b = 0; b < unit; b++)
            u |= (uint64_t)x[i * unit + b] << 8 * b;
        wanted[i] = (uint8_t)(u >> shift & ((1U << bits) - 1));
    }
    k->bits_lane(y, x, n, unit, shift, bits);
    return memcmp(y, wanted, n) == 0;
}

/* Words of codes, eight to a block, and the codes by their position in the word. */
static bool
blocks_come_back(const struct kernels *k, size_t nblocks, unsigned bits)
{
    size_t nbytes = 16 * nblocks, n = 8 * nbytes / bits;
    uint8_t *x = codes.end - nbytes, *y = output.end - n, wanted[MOST];

    memset(x, 0, nbytes);
    for (size_t i = 0; i < n; i++) {
        size_t block = i / (128 / bits), place = i % (128 / bits) / 8, word = i % 8;
        unsigned at = (unsigned)place * bits;

        wanted[i] = (uint8_t)(fence_random() & ((1U << bits) - 1));
        x[16 * block + 2 * word + at / 8] |= (uint8_t)(wanted[i] << at % 8);
    }
    k->bits_blocks(y, x, nblocks, bits);
    return memcmp(y, wanted, n) == 0;
}

static bool
table_replaces(const struct kernels *k, size_t n)
{
    uint8_t *x = codes.end - n / 2, *y = output.end - n, wanted[MOST], table[16];

    fence_fill(x, n / 2);
    fence_fill(table, sizeof table);
    for (size_t i = 0; i < n; i++)
        wanted[i] = table[i % 2 == 0 ? x[i / 2] % 16 : x[i / 2] / 16];
    k->bits_table(y, x, n, table);
    return memcmp(y, wanted, n) == 0;
}

static bool
codes_are_found(const struct kernels *k, size_t nblocks, size_t block)
{
    uint8_t *x = codes.end - nblocks * block / 2;
    uint16_t found[MOST / 32], wanted;
    bool same = true;

    fence_fill(x, nblocks * block / 2);
    for (size_t i = 0; i < nblocks * block / 2; i++)
        x[i] &= (uint8_t)(fence_random() & 3 ? 0x57 : 0xFF);        /* blocks that lack codes */
    k->bits_found(found, x, nblocks, block);
    for (size_t i = 0; i < nblocks; i++) {
        wanted = 0;
        for (size_t j = 0; j < block; j++)
            wanted |= (uint16_t)(1u << (x[(i * block + j) / 2] >> j % 2 * 4 & 15));
        same = same && found[i] == wanted;
    }
    return same;
}

/* Blocks that are taken apart and joined again are the same, and their codes and factors are those that the decoder multiplies. */
static void
test_join(const struct kernels *k)
{
    static const struct { enum dtype type; int zero; size_t size; } types[] = { { DTYPE_Q4_0, 8, 18 }, { DTYPE_Q4_1, 0, 20 },
        { DTYPE_Q5_0, 16, 22 }, { DTYPE_Q5_1, 0, 24 }, { DTYPE_Q8_0, 0, 34 } };
    enum { N = 7 };
    uint16_t factor[2 * N];
    float decoded[32 * N];

    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        size_t size = types[t].size;
        uint8_t *x = codes.end - N * size, *q = output.end - 32 * N, *y = scalar_output.end - N * size;
        bool ok = true;

        fence_fill(x, N * size);
        for (size_t i = 0; i < N; i++)
            for (size_t j = 1; j < 4; j += 2)
                x[i * size + j] = (uint8_t)(j == 3 && types[t].zero != 0 ? x[i * size + j] : 0x30 | (x[i * size + j] & 0x87));
        k->q_split(types[t].type, q, factor, x, N);
        k->q_join(types[t].type, y, q, factor, N);
        ok = memcmp(x, y, N * size) == 0;
        k->block_f32[types[t].type](decoded, x, N);
        for (size_t i = 0; i < 32 * N; i++) {
            int code = types[t].type == DTYPE_Q8_0 ? (int8_t)q[i] : q[i] - types[t].zero;
            ok = ok && (float)code * half_to_float(factor[i / 32 * 2]) + half_to_float(factor[i / 32 * 2 + 1]) == decoded[i];
        }
        CHECK_ROW(ok, "blocks joined");
    }
}

static void
test_bits(const struct kernels *k)
{
    bool ok = true;

    for (size_t n = 0; n < 400; n += 2)
        ok = ok && table_replaces(k, n);
    CHECK_ROW(ok, "table");
    ok = true;
    for (size_t nblocks = 0; nblocks < 20; nblocks++)
        for (size_t block = 32; block <= 128; block *= 2)
            ok = ok && codes_are_found(k, nblocks, block);
    CHECK_ROW(ok, "found");
    ok = true;
    for (size_t nblocks = 0; nblocks < 40; nblocks++)
        ok = ok && blocks_come_back(k, nblocks, 4) && blocks_come_back(k, nblocks, 8);
    CHECK_ROW(ok, "blocks");
    for (unsigned bits = 1; bits <= 8; bits++) {
        ok = true;
        for (size_t j = 0; j < 600; j++)
            ok = ok && comes_back(k, fence_random() % 40, j < 150 ? j : fence_random() % (MOST / 2), bits);
        CHECK_ROW(ok, "stream");
        for (size_t unit = 1; unit <= 4; unit += 3)
            for (unsigned shift = 0; shift + bits <= 8 * unit; shift++)
                for (size_t j = 0; j < 40; j++)
                    ok = ok && lane_comes_back(k, fence_random() % 200, unit, shift, bits);
        CHECK_ROW(ok, "lane");
    }
}

/* Returns the position of bit `bit` of code c in a pack: 8 * byte + bit. */
static unsigned
place(unsigned bits, unsigned c, unsigned bit)
{
    static const uint8_t three[2][3] = { { 6, 7, 22 }, { 14, 15, 23 } };
    static const uint8_t five[3][5] = { { 5, 6, 7, 29, 30 }, { 13, 14, 15, 37, 38 }, { 21, 22, 23, 39, 31 } };
    static const uint8_t six[6] = { 22, 23, 14, 15, 6, 7 };

    if (bits == 3)
        return c >= 6 ? three[c - 6][bit] : 8 * (c % 3) + c / 3 * 3 + bit;
    if (bits == 5)
        return c >= 5 ? five[c - 5][bit] : 8 * c + bit;
    if (bits == 6)
        return 24 * (c / 4) + (c % 4 == 3 ? six[bit] : 8 * (c % 4) + bit);
    return c == 7 ? 8 * (6 - bit) + 7 : 8 * c + bit;
}

/* Codes written to packs one bit at a time are read back. */
static bool
packs_come_back(const struct kernels *k, size_t n, unsigned bits)
{
    size_t nbytes = bits == 6 ? (n + 3) / 4 * 3 : (n + 7) / 8 * bits;
    uint8_t *x = codes.end - nbytes, *y = output.end - n, wanted[MOST];
    bool same;

    fence_fill(x, nbytes);
    for (size_t i = 0; i < n; i++) {
        wanted[i] = 0;
        for (unsigned b = 0; b < bits; b++) {
            size_t at = i / 8 * bits * 8 + place(bits, i % 8, b);

            wanted[i] |= (uint8_t)((x[at / 8] >> at % 8 & 1) << b);
        }
    }
    memset(y - GUARD, CANARY, GUARD);
    k->packs(y, x, n, bits);
    same = memcmp(y, wanted, n) == 0;
    for (size_t i = 1; i <= GUARD; i++)
        same = same && *(y - i) == CANARY;
    return same;
}

static void
test_packs(const struct kernels *k)
{
    static const unsigned widths[] = { 3, 5, 6, 7 };

    for (size_t i = 0; i < 4; i++) {
        bool ok = true;

        for (size_t n = 0; n < 600; n++)
            ok = ok && packs_come_back(k, n, widths[i]);
        CHECK_ROW(ok, "packs");
    }
}

int
main(void)
{
    const struct kernels *scalar = NULL;

    fence_guard("test_rows");
    codes = fence_new(MOST);
    first_input = fence_new(MOST * sizeof(float));
    second_input = fence_new(MOST * sizeof(float));
    output = fence_new(MOST * sizeof(float) + GUARD);
    scalar_output = fence_new(MOST * sizeof(float) + GUARD);
    for (int i = 0; i < SETS; i++) {
        const struct kernels *k = sets_pick(sets[i]);

        if (k == NULL)
            continue;
        if (i == 0)
            scalar = k;
        fence_what[0] = sets[i];
        fence_what[1] = "rows";
        test_rows(scalar, k);
        fence_what[1] = "bits";
        test_known(k);
        test_bits(k);
        test_join(k);
        test_packs(k);
    }
    test_order();
    return check_done("test_rows");
}
