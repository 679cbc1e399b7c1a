/* test_encode_groups: encoders of matrices with groups of columns: known vectors, any range of a part against the whole
 * part, the reported quantization error, weights that are not supported; and the casts and packings below them. */
#include "check.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/limits.h"
#include "base/num.h"
#include "dtype/bfloat16.h"
#include "dtype/float8.h"
#include "dtype/half.h"
#include "encode/encode.h"
#include "hf/quantizer.h"
#include "kernel/encode_int.h"
#include "kernel/encode_fp8.h"
#include "kernel/encode_mx.h"
#include "kernel/rounded.h"
#include "sha256.h"

static const struct kernels *kernels;
static _Alignas(max_align_t) uint8_t scratch[ENCODE_ROOM];

/* --- an encoding, run like the pipeline does */

struct groups_work {
    struct catalog *catalog;
    struct encoding e;
    struct encode_part parts[ENCODE_PARTS];
    enum encode_fit fit;
    struct err err;
    const float *x;                         /* rows * cols */
    float *facts, *room, *back;
    uint8_t *told;                          /* how often each element was compared */
    float *decoded;
    uint8_t *part[ENCODE_PARTS];
};

/* struct encode_run */
static bool
read_floats(void *of, uint64_t first, size_t count, float *x, struct err *err)
{
    const struct groups_work *w = of;
    (void)err;
    CHECK(count <= ENCODE_FLOATS && first + count <= w->e.rows * w->e.cols);
    memcpy(x, w->x + first, count * sizeof *x);
    return true;
}

/* struct encode_run */
static void
tell(void *of, uint64_t first, const float *x, const float *back, size_t n)
{
    struct groups_work *w = of;
    CHECK(n % 32 == 0 || (first + n) % w->e.cols == 0);
    CHECK(memcmp(x, w->x + first, n * sizeof *x) == 0);
    memcpy(w->decoded + first, back, n * sizeof *back);
    for (size_t i = 0; i < n; i++)
        w->told[first + i]++;
}

/* Encodes grains [first, first + count) of a part. */
static void
run(struct groups_work *w, unsigned p, uint64_t first, uint64_t count, uint8_t *y)
{
    const struct encode_part *part = &w->e.part[p];
    struct encode_run run = { .kernels = kernels, .read = read_floats, .of = w, .facts = w->facts, .x = w->room,
        .compare = tell, .back = w->back, .room = scratch };
    uint64_t numel = w->e.rows * w->e.cols;
    for (uint64_t n; count != 0; first += n, count -= n, y += n * part->grain) {
        n = part->elems ? num_min(count, ENCODE_FLOATS / part->elems) : count;
        run.n = (size_t)(part->elems ? num_min(n * part->elems, numel - first * part->elems) : 0);
        memcpy(w->room, w->x + first * part->elems, run.n * sizeof *w->room);
        CHECK(w->e.encoder->encode(&w->e, &run, p, first, n, y, &w->err));
    }
}

static void
survey(struct groups_work *w)
{
    const struct encode_run run = { .kernels = kernels, .read = read_floats, .of = w, .x = w->room, .room = scratch };
    w->facts = calloc((size_t)w->e.nfacts + 1, sizeof *w->facts);
    for (uint64_t i = 0; w->e.nfacts != 0 && i < w->e.nregions; i++)
        CHECK(w->e.encoder->survey.region(&w->e, &run, i, w->facts, &w->err));
    if (w->e.nfacts != 0 && w->e.encoder->survey.settle)
        w->e.encoder->survey.settle(&w->e, w->facts);
    if (w->e.encoder->survey.finish_parts)
        CHECK(w->e.encoder->survey.finish_parts(&w->e, w->facts, &w->err));
}

