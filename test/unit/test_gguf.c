/* Metadata values as GGUF stores them, and what the reader makes of small files, valid and malformed
 * (doc/gguf.md, Container), both in either byte order. The corpus has many more files. */
#include "check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "container/container.h"

enum { ROOM = 4096, DEPTH = 4, ALIGN = 32 };

/* --- a GGUF file, written as a list of numbers ------------------------------------------------------------ */

struct out {
    uint8_t p[ROOM];
    size_t n;
    bool big;
};

static void
put(struct out *o, unsigned nbytes, uint64_t v)
{
    for (unsigned i = 0; i < nbytes; i++)
        o->p[o->n++] = (uint8_t)(v >> 8 * (o->big ? nbytes - 1 - i : i));
}

static void
put_text(struct out *o, const char *text)
{
    put(o, 8, strlen(text));
    memcpy(o->p + o->n, text, strlen(text));
    o->n += strlen(text);
}

static void
put_array(struct out *o, enum meta_type type, uint64_t count)
{
    put(o, 4, type);
    put(o, 8, count);
}

static void
put_header(struct out *o, bool big, uint64_t ntensors, uint64_t nkeys)
{
    *o = (struct out){ .n = 4, .big = big };
    memcpy(o->p, "GGUF", 4);
    put(o, 4, 3);
    put(o, 8, ntensors);
    put(o, 8, nkeys);
}

static void
put_tensor(struct out *o, const char *name, uint64_t ne0, uint64_t ne1, uint32_t id, uint64_t offset)
{
    put_text(o, name);
    put(o, 4, 2);
    put(o, 8, ne0);
    put(o, 8, ne1);
    put(o, 4, id);
    put(o, 8, offset);
}

/* Writes zeros up to the data, and `nbytes` of data. */
static void
put_data(struct out *o, size_t nbytes)
{
    o->n = (o->n + ALIGN - 1) / ALIGN * ALIGN + nbytes;
}

/* --- values ----------------------------------------------------------------------------------------------- */

/* Decodes p[0..n) from a block of exactly that size, so that a sanitizer detects a read past its end. */
static bool
decode(struct meta_value *value, enum meta_type type, const struct out *o, size_t n, unsigned depth)
{
    uint64_t used = UINT64_MAX;
    uint8_t *p = malloc(n ? n : 1);
    memcpy(p, o->p, n);
    bool ok = meta_decode(value, type, p, n, o->big, depth, &used);
    free(p);                    /* strings and arrays of the value are not compared */
    return ok && CHECK(used == n);
}

static bool
all_cuts_fail(enum meta_type type, const struct out *o)
{
    struct meta_value value;
    for (size_t n = 0; n < o->n; n++)
        if (decode(&value, type, o, n, DEPTH))
            return false;
    return decode(&value, type, o, o->n, DEPTH);
}

