/* Tensors that are not row-major: layouts merged, gathered byte by byte, and as pieces through the pipeline, each against
 * indices counted one by one. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/num.h"
#include "dtype/bfloat16.h"
#include "container/gather.h"
#include "pipeline/encoder.h"
#include "pipeline/pipeline.h"
#include "pipeline/verify.h"
#include "kernel/crc.h"

enum { FILE_BYTES = 3 << 20, AT = 24, RANK = 5 };

static uint8_t file[FILE_BYTES];
static struct source *src;

static uint32_t
random_below(uint32_t n)
{
    static uint32_t state = 7;
    state = state * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)(state >> 4) * n >> 28);
}

/* --- layouts */

struct case_ {
    uint32_t rank;
    uint64_t size[RANK], stride[RANK];
    enum dtype dtype;
};

static uint64_t
numel(const struct case_ *c)
{
    uint64_t n = 1;
    for (uint32_t i = 0; i < c->rank; i++)
        n *= c->size[i];
    return n;
}

/* Returns the position of element i, by the definition of strides. */
static uint64_t
place(const struct case_ *c, uint64_t i)
{
    uint64_t at = 0;
    for (uint32_t d = c->rank; d-- > 0; i /= c->size[d])
        at += i % c->size[d] * c->stride[d];
    return at;
}

/* Makes sizes and strides of a torch view: of a base that is permuted, sliced with steps, expanded. */
static void
make_case(struct case_ *c, uint64_t most)
{
    static const enum dtype dtypes[] = { DTYPE_U8, DTYPE_BF16, DTYPE_F32, DTYPE_F64 };
    uint64_t stride = 1;
    c->rank = random_below(RANK + 1);
    c->dtype = dtypes[random_below(4)];
    for (uint32_t i = c->rank; i-- > 0;) {
        uint64_t base = 1 + random_below((uint32_t)most), step = random_below(4) == 0 ? 1 + random_below(3) : 1;
        c->size[i] = num_ceil_div(base, step);
        c->stride[i] = random_below(12) == 0 ? 0 : stride * step;
        stride *= base;
    }
    for (uint32_t i = c->rank; i > 1 && random_below(2); i--) {
        uint32_t k = random_below(i);
        uint64_t size = c->size[k], s = c->stride[k];
        c->size[k] = c->size[i - 1];
        c->stride[k] = c->stride[i - 1];
        c->size[i - 1] = size;
        c->stride[i - 1] = s;
    }
}

static void
check_layout(const struct case_ *c, const struct layout *l)
{
    uint64_t n = numel(c), last = 0, extent;
    bool same = true;
    for (uint64_t i = 0; i < n; i += 1 + n / 500) {
        same = same && layout_at(l, i) == place(c, i);
    }
    for (uint32_t d = 0; d < c->rank; d++)
        last += (c->size[d] - 1) * c->stride[d];
    CHECK(same);
    CHECK(layout_extent(l, &extent) && extent == last + 1);
}

/* --- bytes */

static struct tensor
tensor_of(const struct case_ *c, const struct layout *l)
{
    return (struct tensor){ .name = "t", .name_len = 1, .dtype = c->dtype, .layout = layout_is_plain(l) ? NULL : l,
        .extent = { 0, AT, numel(c) * dtype_facts(c->dtype)->bytes } };
}

static uint8_t *
expected(const struct case_ *c)
{
    uint64_t n = numel(c), item = dtype_facts(c->dtype)->bytes;
    uint8_t *y = malloc((size_t)(n * item));
    for (uint64_t i = 0; i < n; i++)
        memcpy(y + i * item, file + AT + place(c, i) * item, (size_t)item);
    return y;
}

static void
check_gather(const struct case_ *c, const struct layout *l)
{
    const struct tensor t = tensor_of(c, l);
    uint8_t *want = expected(c), *got = malloc((size_t)t.extent.nbytes);
    struct err err;
    err_init(&err);
    CHECK(gather(src, &t, 0, got, (size_t)t.extent.nbytes, &err) && memcmp(got, want, (size_t)t.extent.nbytes) == 0);
    for (int i = 0; i < 4; i++) {
        size_t from = random_below((uint32_t)t.extent.nbytes), n = random_below((uint32_t)(t.extent.nbytes - from) + 1);
        CHECK(gather(src, &t, from, got, n, &err) && memcmp(got, want + from, n) == 0);
    }
    free(want);
    free(got);
}

/* --- pieces */

static bool
make_bytes(const struct model *model, const struct pieces *pieces, uint64_t from, uint64_t to, unsigned jobs,
    uint8_t *y, struct err *err)
{
    char path[] = "/tmp/test_layout.XXXXXX";
    int fd = mkstemp(path);
    const struct sink_options out = { .path = path };
    struct pipeline p = { .model = (struct model *)model, .pieces = pieces, .kernels = kernels_pick(NULL, err), .encode = &encoder,
        .from = from, .to = to, .jobs = jobs };
    bool ok = sink_open(&p.sink, &out, err) && pipeline_run(&p, err) && sink_commit(p.sink, err);
    sink_close(p.sink);
    int made = open(path, O_RDONLY);
    ok = ok && pread(made, y, (size_t)(to - from) + 1, 0) == (ssize_t)(to - from);
    close(made);
    close(fd);
    unlink(path);
    return ok;
}