/* Makes a weight m.weight, and its encoding if the encoder supports it. */
static void
start(struct groups_work *w, const char *scheme, enum dtype dtype, const float *x, uint64_t rows, uint64_t cols,
    const struct encode_options *options)
{
    uint64_t dim[2] = { rows, cols };
    *w = (struct groups_work){ .x = x };
    err_init(&w->err);
    w->catalog = catalog_new(&limits_default, &w->err);
    uint8_t *packed = catalog_alloc(w->catalog, 2 * SHAPE_DIM, &w->err);
    shape_pack(packed, dim, 2);
    w->e = (struct encoding){ .encoder = encode_find(scheme, KEEPS_CODES), .memory = w->catalog, .rows = rows, .cols = cols,
        .part = w->parts, .weight = { .name = "m.weight", .name_len = 8, .dtype = dtype, .shape = { 2, packed } } };
    CHECK_ROW(w->e.encoder != NULL, scheme);
    w->fit = w->e.encoder->fit(&w->e, options, &w->err);
    w->room = malloc(ENCODE_FLOATS * sizeof *w->room);
    w->back = malloc(ENCODE_FLOATS * sizeof *w->back);
    w->told = calloc((size_t)(rows * cols), 1);
    w->decoded = calloc((size_t)(rows * cols), sizeof *w->decoded);
    if (w->fit == ENCODE_YES)
        survey(w);
}

static void
make(struct groups_work *w, const char *scheme, enum dtype dtype, const float *x, uint64_t rows, uint64_t cols,
    const struct encode_options *options)
{
    start(w, scheme, dtype, x, rows, cols, options);
    CHECK_ROW(w->fit == ENCODE_YES, scheme);
    for (unsigned p = 0; p < w->e.nparts; p++) {
        const struct encode_part *part = &w->e.part[p];
        uint64_t nbytes = encode_part_nbytes(part);
        w->part[p] = calloc((size_t)nbytes + part->grain, 1);
        if (part->bytes)
            memcpy(w->part[p], part->bytes, (size_t)nbytes);
        else
            run(w, p, 0, num_ceil_div(nbytes, part->grain), w->part[p]);
    }
}

static void
finish(struct groups_work *w)
{
    for (unsigned p = 0; p < w->e.nparts; p++)
        free(w->part[p]);
    free(w->facts);
    free(w->room);
    free(w->back);
    free(w->told);
    free(w->decoded);
    catalog_free(w->catalog);
}

/* Returns the part named m plus suffix, or NULL. */
static const uint8_t *
part(const struct groups_work *w, const char *suffix)
{
    for (unsigned p = 0; p < w->e.nparts; p++)
        if (strcmp(w->e.part[p].name + 1, suffix) == 0)
            return w->part[p];
    return NULL;
}

/* --- known vectors */

enum { NV = 64 };

/* Input of all vectors, in the first row or rows, followed by zeros. */
static void
input(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = i < NV ? ((float)((37 * i + 11) % 64) - 31.5f) / 32 : 0;
}

/* Checks bytes against hexadecimal digits, which show values of `unit` bytes. */
static bool
is(const uint8_t *p, const char *hex, size_t unit)
{
    for (size_t at = 0; p && *hex; at += unit) {
        uint64_t want = strtoull(hex, (char **)&hex, 16), got = 0;
        for (size_t i = unit; i-- > 0;)
            got = got << 8 | p[at + i];
        if (got != want)
            return false;
        while (*hex == ' ')
            hex++;
    }
    return p != NULL;
}

/* Checks that the decoded values, as BF16, start with these. */
static bool
decodes(const struct groups_work *w, const char *hex)
{
    for (size_t i = 0; *hex; i++) {
        if (bfloat16_of_float(w->decoded[i]) != strtoul(hex, (char **)&hex, 16))
            return false;
        while (*hex == ' ')
            hex++;
    }
    return true;
}