static void
test_scalars(bool big)
{
    static const struct { enum meta_type type; unsigned nbytes; uint64_t bits; uint64_t u; double f; } rows[] = {
        { META_U8, 1, 0xfe, 0xfe, 0 },
        { META_I8, 1, 0xfe, (uint64_t)-2, 0 },
        { META_U16, 2, 0x8001, 0x8001, 0 },
        { META_I16, 2, 0x8001, (uint64_t)-0x7fff, 0 },
        { META_U32, 4, 0x80000001, 0x80000001, 0 },
        { META_I32, 4, 0x80000001, (uint64_t)-0x7fffffff, 0 },
        { META_U64, 8, UINT64_C(0x8000000000000001), UINT64_C(0x8000000000000001), 0 },
        { META_I64, 8, UINT64_C(0xfffffffffffffffe), (uint64_t)-2, 0 },
        { META_BOOL, 1, 0, 0, 0 },
        { META_BOOL, 1, 1, 1, 0 },
        { META_BOOL, 1, 7, 1, 0 },
        { META_F32, 4, 0x3fc00000, 0, 1.5 },
        { META_F32, 4, 0x00000001, 0, 0x1p-149 },
        { META_F64, 8, UINT64_C(0xc004000000000000), 0, -2.5 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct out o = { .big = big };
        struct meta_value v;
        put(&o, rows[i].nbytes, rows[i].bits);
        CHECK_ROW(meta_type_size(rows[i].type) == rows[i].nbytes, meta_type_name(rows[i].type));
        CHECK_ROW(all_cuts_fail(rows[i].type, &o), meta_type_name(rows[i].type));
        CHECK(decode(&v, rows[i].type, &o, o.n, 0) && v.type == rows[i].type);
        bool real = rows[i].type == META_F32 || rows[i].type == META_F64;
        CHECK_ROW(real ? v.as.f == rows[i].f : v.as.u == rows[i].u, meta_type_name(rows[i].type));
    }
}

static void
test_as_u64(void)
{
    uint64_t n = 0;
    CHECK(meta_as_u64(&(struct meta_value){ .type = META_U16, .as.u = 7 }, &n) && n == 7);
    CHECK(meta_as_u64(&(struct meta_value){ .type = META_I32, .as.i = 8 }, &n) && n == 8);
    CHECK(meta_as_u64(&(struct meta_value){ .type = META_U64, .as.u = UINT64_MAX }, &n) && n == UINT64_MAX);
    CHECK(!meta_as_u64(&(struct meta_value){ .type = META_I64, .as.i = -1 }, &n));
    CHECK(!meta_as_u64(&(struct meta_value){ .type = META_BOOL, .as.u = 1 }, &n));
    CHECK(!meta_as_u64(&(struct meta_value){ .type = META_F32, .as.f = 1 }, &n));
    CHECK(meta_type_size(META_STRING) == 0 && meta_type_size(META_ARRAY) == 0);
    CHECK(strcmp(meta_type_name(META_F64), "f64") == 0 && strcmp(meta_type_name(META_STRING), "str") == 0);
}

static void
test_arrays(bool big)
{
    struct out o = { .big = big };
    struct meta_value v, e;
    uint64_t used;

    put_array(&o, META_I16, 3);
    put(&o, 2, 1);
    put(&o, 2, 0xffff);
    put(&o, 2, 300);
    CHECK(all_cuts_fail(META_ARRAY, &o));
    CHECK(!decode(&v, META_ARRAY, &o, o.n, 0));         /* the limit is 0 arrays */
    CHECK(meta_decode(&v, META_ARRAY, o.p, o.n, big, 1, &used) && v.as.a.type == META_I16 && v.as.a.count == 3
        && v.as.a.nbytes == 6 && v.as.a.p == o.p + 12);
    struct meta_iter it = meta_first(&v.as.a);
    CHECK(meta_next(&it, &e) && e.as.i == 1);
    CHECK(meta_next(&it, &e) && e.as.i == -1);
    CHECK(meta_next(&it, &e) && e.as.i == 300);
    CHECK(!meta_next(&it, &e) && it.nbytes == 0);

    o = (struct out){ .big = big };
    put_array(&o, META_STRING, 3);
    put_text(&o, "one");
    put_text(&o, "");
    put_text(&o, "\xff");
    CHECK(all_cuts_fail(META_ARRAY, &o));
    CHECK(meta_decode(&v, META_ARRAY, o.p, o.n, big, 1, &used));
    it = meta_first(&v.as.a);
    CHECK(meta_next(&it, &e) && e.type == META_STRING && e.as.s.n == 3 && memcmp(e.as.s.p, "one", 3) == 0);
    CHECK(meta_next(&it, &e) && e.as.s.n == 0);
    CHECK(meta_next(&it, &e) && e.as.s.n == 1);
    CHECK(!meta_next(&it, &e));

    o = (struct out){ .big = big };
    put_array(&o, META_F64, 0);
    CHECK(all_cuts_fail(META_ARRAY, &o));
}

static void
test_nested(bool big)
{
    struct out o = { .big = big };
    struct meta_value v, e, inner;
    uint64_t used;
    put_array(&o, META_ARRAY, 2);
    put_array(&o, META_U8, 2);
    put(&o, 1, 4);
    put(&o, 1, 5);
    put_array(&o, META_STRING, 1);
    put_text(&o, "x");
    CHECK(all_cuts_fail(META_ARRAY, &o));
    CHECK(!decode(&v, META_ARRAY, &o, o.n, 1) && decode(&v, META_ARRAY, &o, o.n, 2));
    CHECK(meta_decode(&v, META_ARRAY, o.p, o.n, big, DEPTH, &used) && v.as.a.type == META_ARRAY);
    struct meta_iter it = meta_first(&v.as.a), deep;
    CHECK(meta_next(&it, &e) && e.type == META_ARRAY && e.as.a.type == META_U8 && e.as.a.count == 2);
    deep = meta_first(&e.as.a);
    CHECK(meta_next(&deep, &inner) && inner.as.u == 4 && meta_next(&deep, &inner) && inner.as.u == 5);
    CHECK(meta_next(&it, &e) && e.as.a.type == META_STRING && !meta_next(&it, &e));
}

static void
test_bad_values(void)
{
    struct out o = { 0 };
    struct meta_value v;
    uint64_t used;
    put_array(&o, META_TYPES, 0);
    CHECK(!meta_decode(&v, META_ARRAY, o.p, o.n, false, DEPTH, &used));
    CHECK(!meta_decode(&v, META_TYPES, o.p, o.n, false, DEPTH, &used));
    o = (struct out){ 0 };
    put_array(&o, META_U64, UINT64_C(1) << 61);         /* its size wraps to 0 */
    CHECK(!meta_decode(&v, META_ARRAY, o.p, o.n, false, DEPTH, &used));
    o = (struct out){ 0 };
    put_array(&o, META_STRING, UINT64_MAX);
    CHECK(!meta_decode(&v, META_ARRAY, o.p, o.n, false, DEPTH, &used));
    o = (struct out){ 0 };
    put(&o, 8, UINT64_MAX);
    CHECK(!meta_decode(&v, META_STRING, o.p, o.n, false, DEPTH, &used));
}

/* --- files ------------------------------------------------------------------------------------------------ */

struct file {
    struct source *src;
    struct catalog *catalog;
    struct err err;
};

static bool
read_with(struct file *f, const struct out *o, const struct limits *limits)
{
    char path[64];
    int fd = memfd_create("test", 0);
    *f = (struct file){ 0 };
    err_init(&f->err);
    if (fd < 0 || pwrite(fd, o->p, o->n, 0) != (ssize_t)o->n)
        return CHECK(!"memfd_create");
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    f->catalog = catalog_new(limits, &f->err);
    bool ok = source_open(&f->src, path, false, NULL, &f->err)
        && container_gguf.probe(o->p, o->n, o->n)
        && container_gguf.read(f->catalog, f->src, 0, &(const struct container_options){ .limits = limits }, &f->err)
        && catalog_seal(f->catalog, &f->err);
    close(fd);
    return ok;
}

static void
close_file(struct file *f)
{
    catalog_free(f->catalog);
    source_close(f->src);
}

/* Returns the error kind of reading a file, or ERR_NONE. */
static enum err_kind
outcome(const struct out *o)
{
    struct file f;
    bool ok = read_with(&f, o, &limits_default);
    enum err_kind kind = f.err.kind;
    CHECK(ok == (kind == ERR_NONE));
    close_file(&f);
    return kind;
}

static void
test_file(bool big)
{
    struct out o;
    struct file f;
    put_header(&o, big, 2, 2);
    put_text(&o, "general.architecture");
    put(&o, 4, META_STRING);
    put_text(&o, "llama");
    put_text(&o, "split.count");
    put(&o, 4, META_U16);
    put(&o, 2, 1);
    put_tensor(&o, "b", 32, 3, 8, 32);                  /* Q8_0, after the other one */
    put_tensor(&o, "a", 2, 4, 0, 0);                    /* F32 */
    size_t header = o.n;
    put_data(&o, 32 + 128);

    CHECK(read_with(&f, &o, &limits_default));
    const struct catalog_facts *facts = catalog_facts_of(f.catalog);
    CHECK(strcmp(facts->format, "GGUF") == 0 && facts->version == 3 && facts->big_endian == big);
    CHECK(facts->alignment == 32 && facts->split_count == 0);
    CHECK(catalog_meta_count(f.catalog) == 2 && catalog_count(f.catalog) == 2);
    const struct tensor *t = catalog_at(f.catalog, 1);
    CHECK(strcmp(t->name, "b") == 0 && t->dtype == DTYPE_Q8_0 && t->big_endian == big);
    CHECK(t->shape.rank == 2 && shape_dim(&t->shape, 0) == 3 && shape_dim(&t->shape, 1) == 32);
    CHECK(t->extent.at == (header + 31) / 32 * 32 + 32 && t->extent.nbytes == 3 * 34);
    CHECK(catalog_remark_count(f.catalog) == 1);       /* the order of the data */
    close_file(&f);

    size_t whole = o.n, needed = o.n - (128 - 3 * 34);
    for (o.n = 4; o.n < whole; o.n++)
        CHECK((outcome(&o) == ERR_NONE) == (o.n >= needed));
}

/* Makes one tensor of `id` and [ne0, ne1] with `nbytes` of data after the header. */
static enum err_kind
outcome_of(uint32_t id, uint64_t ne0, uint64_t ne1, size_t nbytes)
{
    struct out o;
    put_header(&o, false, 1, 0);
    put_tensor(&o, "a", ne0, ne1, id, 0);
    put_data(&o, nbytes);
    return outcome(&o);
}

static void
test_sizes(void)
{
    CHECK(outcome_of(0, 8, 1, 32) == ERR_NONE);
    CHECK(outcome_of(0, 9, 1, 32) == ERR_MALFORMED);                    /* beyond the end */
    CHECK(outcome_of(2, 32, 2, 64) == ERR_NONE);
    CHECK(outcome_of(2, 16, 4, 64) == ERR_MALFORMED);                   /* 64 elements, but rows of 16 */
    CHECK(outcome_of(2, 33, 0, 64) == ERR_MALFORMED);
    CHECK(outcome_of(4, 32, 1, 64) == ERR_UNSUPPORTED);
    CHECK(outcome_of(33, 32, 1, 64) == ERR_UNSUPPORTED);
    CHECK(outcome_of(36, 64, 4, 96) == ERR_NONE);                       /* 64 bytes, then 32 for the whole tensor */
    CHECK(outcome_of(36, 64, 4, 95) == ERR_MALFORMED);
    CHECK(outcome_of(144, 512, 3, 3 * (4 + 2 * 136)) == ERR_NONE);      /* rows with a prefix */
    CHECK(outcome_of(144, 512, 3, 3 * (4 + 2 * 136) - 1) == ERR_MALFORMED);
    CHECK(outcome_of(144, 128, 4, 1024) == ERR_MALFORMED);
    CHECK(outcome_of(344, 256, 8, 8 * (4 + 136)) == ERR_NONE);          /* rows that are interleaved */
    CHECK(outcome_of(344, 256, 6, 8 * (4 + 136)) == ERR_MALFORMED);
    CHECK(outcome_of(42, 128, 4, 4 * 36) == ERR_NONE);                  /* Q2_0, and its older form */
    CHECK(outcome_of(42, 128, 4, 4 * 34) == ERR_NONE);
    CHECK(outcome_of(42, 128, 4, 4 * 34 - 1) == ERR_MALFORMED);
    CHECK(outcome_of(42, 64, 8, 4 * 34) == ERR_MALFORMED);              /* half of a block in a row */
    CHECK(outcome_of(43, 32, 1, 64) == ERR_NONE);                       /* listed, with its claimants */
    CHECK(outcome_of(159, 32, 1, 64) == ERR_NONE);                      /* listed */
    CHECK(outcome_of(UINT32_MAX, 32, 1, 64) == ERR_NONE);
    CHECK(outcome_of(0, 0, UINT64_C(1) << 62, 0) == ERR_NONE);
    CHECK(outcome_of(0, UINT64_C(1) << 32, UINT64_C(1) << 32, 32) == ERR_MALFORMED);
    CHECK(outcome_of(0, UINT64_C(1) << 63, 0, 32) == ERR_MALFORMED);
    CHECK(outcome_of(24, INT64_MAX, 1, 32) == ERR_MALFORMED);
}

/* Three tensors of 32 rows of Q8_0 (32 elements, 34 bytes) or of an unknown type, at the given offsets. */
static enum err_kind
outcome_of_three(const uint32_t id[3], const uint64_t offset[3])
{
    static const char *const name[3] = { "a", "b", "c" };
    struct out o;
    put_header(&o, false, 3, 0);
    for (int i = 0; i < 3; i++)
        put_tensor(&o, name[i], 32, 1, id[i], offset[i]);
    put_data(&o, 256);
    return outcome(&o);
}

static void
test_layout(void)
{
    static const struct { uint32_t id[3]; uint64_t offset[3]; enum err_kind kind; const char *what; } rows[] = {
        { { 8, 8, 8 }, { 0, 64, 128 }, ERR_NONE, "in order" },
        { { 8, 8, 8 }, { 128, 0, 64 }, ERR_NONE, "in another order" },
        { { 8, 8, 8 }, { 32, 96, 160 }, ERR_MALFORMED, "a hole in front" },
        { { 8, 8, 8 }, { 0, 64, 160 }, ERR_MALFORMED, "a hole" },
        { { 8, 8, 8 }, { 0, 32, 96 }, ERR_MALFORMED, "an overlap" },
        { { 8, 8, 8 }, { 0, 0, 64 }, ERR_MALFORMED, "one place for two" },
        { { 8, 8, 8 }, { 0, 64, 120 }, ERR_MALFORMED, "not aligned" },
        { { 8, 8, 8 }, { 0, 64, UINT64_C(0) - 32 }, ERR_MALFORMED, "an end that wraps" },
        { { 8, 159, 8 }, { 0, 64, 192 }, ERR_NONE, "an unknown size between" },
        { { 8, 159, 8 }, { 0, 64, 64 }, ERR_MALFORMED, "an unknown size on another tensor" },
        { { 8, 159, 8 }, { 0, 96, 128 }, ERR_MALFORMED, "a hole in front of an unknown size" },
        { { 159, 8, 8 }, { 32, 0, 64 }, ERR_MALFORMED, "an unknown size inside a tensor" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK_ROW(outcome_of_three(rows[i].id, rows[i].offset) == rows[i].kind, rows[i].what);

    struct out o;
    struct file f;
    put_header(&o, false, 2, 0);
    put_tensor(&o, "a", 128, 1, 41, 0);
    put_tensor(&o, "b", 8, 1, 0, 64);
    put_data(&o, 96);
    CHECK(!read_with(&f, &o, &limits_default) && strstr(f.err.text, "fork") && strstr(f.err.text, "Q1_0"));
    close_file(&f);
}

static void
test_keys(void)
{
    struct out o;
    struct file f;
    struct limits tight = limits_default;

    put_header(&o, false, 0, 2);
    for (int i = 0; i < 2; i++) {
        put_text(&o, "a.b");
        put(&o, 4, META_U8);
        put(&o, 1, 0);
    }
    CHECK(outcome(&o) == ERR_MALFORMED);                /* duplicate */
    o.p[24 + 8] = 'A';
    CHECK(read_with(&f, &o, &limits_default) && catalog_remark_count(f.catalog) == 1);
    close_file(&f);
    tight.items = 1;
    CHECK(!read_with(&f, &o, &tight) && f.err.kind == ERR_LIMIT);
    close_file(&f);

    for (int depth = 1; depth <= 5; depth++) {
        put_header(&o, false, 0, 1);
        put_text(&o, "a");
        put(&o, 4, META_ARRAY);
        for (int i = 1; i < depth; i++)
            put_array(&o, META_ARRAY, 1);
        put_array(&o, META_U8, 0);
        CHECK(outcome(&o) == (depth <= 4 ? ERR_NONE : ERR_LIMIT));
    }

    static const struct { uint32_t type; uint64_t value; enum err_kind kind; } alignments[] = {
        { META_U32, 1, ERR_NONE },      { META_U32, 32, ERR_NONE },      { META_U32, 1 << 20, ERR_NONE },
        { META_U32, 1 << 21, ERR_LIMIT }, { META_U32, 0, ERR_MALFORMED }, { META_U32, 48, ERR_MALFORMED },
        { META_I32, 32, ERR_MALFORMED },
    };
    for (size_t i = 0; i < sizeof alignments / sizeof *alignments; i++) {
        put_header(&o, false, 0, 1);
        put_text(&o, "general.alignment");
        put(&o, 4, alignments[i].type);
        put(&o, 4, alignments[i].value);
        CHECK(outcome(&o) == alignments[i].kind);
    }
}

static void
test_versions(void)
{
    static const struct { uint32_t version; enum err_kind kind; } rows[] = {
        { 0, ERR_UNSUPPORTED }, { 1, ERR_UNSUPPORTED }, { 2, ERR_NONE }, { 3, ERR_NONE }, { 4, ERR_UNSUPPORTED },
        { 0x00010003, ERR_UNSUPPORTED },
    };
    for (int big = 0; big < 2; big++)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            struct out o;
            put_header(&o, big, 0, 0);
            o.n = 4;
            put(&o, 4, rows[i].version);
            o.n = 24;
            memcpy(o.p, big ? "FUGG" : "GGUF", 4);
            CHECK(outcome(&o) == rows[i].kind);
        }
}

int
main(void)
{
    for (int big = 0; big < 2; big++) {
        test_scalars(big);
        test_arrays(big);
        test_nested(big);
        test_file(big);
    }
    test_as_u64();
    test_bad_values();
    test_sizes();
    test_layout();
    test_keys();
    test_versions();
    return check_done("gguf");
}
