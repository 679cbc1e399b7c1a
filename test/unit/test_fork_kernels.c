/* test_fork_kernels: known vectors for the types of forks, for each set that this CPU runs, and what a kernel owes to rows:
 * any number of blocks, canonical NaNs. The vectors are from a decoder that was compared with the forks' C. */
#include "check.h"
#include "sets.h"
#include "sha256.h"

#include <math.h>
#include <string.h>

#include "base/bytes.h"
#include "dtype/half.h"
#include "kernel/kernels.h"

enum { ROWS = 8, BLOCKS = 2, CANARY = 0xA5 };

static uint32_t state;

static uint32_t
next(void)
{
    return state = state * 1664525u + 1013904223u;
}

/* 8 rows of 2 blocks, from the type's id as the seed; hashes of the bytes and of the floats, little-endian. */
static const struct fork_golden {
    enum dtype dtype;
    const char *input, *f32;                    /* first digits of SHA-256 */
    const char *begin;                          /* the first 12 bytes */
    uint32_t first[3];                          /* the first three floats */
} fork_golden[] = {
    { DTYPE_Q6_0, "264f2685fc3745a652e14e281db3c59f", "b2682333c02c346ac0f19ae6bc29f776",
        "8e31e2970611ab7d2a3824d1", { 0x3f31c000, 0x403cdc00, 0x3fc7f800 } },
    { DTYPE_IQ2_K, "fa7be5981b6eb9445e8a5d2f03867ad6", "6581820483cef2317f6dbbebca6e37a4",
        "84319fbdb00e65273373f58e", { 0x41308000, 0x420f6800, 0x41308000 } },
    { DTYPE_IQ3_K, "b72b9e328301e7eec25757ee73f52220", "148b7330e4ee250f8cc35ed80a05f5b1",
        "08304fc65bced311b582693d", { 0xc08d1800, 0x41fdf800, 0x40a95000 } },
    { DTYPE_IQ4_K, "efde63a9d3010d009eb1947de10d171a", "20620600c5cb4440c3e0a5f0b879f770",
        "ba30fed0058d42fc3891dded", { 0xc3058680, 0xc27a8200, 0x42999d00 } },
    { DTYPE_IQ5_K, "c1ccebe957e01d04721d0519cd85ddfe", "67a9073b98f1899947672ca7fb38654f",
        "dc32add9b04db0e6ba9f519c", { 0xc3333380, 0x441230c0, 0xc41102f0 } },
    { DTYPE_IQ6_K, "c8f66e957612304b46c97aa68f483527", "f0671667067149e35abd7d5a1c64441e",
        "00265de35b0c1ed13caec54b", { 0xc2653d23, 0x4203ebb8, 0x4326482a } },
    { DTYPE_IQ4_KS, "dc2781c969b16c566d9d9b9e6e4c8618", "1d43de061e0feec054e600a154cdea83",
        "b6709539576aff5a4a6990c3", { 0xbead851f, 0x3f6c58a2, 0xbe4b6ff0 } },
    { DTYPE_IQ2_KS, "05355701b132c3eaf69ba91ddf92ffc2", "42cf68fd5c747459b26b9bac3aa2451f",
        "b02c6e1a09050ad87b45e996", { 0xc10b7400, 0x40d54800, 0x40d54800 } },
    { DTYPE_IQ4_KSS, "cc7fd4e5f5f8a216a6a9288d1d9e2592", "cd508777a00b4d177ab84b47b5ea6a5f",
        "4ed6953985c912b0c94665c7", { 0x3e86539f, 0xbf88313a, 0xbf1cb6e4 } },
    { DTYPE_IQ5_KS, "173d1f3202093445287361ed71803eec", "7e46d572f0f16d9c6de030ddcbdf5b40",
        "1807973910e54baf46dce5d5", { 0x3d02f827, 0x403c44b8, 0x4029d9d3 } },
    { DTYPE_IQ2_KT, "a2ef0804289285edbb273e1f5fa6c628", "a2a07fc8e72d798db6238cb1d3254a45",
        "e43997392794545a054acf57", { 0xbde079ee, 0xbe07de03, 0xbd9f7f0e } },
    { DTYPE_IQ3_KT, "caf35b04ef17e910e129d65fb3ddf27c", "94c2e973be2438a34cb56b602ffa9d76",
        "b06c97393f435e05c4b9bad9", { 0xbdcc1179, 0xbcd4f0d8, 0x3d54f0d8 } },
    { DTYPE_IQ4_KT, "7cc045e3758773ce87d0f2296adb1adb", "97362793c15e8ddfea329b9cc8411eb4",
        "7c9f973956f367af8427a45b", { 0x3e59a973, 0x3c470153, 0xbdec5193 } },
    { DTYPE_IQ3_KS, "89de371497af2c212be6bd12108824ee", "ad9ec0b134741e98a9b81ce8a69eda6b",
        "c02c6da2715a43958fde8b93", { 0xbf3e0000, 0xbfda8000, 0x405f4000 } },
    { DTYPE_IQ2_KL, "9efa97364953be1685d6a9688ce95891", "513d8cab3fe3f0ee76df1362bd20cc77",
        "c42c84517a04030479609908", { 0xc2377a00, 0x42ce6940, 0x42ce6940 } },
    { DTYPE_IQ1_KT, "3b686c84df78e2a391aa71ce8eb0bb4b", "abd099dc7c99f9a57e86bb33180209cd",
        "e03798399c0084afc27264e2", { 0xbf19a165, 0x3e5c98fa, 0xbebd1568 } },
    { DTYPE_PQ2_0, "548d9f6f9a200ce434310825ad9fcfda", "f62eff12d1ce1707367db987017d33e0",
        "b42e0cec05cb8dbbbebd39fb", { 0xbdd68000, 0x3e568000, 0xbdd68000 } },
    { DTYPE_PTQ1_0, "a4df4fe64e740de50fd151166f36270e", "176a38d891bb598d91fbc559f4138549",
        "4a3fbbf6b08bfba641ccadaa", { 0xbd868000, 0xbd868000, 0x3d868000 } },
    { DTYPE_IQ1_S_R4, "ca050820a5af0201baccc001ee0e2ae8", "04c4206e1bab6e853736f4c86b1e1db0",
        "242d98282c323432575ebd47", { 0xbf503200, 0xbf503200, 0xbf503200 } },
    { DTYPE_IQ1_M_R4, "e6620af8237792508b679ddf862a7450", "3e8242ef7a9a5c047d61d07d8a6e3204",
        "342d6022f230a82801d80d70", { 0x3f11b000, 0xbf3b5000, 0xbf3b5000 } },
    { DTYPE_IQ2_K_R4, "120937f05df7ef02e9df0d75ff9f078a", "4995b2d461f5726171ba8c37ce62644a",
        "b8280433d82ee633f1f1b384", { 0x40b80800, 0x40b80800, 0xc09bb800 } },
    { DTYPE_IQ3_K_R4, "1a137081b31dc83d150b24dd03e45f63", "34c929a1472b20bad86d2922d9ca24a5",
        "8631a631742f802874ff2734", { 0x41a5b400, 0x40a5b400, 0xc0d76a00 } },
    { DTYPE_IQ4_K_R4, "a538c35f0b9d2d49515c18bd83fb46e5", "b6715516877c107b0aaac2906a71a511",
        "382c5a33942f482ef60e9ce3", { 0x42ba0540, 0xc22a5500, 0x42ba0540 } },
    { DTYPE_IQ5_K_R4, "064087a4d8d394dbb55a596c832e251c", "93a0a9932239bc7ef8dd86bd4f587ae8",
        "56302633f433302e781d1092", { 0x42a50960, 0x4282e420, 0x43778e10 } },
    { DTYPE_IQ4_KS_R4, "bbb21d32a5e60a38da5ac2960f7b81a2", "72d25d34c909159acc4939166478c3b5",
        "2a20bd395a19f63960e6b739", { 0xbefc1b20, 0xbfe4b235, 0x3eb41360 } },
    { DTYPE_IQ5_KS_R4, "93c9f7c3f8bd093ef408a51199185d99", "98e98fa733f882badaf383752b241574",
        "8cb6be39483e5339843b563a", { 0x40ad3dbb, 0x3f83b875, 0xbfce2bd8 } },
};