#define FP4_NV "5e 7c f8 e4 b6 17 5f 6d fa e2 c5 96 3f 6e 7b e1 d4 a6 27 5e 6c f9 e3 c5 07 4f 6d 7a e1 d5 96 2f"
#define FP4_MX "4d 5b d8 c2 a4 16 3d 5c e9 d1 b4 85 2e 4c 6a d0 c3 95 16 4d 5b e9 c2 a4 05 3d 5c 6a d1 b3 95 2e"

static const struct {
    const char *scheme;
    unsigned rows, cols;
    struct encode_options how;
    const char *suffix, *hex;
    size_t unit;
} golden[] = {
    { "int4-group", 2, 32, { .group_size = 32 }, ".weight_scale", "3e06 3e06", 2 },
    { "int4-group", 2, 32, { .group_size = 32 }, ".weight_shape", "2 20", 8 },
    { "int4-group", 2, 32, { .group_size = 32 }, ".weight_packed",
        "4a18e6c3 d5b29f6d 8e5c3907 28f6c4a1 b39f7d4b 6c3a17e5 f6d4a28f a17e5b29", 4 },
    { "int4-group", 2, 32, { .group_size = 32, .asymmetric = true }, ".weight_scale", "3e02 3e04", 2 },
    { "int4-group", 2, 32, { .group_size = 32, .asymmetric = true }, ".weight_zero_point", "78", 4 },
    { "int4-group", 2, 32, { .group_size = 32, .asymmetric = true }, ".weight_packed",
        "4a18f5c3 e4b29f6d 8e5c3907 28f6d3a1 b28f6c3a 5b2906d4 e5c3a17e 906d4a18", 4 },
    { "mxfp4", 2, 32, { 0 }, ".weight_scale", "7d 7d", 1 },
    { "mxfp4", 2, 32, { 0 }, ".weight_packed", FP4_MX, 1 },
    { "modelopt-mxfp4", 2, 32, { 0 }, ".weight_scale", "7d 7d", 1 },
    { "nvfp4", 2, 32, { 0 }, ".weight_global_scale", "452b0000", 4 },
    { "nvfp4", 2, 32, { 0 }, ".weight_scale", "7d 7e 7e 7e", 1 },
    { "nvfp4", 2, 32, { 0 }, ".weight_packed", FP4_NV, 1 },
    { "modelopt-nvfp4", 2, 32, { 0 }, ".weight_scale_2", "39c00000", 4 },
    { "modelopt-nvfp4", 2, 32, { 0 }, ".weight_scale", "7d 7e 7e 7e", 1 },
    { "modelopt-nvfp4", 2, 32, { 0 }, ".weight", FP4_NV, 1 },
    { "mlx-4bit", 1, 64, { .group_size = 32 }, ".scales", "3dfc bdfc", 2 },
    { "mlx-4bit", 1, 64, { .group_size = 32 }, ".biases", "bf7c 3f7c", 2 },
    { "mlx-4bit", 1, 64, { .group_size = 32 }, ".weight",
        "4a18f5c3 e4b29f6d 8e5c3907 28f6d3a1 4e7093c5 a4d6f92b 0a3c5f81 6f92b5e7", 4 },
    { "mlx-3bit", 1, 64, { .group_size = 32 }, ".scales", "3e7c be7c", 2 },
    { "mlx-3bit", 1, 64, { .group_size = 32 }, ".weight", "de54cef1 e343eb19 33bca89d 0e5d8a73 e7e1ab3f 7e1cbc14", 4 },
    { "comfy-nvfp4", 16, 64, { 0 }, ".weight_scale_2", "39c00000", 4 },
    { "comfy-nvfp4", 16, 64, { 0 }, ".weight_scale", "7d 7e 7e 7e 0 0", 1 },
    { "comfy-nvfp4", 16, 64, { 0 }, ".weight", "e5 c7 8f 4e 6b 71 f5 d6 af 2e 5c 69 f3 e6 b7 1e", 1 },
    { "comfy-mxfp8", 32, 64, { 0 }, ".weight_scale", "77 77 0", 1 },
    { "comfy-mxfp8", 32, 64, { 0 }, ".weight", "f2 70 ea 75 c8 f6 6a f1", 1 },
    { "comfy-int8", 1, 64, { .convrot = true, .group_size = 64 }, ".weight_scale", "3c3366ce", 4 },
    { "comfy-int8", 1, 64, { .convrot = true, .group_size = 64 }, ".weight", "0a eb 27 d9 15 9b 32 e5 f3 d4 b4 79 2c "
        "0d ed fc dc bd 54 07 e8 24 a9 13 c5 5d e2 f0 ff df 1b 29 38 18 f9 07 8c 7f 04 13 21 01 3d f0 ff df 1b ce dc 18 "
        "f9 07 43 24 60 b7 21 a6 e2 95 ff 3b c0 29", 1 },
    { "gptq", 32, 32, { .group_size = 32 }, ".scales", "3033 3033", 2 },
    { "gptq", 32, 32, { .group_size = 32 }, ".qzeros", "77777777 77777777 77777777 77777777", 4 },
    { "gptq-8bit", 32, 32, { .group_size = 32 }, ".qzeros", "7f7f7f7f 7f7f7f7f", 4 },
};

