/* Joints of the frame that no tool reaches: views, late pieces and hooks, padding; and cuts. */
#include "check.h"
#include "gguf_expected.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/bytes.h"
#include "base/num.h"
#include "pipeline/checksum.h"
#include "pipeline/pipeline.h"
#include "plan/byte_range.h"
#include "writer/writer.h"

static const struct kernels *kernels;

/* Makes a temporary file with these bytes; its name is in path. */
static void
make_file(char path[32], const void *bytes, size_t n)
{
    strcpy(path, "/tmp/test_pieces.XXXXXX");
    int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
    close(fd);
}

static bool
open_model(struct model *model, const char *path)
{
    const struct model_options how = { .limits = &limits_default, .config = "none" };
    struct err err;
    err_init(&err);
    return CHECK(model_open(model, path, &how, &err));
}

/* Returns bytes [from, to) of pieces, as the pipeline writes them to a file. The caller frees them. NULL on failure, with
 * *kind set. */
static uint8_t *
run(struct model *model, const struct pieces *pieces, uint64_t from, uint64_t to, unsigned jobs, enum err_kind *kind)
{
    char path[32];
    struct err err;
    uint8_t *bytes = malloc((size_t)(to - from) + 1);
    err_init(&err);
    make_file(path, "", 0);
    const struct sink_options out = { .path = path };
    struct pipeline p = { .model = model, .pieces = pieces, .kernels = kernels, .from = from, .to = to, .jobs = jobs };
    bool ok = sink_open(&p.sink, &out, &err) && pipeline_run(&p, &err) && sink_commit(p.sink, &err);
    sink_close(p.sink);
    FILE *f = fopen(path, "rb");
    ok = ok && f && fread(bytes, 1, (size_t)(to - from) + 1, f) == to - from;
    if (f)
        fclose(f);
    unlink(path);
    *kind = err.kind;
    if (!ok)
        free(bytes);
    return ok ? bytes : NULL;
}

static bool
is_run(struct model *model, const struct pieces *pieces, uint64_t from, uint64_t to, unsigned jobs,
    const uint8_t *want)
{
    enum err_kind kind;
    uint8_t *got = run(model, pieces, from, to, jobs, &kind);
    bool same = got && memcmp(got, want + from, (size_t)(to - from)) == 0;
    free(got);
    return same;
}

/* Checks random ranges with different numbers of workers. */
static void
check_ranges(struct model *model, const struct pieces *pieces, const uint8_t *want)
{
    uint64_t size = pieces_nbytes(pieces);
    uint32_t state = 1;
    for (unsigned jobs = 1; jobs <= 3; jobs++)
        CHECK(is_run(model, pieces, 0, size, jobs, want));
    for (int i = 0; i < 24; i++) {
        state = state * 1664525u + 1013904223u;
        uint64_t from = state % size, to = from + num_min(state >> 8, size - from);
        CHECK(is_run(model, pieces, from, to, 1 + i % 3, want));
    }
}

/* --- a safetensors file of one tensor */

/* Returns a file of *n bytes with a tensor "x" of these dimensions and data. */
static uint8_t *
one_tensor(const char *dtype, const char *shape, const uint8_t *data, size_t nbytes, size_t *n)
{
    char json[256];
    int len = snprintf(json, sizeof json, "{\"x\":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[0,%zu]}}", dtype, shape,
        nbytes);
    uint8_t *file = malloc(8 + (size_t)len + nbytes);
    store_le64(file, (uint64_t)len);
    memcpy(file + 8, json, (size_t)len);
    memcpy(file + 8 + len, data, nbytes);
    *n = 8 + (size_t)len + nbytes;
    return file;
}

static uint8_t *
noise(size_t n)
{
    uint8_t *p = malloc(n);
    uint32_t state = 7;
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)((state = state * 1664525u + 1013904223u) >> 24);
    return p;
}

/* --- views */

static const struct view_row {
    const char *dtype, *shape;
    uint64_t matrices, rows, cols, unit;
} views[] = {
    { "F32", "[3,5,7]", 3, 5, 7, 4 },
    { "U8", "[1,1000]", 1, 1, 1000, 1 },
    { "BF16", "[2,300,1]", 2, 300, 1, 2 },
    { "I64", "[129,65]", 1, 129, 65, 8 },
    { "F16", "[2100,1030]", 1, 2100, 1030, 2 },         /* more than one panel, and rows longer than a slab */
    { "U8", "[5,1500000]", 1, 5, 1500000, 1 },          /* a stored row longer than the staging buffer */
};