static void
check_piece(const struct case_ *c, const struct layout *l, uint8_t sign)
{
    struct err err;
    err_init(&err);
    uint8_t dims[RANK * SHAPE_DIM];
    shape_pack(dims, c->size, c->rank);
    struct tensor t = tensor_of(c, l);
    t.shape = (struct shape){ c->rank, dims };
    t.sign = sign;
    struct catalog *catalog = catalog_new(&limits_default, &err);
    const struct extent all = { 0, 0, FILE_BYTES };
    bool ok = catalog_add_check(catalog, &all, crc_add(0, file, FILE_BYTES), &err) && catalog_add(catalog, &t, &err)
        && catalog_seal(catalog, &err);
    const struct model model = { .src = &src, .nsrc = 1, .nfiles = 1, .catalog = catalog,
        .container = &(const struct container){ .tail_ok = true } };
    const struct chosen chosen = { .copy = catalog_at(catalog, 0), .dtype = c->dtype };
    struct pieces *pieces = pieces_new(&err);
    uint8_t *want = expected(c), *got = malloc((size_t)t.extent.nbytes + 1);
    size_t item = dtype_facts(c->dtype)->bytes;
    for (size_t i = 0; sign && i < t.extent.nbytes; i += item)
        want[i + item - 1] ^= 0x80;
    ok = ok && pieces_chosen(pieces, &chosen, &err);
    uint64_t n = t.extent.nbytes, from = random_below((uint32_t)n), to = from + random_below((uint32_t)(n - from) + 1);
    CHECK(ok && make_bytes(&model, pieces, 0, n, 1 + random_below(2), got, &err) && memcmp(got, want, (size_t)n) == 0);
    CHECK(make_bytes(&model, pieces, from, to, 1, got, &err) && memcmp(got, want + from, (size_t)(to - from)) == 0);
    free(want);
    free(got);
    pieces_free(pieces);
    catalog_free(catalog);
}

/* A composed tensor of two BF16 matrices, transposed, or rows of them, with one added to each element. */
static void
check_composed(uint64_t rows, uint64_t cols, bool transposed)
{
    static const struct operation one = { OPERATION_ADD, 1 };
    const struct case_ c = { 2, { rows, cols }, { cols, 1 }, DTYPE_BF16 };
    uint64_t keep = transposed ? rows : rows / 2 + 1, n = 2 * keep * cols;
    uint8_t dims[RANK * SHAPE_DIM], shape[RANK * SHAPE_DIM];
    struct composed_part part[2];
    struct err err;
    err_init(&err);
    struct catalog *catalog = catalog_new(&limits_default, &err);
    struct tensor t = tensor_of(&c, &(const struct layout){ .rank = 0 });
    shape_pack(dims, c.size, 2);
    t.shape = (struct shape){ 2, dims };
    shape_pack(shape, (const uint64_t[]){ n }, 1);
    float *want = malloc(n * sizeof *want), *got = malloc((n + 1) * sizeof *got);
    for (uint64_t k = 0; k < 2; k++) {
        struct strided s;
        t.extent.at = AT + k * rows * cols * 2;
        t.name = k == 0 ? "a" : "b";
        CHECK(catalog_add(catalog, &t, &err));
        strided_init(&s, c.size, 2);
        CHECK(transposed || strided_slice(&s, 0, 1 - k, keep));
        if (transposed)
            strided_permute(&s, 0, (const uint32_t[]){ 1, 0 }, 2);
        for (uint64_t i = 0; i < keep * cols; i++) {
            uint64_t at = transposed ? i % rows * cols + i / rows : i + (1 - k) * cols;
            want[k * keep * cols + i] = bfloat16_to_float(load_le16(file + t.extent.at + at * 2)) + 1;
        }
        CHECK(composed_part_make(&part[k], catalog_at(catalog, (uint32_t)k), NULL, &s, catalog, &err));
        part[k].op = &one;
        part[k].nops = 1;
    }
    part[1].end += part[0].end;
    CHECK(part[1].end == n && catalog_seal(catalog, &err));
    const struct composed composed = { .shape = { 1, shape }, .part = part, .n = 2 };
    const struct model model = { .src = &src, .nsrc = 1, .nfiles = 1, .catalog = catalog,
        .container = &(const struct container){ .tail_ok = true } };
    const struct chosen chosen = { .composed = &composed, .dtype = DTYPE_F32, .name = "c", .name_len = 1 };
    struct pieces *pieces = pieces_new(&err);
    CHECK(pieces_chosen(pieces, &chosen, &err) && pieces_nbytes(pieces) == n * sizeof *want);
    for (int i = 0; i < 8; i++) {
        uint64_t all = n * sizeof *want, from = i == 0 ? 0 : random_below((uint32_t)all);
        uint64_t to = i == 0 ? all : from + random_below((uint32_t)(all - from) + 1);
        CHECK(make_bytes(&model, pieces, from, to, 1 + random_below(2), (uint8_t *)got, &err)
            && memcmp(got, (const uint8_t *)want + from, (size_t)(to - from)) == 0);
    }
    free(want);
    free(got);
    pieces_free(pieces);
    catalog_free(catalog);
}