static void
test_golden(void)
{
    float x[32 * 64];
    input(x, sizeof x / sizeof *x);
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        struct groups_work w;
        make(&w, golden[i].scheme, golden[i].how.convrot ? DTYPE_F32 : DTYPE_BF16, x, golden[i].rows, golden[i].cols,
            &golden[i].how);
        if (!CHECK_ROW(is(part(&w, golden[i].suffix), golden[i].hex, golden[i].unit), golden[i].suffix))
            printf("    of %s\n", golden[i].scheme);
        finish(&w);
    }
}

/* Words of the first two rows, equal to the words of [2, 32]. */
static void
test_golden_gptq(void)
{
    static const uint32_t words[4][2] = { { 0x4a18e6c3, 0xb39f7d4b }, { 0xd5b29f6d, 0x6c3a17e5 },
        { 0x8e5c3907, 0xf6d4a28f }, { 0x28f6c4a1, 0xa17e5b29 } };
    const struct encode_options how = { .group_size = 32 };
    float x[32 * 32];
    struct groups_work w;
    input(x, sizeof x / sizeof *x);
    make(&w, "gptq", DTYPE_F32, x, 32, 32, &how);
    for (int line = 0; line < 4; line++)
        for (int row = 0; row < 2; row++)
            CHECK(load_le32(part(&w, ".qweight") + (line * 32 + row) * 4) == words[line][row]);
    finish(&w);
}

static void
test_decoded(void)
{
    static const struct {
        const char *scheme;
        unsigned rows, cols;
        struct encode_options how;
        const char *hex;
    } rows[] = {
        { "nvfp4", 2, 32, { 0 }, "bf1c 3eea be9c 3f6a 8000 bf6a 3e9c bf1c" },
        { "comfy-nvfp4", 16, 64, { 0 }, "bf1c 3eea be9c 3f6a 8000 bf6a 3e9c bf1c" },
        { "modelopt-nvfp4", 2, 32, { 0 }, "bf1c 3eea be9c 3f6a 0 bf6a 3e9c bf1c" },
        { "comfy-mxfp8", 32, 64, { 0 }, "bf20 3f00 bea0 3f50 bc80 bf60 3ea0 bf10" },
        { "comfy-int8", 1, 64, { .convrot = true, .group_size = 64 }, "bf24 3f04 beaa 3f55 bc92 bf5b 3e99 bf0c" },
    };
    float x[32 * 64];
    input(x, sizeof x / sizeof *x);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct groups_work w;
        make(&w, rows[i].scheme, rows[i].how.convrot ? DTYPE_F32 : DTYPE_BF16, x, rows[i].rows, rows[i].cols,
            &rows[i].how);
        CHECK_ROW(decodes(&w, rows[i].hex), rows[i].scheme);
        finish(&w);
    }
}