enum { FORK_GOLDEN = sizeof fork_golden / sizeof fork_golden[0] };

static uint8_t bytes[ROWS * BLOCKS * 256 + 64];
static float f32[ROWS * BLOCKS * 256];

static uint32_t
together(enum dtype dtype)
{
    uint32_t n = dtype_facts(dtype)->interleaved;
    return n != 0 ? n : 1;
}

static void
put_half(uint8_t *p, bool negative)
{
    float d = (float)((next() >> 22) + 1) * 0x1p-12f;
    uint16_t half = half_of_float(negative ? -d : d);

    p[0] = (uint8_t)half;
    p[1] = (uint8_t)(half >> 8);
}

static void
put_float(uint8_t *p)
{
    uint32_t bits = bits_of_float((float)((next() >> 8) + 1) * 0x1p-34f);

    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(bits >> 8 * i);
}

/* Fills `bytes` as described at the table. Returns their number. */
static size_t
make_rows(enum dtype dtype)
{
    const struct dtype_facts *f = dtype_facts(dtype);
    uint32_t n = together(dtype);
    uint8_t *p = bytes;

    state = (uint32_t)f->ggml;
    for (uint32_t row = 0; row < ROWS; row += n) {
        for (uint32_t k = 0; k < n && f->prefix != 0; k++, p += f->prefix)
            if (f->prefix == 4)
                put_float(p);
            else
                put_half(p, false);
        for (int b = 0; b < BLOCKS; b++, p += dtype_block_step(dtype)) {
            for (uint32_t i = 0; i < dtype_block_step(dtype); i++)
                p[i] = (uint8_t)(next() >> 24);
            for (uint32_t k = 0; k < n && f->prefix == 0; k++)
                put_half(p + (dtype == DTYPE_PTQ1_0 ? 26 : 2 * k), b == 1);
        }
    }
    return (size_t)(p - bytes);
}