static void
test_view(const struct view_row *v)
{
    char path[32];
    struct model model = { 0 };
    struct err err;
    err_init(&err);
    size_t nbytes = (size_t)(v->matrices * v->rows * v->cols * v->unit), n;
    uint8_t *data = noise(nbytes), *want = malloc(nbytes), *file = one_tensor(v->dtype, v->shape, data, nbytes, &n);
    for (uint64_t m = 0; m < v->matrices; m++)
        for (uint64_t r = 0; r < v->rows; r++)
            for (uint64_t c = 0; c < v->cols; c++)
                memcpy(want + ((m * v->cols + c) * v->rows + r) * v->unit,
                    data + ((m * v->rows + r) * v->cols + c) * v->unit, (size_t)v->unit);
    make_file(path, file, n);
    struct pieces *pieces = pieces_new(&err);
    if (open_model(&model, path)) {
        const struct piece_view view = { catalog_at(model.catalog, 0), v->matrices, v->rows, v->cols, 1, NULL };
        CHECK(pieces_view(pieces, &view, &err) && pieces_nbytes(pieces) == nbytes);
        check_ranges(&model, pieces, want);
    }
    pieces_free(pieces);
    model_clear(&model);
    unlink(path);
    free(file);
    free(want);
    free(data);
}

/* --- late pieces: checksums of the bytes before them, from hooks as a writer would add them */

/* Accumulates the CRC-32 of all bytes of the output except the checksums themselves, which are big-endian. */
struct sum {
    uint32_t crc;
    bool skip;                  /* the next piece is a checksum */
};

static void
sum_see(void *of, uint64_t at, const uint8_t *p, size_t n, uint64_t digest)
{
    struct sum *s = of;
    (void)at, (void)digest;
    if (!s->skip)
        s->crc = (uint32_t)crc32(s->crc, p, (uInt)n);
    s->skip = false;
}

static void
sum_make(void *of, uint64_t from, uint8_t *y, size_t n)
{
    struct sum *s = of;
    for (size_t i = 0; i < n; i++)
        y[i] = (uint8_t)(s->crc >> (24 - 8 * (from + i)));
    s->skip = true;
}

static void
store_be32(uint8_t *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> (24 - 8 * i));
}

/* Makes the pieces TEXT, COPY, LATE, ZERO, LATE, with `pad` zeros, and the expected bytes in `want`. */
static struct pieces *
sum_pieces(struct model *model, const uint8_t *data, size_t nbytes, uint64_t pad, const struct late *late,
    uint8_t *want)
{
    const struct tensor *t = catalog_at(model->catalog, 0);
    const struct chosen chosen = { .copy = t, .dtype = t->dtype };
    struct str text = { 0 };
    struct err err;
    err_init(&err);
    struct pieces *p = pieces_new(&err);
    str_text(&text, "header");
    CHECK(pieces_text(p, &text, &err) && pieces_chosen(p, &chosen, &err) && pieces_late(p, late, 4, &err)
        && pieces_zero(p, pad, &err) && pieces_late(p, late, 4, &err));
    memcpy(want, "header", 6);
    memcpy(want + 6, data, nbytes);
    uint32_t crc = (uint32_t)crc32(0, want, (uInt)(6 + nbytes));
    store_be32(want + 6 + nbytes, crc);
    memset(want + 10 + nbytes, 0, (size_t)pad);
    crc = (uint32_t)crc32(crc, want + 10 + nbytes, (uInt)pad);
    store_be32(want + 10 + nbytes + pad, crc);
    return p;
}

/* `nbytes` of data, so that the first checksum is within a block, at its edge, or across two. */
static void
test_late(size_t nbytes)
{
    enum { PAD = 700001 };
    char path[32], shape[32];
    struct model model = { 0 };
    struct sum sum = { 0 };
    const struct late late = { sum_make, &sum };
    const struct hook hook = { .see = sum_see, .of = &sum };
    size_t n;
    snprintf(shape, sizeof shape, "[%zu]", nbytes);
    uint8_t *data = noise(nbytes), *want = malloc(nbytes + PAD + 14), *file = one_tensor("U8", shape, data, nbytes, &n);
    make_file(path, file, n);
    if (open_model(&model, path)) {
        struct pieces *p = sum_pieces(&model, data, nbytes, PAD, &late, want);
        uint64_t size = pieces_nbytes(p), first = 6 + nbytes;
        enum err_kind kind;
        pieces_hook(p, &hook);
        for (unsigned jobs = 1; jobs <= 3; jobs++) {
            sum = (struct sum){ 0 };
            CHECK(is_run(&model, p, 0, size, jobs, want));
        }
        sum = (struct sum){ 0 };
        CHECK(is_run(&model, p, 0, first + 2, 2, want));            /* a part that starts at the beginning */
        CHECK(is_run(&model, p, 3, first, 2, want));                /* a part without a checksum */
        CHECK(is_run(&model, p, first + 4, size - 4, 2, want));
        CHECK(!run(&model, p, 1, size, 2, &kind) && kind == ERR_UNSUPPORTED);
        CHECK(!run(&model, p, first + 3, first + 9, 2, &kind) && kind == ERR_UNSUPPORTED);
        pieces_free(p);
    }
    model_clear(&model);
    unlink(path);
    free(file);
    free(want);
    free(data);
}

/* The checksum of a whole output is the checksum of its bytes, for any number of workers. */
static void
test_checksum(void)
{
    enum { N = 1700000 };
    uint8_t *data = noise(N);
    struct checksum sum = { .kernels = kernels };
    struct hook hook = checksum_hook(&sum);
    for (size_t at = 0, n; at < N; at += n) {
        n = at % 7 == 0 ? 524288 : 100001;
        n = (size_t)num_min(n, N - at);
        hook.see(hook.of, at, data + at, n, hook.digest(hook.of, at, data + at, n));
    }
    CHECK(sum.crc == crc32(0, data, N));
    free(data);
}