/* Codes 0 to 7 of one row, or of eight: words of GPTQ and AWQ. All scales are 1: the range is 0 to 15. */
static void
test_packing(void)
{
    const struct encode_options how = { .group_size = 32, .asymmetric = true };
    float x[32 * 32];
    struct groups_work w;
    for (int i = 0; i < 32 * 32; i++)
        x[i] = (float)(i % 32 % 16);
    make(&w, "gptq", DTYPE_F32, x, 32, 32, &how);
    CHECK(load_le32(part(&w, ".qweight")) == 0x76543210 && load_le32(part(&w, ".qweight") + 32 * 4) == 0xfedcba98);
    CHECK(load_le32(part(&w, ".qzeros")) == 0xffffffff);          /* 0 minus one */
    CHECK(load_le32(part(&w, ".g_idx") + 31 * 4) == 0 && load_le16(part(&w, ".scales")) == 0x3c00);
    finish(&w);
    for (int i = 0; i < 32 * 32; i++)
        x[i] = i % 32 == 0 ? 0 : i % 32 == 31 ? 15 : (float)(i / 32 % 8);
    make(&w, "awq", DTYPE_F32, x, 32, 32, &how);
    CHECK(load_le32(part(&w, ".qweight") + 4 * 4) == 0x75316420);
    CHECK(load_le32(part(&w, ".qzeros")) == 0 && load_le16(part(&w, ".scales")) == 0x3c00);
    finish(&w);
}

/* --- pseudorandom values */

static uint32_t state;

static uint32_t
next(void)
{
    return (state = state * 1664525u + 1013904223u) >> 8;
}

/* Output of ModelOpt 0.47.0 for values of several magnitudes. */
static void
test_modelopt(void)
{
    static const struct { const char *scheme, *suffix, *sha256; } rows[] = {
        { "modelopt-mxfp4", ".weight", "1af1f3d4e813a08ca700fe3b0fd10d30" },
        { "modelopt-mxfp4", ".weight_scale", "a0bcdd1b6781b11eb1913485a3832535" },
        { "modelopt-nvfp4", ".weight", "21ba8a0f7260cc1e2b80d39ef1140fe1" },
        { "modelopt-nvfp4", ".weight_scale", "69809b2b326b0b021f4520055c3fa47b" },
        { "modelopt-nvfp4", ".weight_scale_2", "b2efe31fe5c41393c50ddc0e6b73e5b8" },
    };
    enum { ROWS = 64, COLS = 256 };
    static float x[ROWS * COLS];
    const struct encode_options how = { 0 };
    state = 1;
    for (int i = 0; i < ROWS * COLS; i++) {
        int mantissa = (int)next() - (1 << 23);
        x[i] = ldexpf((float)mantissa, -23 - (int)(next() % 8));
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct groups_work w;
        make(&w, rows[i].scheme, DTYPE_F32, x, ROWS, COLS, &how);
        for (unsigned p = 0; p < w.e.nparts; p++) {
            size_t nbytes = (size_t)encode_part_nbytes(&w.e.part[p]);
            if (strcmp(w.e.part[p].name + 1, rows[i].suffix) == 0)
                CHECK_ROW(sha256_starts(rows[i].sha256, w.part[p], nbytes), rows[i].scheme);
        }
        finish(&w);
    }
}

/* --- any range equals that part of the whole */