/* Decodes `n` blocks from block `first` of a row. */
static void
decode(const struct kernels *k, enum dtype dtype, enum dtype to, void *y, uint64_t row, uint64_t first, size_t n)
{
    const struct dtype_facts *f = dtype_facts(dtype);
    uint64_t cols = BLOCKS * f->elems;
    const uint8_t *x = bytes + dtype_block_offset(dtype, cols, row, first * f->elems);
    const uint8_t *prefix = bytes + dtype_prefix_offset(dtype, cols, row);
    const struct kernel_row at = { .row = (unsigned)(row % together(dtype)), .scale = f->prefix == 4
        ? float_of_bits(load_le32(prefix)) : f->prefix == 2 ? half_to_float(load_le16(prefix)) : 0 };

    if (k->row_f32[dtype])
        kernels_row(k, dtype, to, y, x, n, &at);
    else
        kernels_block(k, dtype, to, y, x, n);
}

static void
test_golden(const struct kernels *k, const struct fork_golden *g)
{
    const struct dtype_facts *f = dtype_facts(g->dtype);
    size_t nbytes = make_rows(g->dtype), cols = BLOCKS * (size_t)f->elems;
    uint64_t expected;
    char begin[25];

    CHECK_ROW(dtype_rows_bytes(&expected, g->dtype, ROWS, cols) && nbytes == expected, f->name);
    CHECK_ROW(sha256_starts(g->input, bytes, nbytes), f->name);
    for (int i = 0; i < 12; i++)
        snprintf(begin + 2 * i, 3, "%02x", bytes[i]);
    CHECK_ROW(strcmp(begin, g->begin) == 0, f->name);
    for (uint64_t row = 0; row < ROWS; row++)
        decode(k, g->dtype, DTYPE_F32, f32 + row * cols, row, 0, BLOCKS);
    for (int i = 0; i < 3; i++)
        CHECK_ROW(bits_of_float(f32[i]) == g->first[i], f->name);
    CHECK_ROW(sha256_starts(g->f32, f32, ROWS * cols * sizeof *f32), f->name);
}