/* --- the second writer */

static void
test_gguf(void)
{
    const struct keys_given nothing = { 0 };
    struct keys keys = { 0 };
    const struct writer_options options = { .order = WRITER_ORDER_INPUT, .keys = &keys };
    char path[32];
    struct model model = { 0 };
    struct roles *roles = NULL;
    struct choice choice = { 0 };
    struct err err;
    err_init(&err);
    make_file(path, gguf_expected, sizeof gguf_expected);
    struct pieces *p = pieces_new(&err);
    if (open_model(&model, path) && CHECK(roles_assign(&roles, model.catalog, NULL, NULL, &err))
        && CHECK(choice_make(&choice, model.catalog, roles, KEEPS_NONE, DTYPE_BF16, false, &err))
        && CHECK(keys_make(&keys, KEYS_TYPED, &nothing, &choice, &err))
        && CHECK(writer_gguf.lay_out(p, &choice, &options, &err) && pieces_nbytes(p) == sizeof gguf_expected))
        check_ranges(&model, p, gguf_expected);
    pieces_free(p);
    keys_clear(&keys);
    choice_clear(&choice);
    roles_free(roles);
    model_clear(&model);
    unlink(path);
}

/* Limits of the format, and the end of the output. */
static void
test_gguf_limits(void)
{
    static const uint8_t dims[] = { 1, 1, 1, 1, 1 };
    static const char name[] = "0123456789012345678901234567890123456789012345678901234567890123";
    static const struct { struct tensor t; enum err_kind kind; } rows[] = {
        { { .name = name, .name_len = 63, .dtype = DTYPE_F32, .shape = { 4, dims } }, ERR_NONE },
        { { .name = name, .name_len = 64, .dtype = DTYPE_F32, .shape = { 4, dims } }, ERR_UNSUPPORTED },
        { { .name = name, .name_len = 1, .dtype = DTYPE_F32, .shape = { 5, dims } }, ERR_UNSUPPORTED },
        { { .name = name, .name_len = 1, .dtype = DTYPE_U8, .shape = { 1, dims } }, ERR_UNSUPPORTED },
        { { .name = name, .name_len = 1, .dtype = DTYPE_F16, .shape = { 0, dims } }, ERR_NONE },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct writer_options options = { .order = WRITER_ORDER_INPUT };
        struct chosen chosen = { .copy = &rows[i].t, .dtype = rows[i].t.dtype };
        struct err err;
        err_init(&err);
        struct catalog *c = catalog_new(&limits_default, &err);
        struct choice choice = { .input = c, .list = &chosen, .n = 1 };
        struct pieces *p = pieces_new(&err);
        CHECK(writer_gguf.lay_out(p, &choice, &options, &err) == (rows[i].kind == ERR_NONE));
        CHECK(err.kind == rows[i].kind && (err.kind != ERR_NONE || pieces_nbytes(p) % 32 == 0));
        pieces_free(p);
        catalog_free(c);
    }
}

/* --- cuts */

static void
test_cuts(void)
{
    static const uint64_t sizes[] = { 0, 1, 511, 512, 513, 4096, 100000 };
    struct err err;
    err_init(&err);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (uint64_t n = 1; n < 300; n += n < 10 ? 1 : 37) {
            uint64_t end = 0, least = UINT64_MAX, most = 0;
            for (uint64_t i = 1; i <= n; i++) {
                const struct byte_range cut = { .part = i, .parts = n };
                uint64_t from, to;
                CHECK(byte_range_find(&cut, sizes[s], 512, &from, &to, &err) && from == end && to >= from);
                CHECK(to == sizes[s] || to % 512 == 0);
                least = num_min(least, num_ceil_div(to - from, 512));
                most = num_max(most, num_ceil_div(to - from, 512));
                end = to;
            }
            CHECK(end == sizes[s] && most - least <= 1);
        }
    for (uint64_t size = 0; size < 50; size++)
        for (uint64_t each = 1; each < 60; each++) {
            struct byte_range cut = { .part_size = each };
            uint64_t n = byte_range_parts(&cut, size), end = 0, from, to;
            for (cut.part = 1; cut.part <= n; cut.part++) {
                CHECK(byte_range_find(&cut, size, 512, &from, &to, &err) && from == end);
                CHECK(to - from == each || (cut.part == n && to == size));
                end = to;
            }
            CHECK(end == size);
        }
}

int
main(void)
{
    struct err err;
    err_init(&err);
    kernels = kernels_pick(NULL, &err);
    if (!CHECK(kernels != NULL))
        return check_done("test_pieces");
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        test_view(&views[i]);
    test_late(100);
    for (size_t edge = 0; edge < 8; edge++)
        test_late(2 * PIPELINE_BLOCK - 6 - edge);
    test_checksum();
    test_gguf();
    test_gguf_limits();
    test_cuts();
    return check_done("test_pieces");
}