static void
test_runs_of(const char *scheme, const struct encode_options *how, const float *x, uint64_t rows, uint64_t cols)
{
    struct groups_work w;
    make(&w, scheme, DTYPE_BF16, x, rows, cols, how);
    for (uint64_t i = 0; i < rows * cols; i++)
        if (w.told[i] != 1)
            CHECK_ROW(false, scheme);
    for (unsigned p = 0; p < w.e.nparts; p++) {
        const struct encode_part *part = &w.e.part[p];
        uint64_t nbytes = encode_part_nbytes(part), grains = num_ceil_div(nbytes, part->grain);
        for (int i = 0; !part->bytes && i < 20; i++) {
            uint64_t first = next() % grains, count = 1 + next() % (grains - first);
            uint8_t *y = malloc((size_t)(count * part->grain));
            run(&w, p, first, count, y);
            uint64_t n = num_min(count * part->grain, nbytes - first * part->grain);
            CHECK_ROW(memcmp(y, w.part[p] + first * part->grain, (size_t)n) == 0, part->name);
            free(y);
        }
    }
    finish(&w);
}

static void
test_runs(void)
{
    static const char *const names[] = { "int8-channel", "int4-group", "gptq", "gptq-8bit", "awq", "mxfp4", "mxfp8", "nvfp4",
        "modelopt-mxfp4", "modelopt-nvfp4", "mlx-2bit", "mlx-3bit", "mlx-4bit", "mlx-5bit", "mlx-6bit", "mlx-8bit",
        "comfy-fp8", "comfy-int8", "comfy-mxfp8", "comfy-nvfp4" };
    static const struct { uint64_t rows, cols; } shapes[] = { { 32, 128 }, { 160, 1280 }, { 96, 384 }, { 2080, 128 } };
    static const struct encode_options hows[] = { { 0 }, { .asymmetric = true }, { .group_size = 32 },
        { .convrot = true, .group_size = 64 } };
    float *x = malloc(sizeof *x * 2080 * 1280);
    unsigned schemes = 0;
    for (size_t i = 0; i < 2080 * 1280; i++)
        x[i] = bfloat16_to_float(bfloat16_of_float(((float)next() - 0x1p23f) * 0x1p-23f));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t h = 0; h < sizeof hows / sizeof *hows; h++) {
            struct groups_work w;
            start(&w, names[i], DTYPE_BF16, x, 160, 1280, &hows[h]);
            enum encode_fit fit = w.fit;
            finish(&w);
            schemes += fit == ENCODE_YES;
            for (size_t s = 0; fit == ENCODE_YES && s < sizeof shapes / sizeof *shapes; s++)
                test_runs_of(names[i], &hows[h], x, shapes[s].rows, shapes[s].cols);
        }
    CHECK(schemes >= 35);
    free(x);
}

/* --- weights that are not supported */