/* Single blocks, and 16-bit types, equal the floats of the whole. The rows of test_golden must be there. */
static void
test_pieces(const struct kernels *k, enum dtype dtype)
{
    size_t elems = dtype_facts(dtype)->elems;
    static uint16_t code[BLOCKS * 256 + 1], rounded[BLOCKS * 256];
    static float copy[BLOCKS * 256];
    bool ok = true;

    for (uint64_t row = 0; row < ROWS; row++)
        for (int t = 0; t < 2; t++)
            for (uint64_t first = 0; first < BLOCKS; first++)
                for (size_t n = 0; n <= BLOCKS - first; n++) {
                    const float *whole = f32 + (row * BLOCKS + first) * elems;
                    enum dtype to = t == 0 ? DTYPE_BF16 : DTYPE_F16;

                    memset(code, CANARY, sizeof code);
                    memcpy(copy, whole, n * elems * sizeof *copy);
                    kernels_round(k, to, rounded, copy, n * elems);
                    decode(k, dtype, to, code, row, first, n);
                    ok &= memcmp(code, rounded, n * elems * sizeof *code) == 0 && code[n * elems] == CANARY * 0x101;
                    decode(k, dtype, DTYPE_F32, copy, row, first, n);
                    ok &= memcmp(copy, whole, n * elems * sizeof *copy) == 0;
                }
    CHECK_ROW(ok, dtype_name(dtype));
}

/* Infinite, NaN and huge factors: every NaN in the output is the canonical one. */
static void
test_nan(const struct kernels *k, enum dtype dtype)
{
    static const uint32_t factors[] = { 0x7F800000, 0xFF800000, 0x7F800001, 0xFFC00001, 0x7F7FFFFF, 0xFF7FFFFF };
    const struct dtype_facts *f = dtype_facts(dtype);
    bool canonical = true, any = false;

    for (unsigned trial = 0; trial < 24; trial++) {
        const struct kernel_row at = { .scale = float_of_bits(factors[trial % 6]), .row = trial % together(dtype) };

        for (uint32_t i = 0; i < dtype_block_step(dtype); i++)
            bytes[i] = (uint8_t)(next() >> 24);
        for (uint32_t i = 0; i < together(dtype) && f->prefix == 0; i++)
            bytes[dtype == DTYPE_PTQ1_0 ? 27 : 2 * i + 1] |= 0x7C;
        if (k->row_f32[dtype])
            kernels_row(k, dtype, DTYPE_F32, f32, bytes, 1, &at);
        else
            kernels_block(k, dtype, DTYPE_F32, f32, bytes, 1);
        for (int e = 0; e < f->elems; e++) {
            any |= isnan(f32[e]);
            canonical &= !isnan(f32[e]) || bits_of_float(f32[e]) == 0x7FC00000u;
        }
    }
    CHECK_ROW(any && canonical, f->name);
}

/* Every type of a fork that is marked as decoded has a kernel of one kind, and no other has. */
static void
test_table(const struct kernels *k)
{
    for (enum dtype dtype = 0; dtype < DTYPE_COUNT; dtype++) {
        bool block = dtype_facts(dtype)->kind == DTYPE_IS_BLOCK && dtype < DTYPE_UNDECODED;

        CHECK_ROW((k->block_f32[dtype] != NULL) + (k->row_f32[dtype] != NULL) == block, dtype_name(dtype));
        CHECK_ROW((dtype_facts(dtype)->fork != NULL) == (dtype >= DTYPE_FORKS && dtype < DTYPE_UNKNOWN), dtype_name(dtype));
    }
    CHECK((int)FORK_GOLDEN == DTYPE_UNDECODED - DTYPE_FORKS);
}

int
main(void)
{
    for (int i = 0; i < SETS; i++) {
        const struct kernels *k = sets_pick(sets[i]);

        for (int t = 0; k != NULL && t < FORK_GOLDEN; t++) {
            test_golden(k, &fork_golden[t]);
            test_pieces(k, fork_golden[t].dtype);
            test_nan(k, fork_golden[t].dtype);
        }
        if (k != NULL)
            test_table(k);
    }
    return check_done("test_fork_kernels");
}