/* A wrong checksum is detected, except by a range that does not read all of it. */
static void
check_checksum(void)
{
    const struct case_ c = { 1, { FILE_BYTES / 2 }, { 1 }, DTYPE_U8 };
    struct err err;
    err_init(&err);
    uint8_t dims[SHAPE_DIM], *got = malloc(FILE_BYTES);
    shape_pack(dims, c.size, c.rank);
    for (int broken = 0; broken < 2; broken++) {
        const struct tensor t = { .name = "t", .name_len = 1, .dtype = DTYPE_U8, .shape = { 1, dims },
            .extent = { 0, AT, c.size[0] } };
        struct catalog *catalog = catalog_new(&limits_default, &err);
        const struct extent member = { 0, AT - 8, c.size[0] + 16 };
        uint32_t crc = crc_add(0, file + member.at, (size_t)member.nbytes) ^ (uint32_t)broken;
        CHECK(catalog_add_check(catalog, &member, crc, &err) && catalog_add(catalog, &t, &err) && catalog_seal(catalog, &err));
        const struct model model = { .src = &src, .nsrc = 1, .nfiles = 1, .catalog = catalog,
            .container = &(const struct container){ .tail_ok = true } };
        struct pieces *pieces = pieces_new(&err);
        CHECK(pieces_chosen(pieces, &(const struct chosen){ .copy = catalog_at(catalog, 0), .dtype = DTYPE_U8 }, &err));
        CHECK(make_bytes(&model, pieces, 5, c.size[0], 2, got, &err));
        CHECK(make_bytes(&model, pieces, 0, c.size[0], 2, got, &err) == !broken);
        CHECK(err.kind == (broken ? ERR_MALFORMED : ERR_NONE));
        pieces_free(pieces);
        catalog_free(catalog);
        err_init(&err);
    }
    free(got);
}

int
main(void)
{
    struct err err;
    char path[32];
    err_init(&err);
    for (size_t i = 0; i < FILE_BYTES; i++)
        file[i] = (uint8_t)random_below(256);
    int fd = memfd_create("layout", 0);
    CHECK(fd >= 0 && write(fd, file, FILE_BYTES) == FILE_BYTES);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    CHECK(source_open(&src, path, false, NULL, &err));
    for (int i = 0; i < 400; i++) {
        struct case_ c;
        struct layout l;
        do
            make_case(&c, i % 50 == 0 ? 20 : 9);
        while (numel(&c) * dtype_facts(c.dtype)->bytes > FILE_BYTES / 2 || place(&c, numel(&c) - 1) * 8 > FILE_BYTES - 100);
        layout_make(&l, c.size, c.stride, c.rank);
        check_layout(&c, &l);
        check_gather(&c, &l);
        if (i % 8 == 0)
            check_piece(&c, &l, i % 16 == 0 && c.dtype != DTYPE_U8 ? TENSOR_NEGATED : 0);
    }
    /* Transposed matrices, which are read in panels; large ones with distant rows. */
    for (uint64_t m = 1; m <= 3; m++)
        for (uint64_t rows = 200; rows < 700; rows += 211) {
            struct layout l;
            const struct case_ c = { 3, { m, rows, 300 }, { rows * 300, 1, rows }, DTYPE_F32 };
            layout_make(&l, c.size, c.stride, c.rank);
            check_piece(&c, &l, (uint8_t)(m == 2));
        }
    /* Dense arrays with permuted dimensions: Fortran order, heads and positions, channels last ... */
    for (int i = 0; i < 120; i++) {
        static const enum dtype dtypes[] = { DTYPE_U8, DTYPE_BF16, DTYPE_F32, DTYPE_C64 };
        struct case_ c = { .rank = 2 + random_below(RANK - 1), .dtype = dtypes[random_below(4)] };
        struct layout l;
        uint32_t place_of[RANK];
        uint64_t stored[RANK], stride = 1;
        for (uint32_t d = 0; d < c.rank; d++) {
            uint32_t k = random_below(d + 1);
            place_of[d] = place_of[k];
            place_of[k] = d;
            stored[d] = 1 + random_below(c.rank > 3 ? 9 : 50);
        }
        for (uint32_t d = c.rank; d-- > 0; stride *= stored[d]) {
            uint32_t to = i % 3 == 0 ? c.rank - 1 - d : place_of[d];
            c.size[to] = stored[d];
            c.stride[to] = stride;
        }
        layout_make(&l, c.size, c.stride, c.rank);
        check_gather(&c, &l);
        check_piece(&c, &l, i % 5 == 0 && c.dtype != DTYPE_U8 && c.dtype != DTYPE_C64 ? TENSOR_NEGATED : 0);
    }
    for (uint64_t rows = 3; rows < 700; rows += 173) {
        check_composed(rows, 301, false);
        check_composed(rows, 301, true);
        check_composed(301, rows, true);
    }
    check_checksum();
    source_close(src);
    close(fd);
    return check_done("layout");
}