static void
test_refused(void)
{
    static const struct {
        const char *scheme;
        uint64_t rows, cols;
        struct encode_options how;
        enum encode_fit fit;
    } rows[] = {
        { "int4-group", 32, 192, { 0 }, ENCODE_NO }, { "int4-group", 33, 256, { .asymmetric = true }, ENCODE_YES },
        { "int4-group", 32, 96, { .group_size = 96 }, ENCODE_FAIL },
        { "int4-group", 32, 96, { .group_size = 32 }, ENCODE_YES },
        { "int8-channel", 32, 33, { 0 }, ENCODE_YES }, { "int8-channel", 32, 64, { .group_size = 32 }, ENCODE_FAIL },
        { "int8-channel", 1, ENCODE_FLOATS + 32, { 0 }, ENCODE_NO },
        { "mxfp4", 32, 48, { 0 }, ENCODE_NO }, { "nvfp4", 32, 48, { 0 }, ENCODE_YES },
        { "mxfp4", 32, 64, { .asymmetric = true }, ENCODE_FAIL }, { "mxfp4", 32, 64, { .group_size = 32 }, ENCODE_YES },
        { "mxfp4", 32, 64, { .group_size = 64 }, ENCODE_FAIL },
        { "gptq", 40, 128, { 0 }, ENCODE_NO }, { "awq", 40, 128, { 0 }, ENCODE_YES },
        { "awq", 36, 128, { 0 }, ENCODE_NO },
        { "awq", 40, 128, { .symmetric = true }, ENCODE_FAIL },
        { "gptq", 64, 4096, { .group_size = 2048 }, ENCODE_FAIL },
        { "mlx-4bit", 7, 64, { 0 }, ENCODE_YES }, { "mlx-4bit", 7, 64, { .group_size = 256 }, ENCODE_FAIL },
        { "mlx-4bit", 7, 96, { 0 }, ENCODE_NO }, { "mlx-4bit", 7, 64, { .convrot = true }, ENCODE_FAIL },
        { "comfy-int8", 7, 512, { .convrot = true }, ENCODE_YES },
        { "comfy-int8", 7, 384, { .convrot = true }, ENCODE_NO },
        { "comfy-int8", 7, 512, { .convrot = true, .group_size = 128 }, ENCODE_FAIL },
        { "comfy-nvfp4", 40, 64, { 0 }, ENCODE_YES }, { "comfy-mxfp8", 48, 65, { 0 }, ENCODE_YES },
        { "comfy-nvfp4", 17, ENCODE_FLOATS + 32, { 0 }, ENCODE_NO },
        { "comfy-fp8", 33, 35, { 0 }, ENCODE_YES },
        { "comfy-fp8", 1, ENCODE_FLOATS + 33, { 0 }, ENCODE_NO }, { "comfy-fp8", 1, ENCODE_FLOATS + 32, { 0 }, ENCODE_YES },
        { "comfy-nvfp4", 16, ENCODE_FLOATS + 16, { 0 }, ENCODE_NO }, { "nvfp4", 1, ENCODE_FLOATS + 16, { 0 }, ENCODE_NO },
    };
    static float x[1];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct groups_work w = { .x = x };
        float *zeros = calloc((size_t)(rows[i].rows * rows[i].cols), sizeof *zeros);
        start(&w, rows[i].scheme, DTYPE_F16, zeros, rows[i].rows, rows[i].cols, &rows[i].how);
        if (!CHECK_ROW(w.fit == rows[i].fit, rows[i].scheme))
            printf("    [%d, %d]: %d\n", (int)rows[i].rows, (int)rows[i].cols, (int)w.fit);
        CHECK_ROW((w.fit == ENCODE_NO) == (w.e.why != NULL), rows[i].scheme);
        CHECK_ROW((w.fit == ENCODE_FAIL) == (w.err.kind == ERR_USAGE), rows[i].scheme);
        finish(&w);
        free(zeros);
    }
}

static void
test_config(void)
{
    static const struct { const char *scheme; struct encode_options how; const char *text; } rows[] = {
        { "gptq", { 0 }, "{\"quant_method\": \"gptq\", \"bits\": 4, \"group_size\": 128, \"desc_act\": false, "
            "\"sym\": true, \"checkpoint_format\": \"gptq\"}" },
        { "awq", { .group_size = 64 }, "{\"quant_method\": \"awq\", \"bits\": 4, \"group_size\": 64, "
            "\"zero_point\": true, \"version\": \"gemm\", \"modules_to_not_convert\": null}" },
        { "mlx-3bit", { 0 }, "{\"group_size\": 64, \"bits\": 3, \"mode\": \"affine\"}" },
        { "int4-group", { .group_size = 32, .asymmetric = true }, "{\"config_groups\": {\"group_0\": {\"targets\": "
            "[\"Linear\"], \"weights\": {\"num_bits\": 4, \"type\": \"int\", \"symmetric\": false, \"group_size\": 32, "
            "\"strategy\": \"group\", \"dynamic\": false}, \"input_activations\": null, \"output_activations\": null}}, \"quant_method\": "
            "\"compressed-tensors\", \"kv_cache_scheme\": null, \"format\": \"pack-quantized\", "
            "\"quantization_status\": \"compressed\", \"global_compression_ratio\": null, \"ignore\": [\"lm_head\"]}" },
    };
    float *x = calloc(32 * 128, sizeof *x);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct groups_work w;
        struct str text = { 0 };
        start(&w, rows[i].scheme, DTYPE_BF16, x, 32, 128, &rows[i].how);
        const struct hf_quantizer *q = hf_quantizer_of(w.e.encoder);
        struct hf_module_group group = { .e = &w.e, .quantizer = q };
        q->loader->config(&text, &(const struct hf_modules){ .group = &group, .n = 1 });
        if (!CHECK_ROW(text.p && strcmp(text.p, rows[i].text) == 0, rows[i].scheme))
            printf("    %s\n", text.p ? text.p : "nothing");
        str_clear(&text);
        finish(&w);
    }
    free(x);
}

/* --- casts */

/* Every code, the midpoint between two, and the neighbouring floats. */
static void
test_rounded(void)
{
    for (uint32_t code = 0; code <= HALF_INF; code++) {
        float v = half_to_float((uint16_t)code);
        float above = code == HALF_INF - 1 ? 65536 : half_to_float((uint16_t)(code + 1));
        float half = code < HALF_INF ? v + (above - v) / 2 : 1e30f;
        const float near[] = { v, half, nextafterf(half, 0), nextafterf(half, INFINITY), nextafterf(v, INFINITY) };
        for (size_t i = 0; i < sizeof near / sizeof *near; i++) {
            CHECK(bits_of_float(rounded(DTYPE_F16, near[i])) == bits_of_float(half_to_float(half_of_float(near[i]))));
            CHECK(bits_of_float(rounded(DTYPE_F16, -near[i])) == bits_of_float(half_to_float(half_of_float(-near[i]))));
        }
    }
    CHECK(bits_of_float(rounded(DTYPE_F16, -NAN)) == 0x7FC00000 && rounded(DTYPE_F16, 0x1p-149f) == 0);
}

static void
test_e4m3(void)
{
    for (unsigned code = 0; code < 0x7F; code++) {
        float v = float8_to_float(DTYPE_F8_E4M3, (uint8_t)code);
        float above = code == 0x7E ? 480 : float8_to_float(DTYPE_F8_E4M3, (uint8_t)(code + 1)), half = (v + above) / 2;
        CHECK(e4m3_of_float(v) == code && e4m3_of_float(-v) == (code | 0x80));
        CHECK(e4m3_of_float(half) == code + (code & 1));
        CHECK(e4m3_of_float(nextafterf(half, 0)) == code && e4m3_of_float(nextafterf(half, INFINITY)) == code + 1);
    }
    CHECK(e4m3_of_float(INFINITY) == 0x7F && e4m3_of_float(-INFINITY) == 0xFF && e4m3_of_float(-NAN) % 128 == 0x7F);
}

static void
test_mx_ceil(void)
{
    for (int k = -126; k < 127; k++) {
        float power = ldexpf(1, k);
        CHECK(encode_mx_ceil(power) == k + 127);
        CHECK(encode_mx_ceil(nextafterf(power, 0)) == k + 127);
        CHECK(encode_mx_ceil(power * 1.00001f) == k + 128);
        for (float f = power; f < power * 1.000003f; f = nextafterf(f, INFINITY))
            CHECK(encode_mx_ceil(f) == (int)ceilf((float)log2(f)) + 127);
    }
    CHECK(encode_mx_ceil(0) == 0 && encode_mx_ceil(0x1p-140f) == 0 && encode_mx_ceil(0x1.8p127f) == 254);
    CHECK(encode_mx_ceil(NAN) == 0 && encode_mx_ceil(INFINITY) == 254);
}

int
main(void)
{
    struct err err;
    err_init(&err);
    kernels = kernels_pick(NULL, &err);
    test_golden();
    test_golden_gptq();
    test_decoded();
    test_packing();
    test_modelopt();
    test_runs();
    test_refused();
    test_config();
    test_rounded();
    test_e4m3();
    test_mx_ceil();
    return check_done("test_encode_groups");
}
