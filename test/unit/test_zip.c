/* The index of a ZIP archive: archives built here, valid ones in all forms that writers produce, and each of them with one
 * defect. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/bytes.h"
#include "check.h"
#include "source/within.h"
#include "source/zip.h"

enum { ROOM = 4096, LOCAL = 30, ENTRY = 46 };

/* An archive under construction, and the offsets of its parts. */
struct zip_bytes {
    uint8_t p[ROOM];
    size_t n;
    size_t local[4], entry[4], descriptor[4], record, locator, end, directory;
    unsigned members;
};

static void
put(struct zip_bytes *a, uint64_t v, unsigned nbytes)
{
    for (unsigned i = 0; i < nbytes; i++)
        a->p[a->n++] = (uint8_t)(v >> 8 * i);
}

static void
put_bytes(struct zip_bytes *a, const void *p, size_t n)
{
    memcpy(a->p + a->n, p, n);
    a->n += n;
}

/* Forms in which members are written. */
enum zip_form {
    PLAIN,                      /* sizes in the local header */
    NUMPY_A, NUMPY_B,           /* also a ZIP64 field, with or without the other one */
    TORCH,                      /* no sizes in the local header, padding, a descriptor of 16 bytes after the data, except for
                                 * an empty member */
    STREAM,                     /* only a ZIP64 field of zeros in the local header, a descriptor of 24 bytes after the data */
    FORMS
};

struct content {
    const char *name;
    const char *bytes;
    bool deflated;
};

static const struct content contents[] = {
    { "x/data.pkl", "some bytes of a member", false },
    { "x/empty", "", false },
    { "x/zeros", "00000000000000000000000000000000000000000000000000", true },
};

static size_t
deflate_raw(uint8_t *out, size_t room, const char *bytes, size_t n)
{
    z_stream z = { .next_in = (Bytef *)bytes, .avail_in = (uInt)n, .next_out = out, .avail_out = (uInt)room };
    deflateInit2(&z, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
    deflate(&z, Z_FINISH);
    deflateEnd(&z);
    return room - z.avail_out;
}

static void
put_member(struct zip_bytes *a, const struct content *c, enum zip_form form, struct zip_bytes *directory)
{
    enum { PADDING = 9 };
    uint8_t packed[ROOM];
    size_t n = strlen(c->bytes), stored = n, name = strlen(c->name);
    bool late = form == STREAM || (form == TORCH && n != 0);
    bool wide = form == STREAM || form == NUMPY_A || form == NUMPY_B;
    uint32_t crc = (uint32_t)crc32(0, (const Bytef *)c->bytes, (uInt)n);
    if (c->deflated)
        stored = deflate_raw(packed, sizeof packed, c->bytes, n);
    uint32_t flags = (late ? 8 : 0) | (form == TORCH ? 0x800 : 0);
    a->local[a->members] = a->n;
    put_bytes(a, "PK\3\4", 4);
    put(a, 20, 2), put(a, flags, 2), put(a, c->deflated ? 8 : 0, 2), put(a, 0x210000, 4);
    put(a, late ? 0 : crc, 4);
    put(a, form == NUMPY_B || form == STREAM ? UINT32_MAX : late ? 0 : stored, 4);
    put(a, form == NUMPY_B || form == STREAM ? UINT32_MAX : late ? 0 : n, 4);
    put(a, name, 2), put(a, wide ? 20 : form == TORCH ? 4 + PADDING : 0, 2);
    put_bytes(a, c->name, name);
    if (wide)
        put(a, 1, 2), put(a, 16, 2), put(a, late ? 0 : n, 8), put(a, late ? 0 : stored, 8);
    if (form == TORCH)
        put_bytes(a, "FB\t\0ZZZZZZZZZ", 4 + PADDING);
    put_bytes(a, c->deflated ? (const char *)packed : c->bytes, stored);
    a->descriptor[a->members] = a->n;
    if (late)
        put_bytes(a, "PK\7\10", 4), put(a, crc, 4), put(a, stored, form == STREAM ? 8 : 4), put(a, n, form == STREAM ? 8 : 4);

    a->entry[a->members] = directory->n;
    put_bytes(directory, "PK\1\2", 4);
    put(directory, 0x314, 2), put(directory, 20, 2), put(directory, flags, 2), put(directory, c->deflated ? 8 : 0, 2);
    put(directory, 0x210000, 4), put(directory, crc, 4), put(directory, stored, 4), put(directory, n, 4);
    put(directory, name, 2), put(directory, 0, 2), put(directory, 0, 2), put(directory, 0, 2), put(directory, 0, 2);
    put(directory, 0x1800000, 4), put(directory, a->local[a->members], 4);
    put_bytes(directory, c->name, name);
    a->members++;
}

static void
build(struct zip_bytes *a, enum zip_form form, bool record, const char *comment)
{
    static struct zip_bytes directory;
    memset(a, 0, sizeof *a);
    memset(&directory, 0, sizeof directory);
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++)
        put_member(a, &contents[i], form, &directory);
    a->directory = a->n;
    for (unsigned i = 0; i < a->members; i++)
        a->entry[i] += a->n;
    put_bytes(a, directory.p, directory.n);
    a->record = a->n;
    if (record) {
        put_bytes(a, "PK\6\6", 4);
        put(a, 44, 8), put(a, 0x31e, 2), put(a, 45, 2), put(a, 0, 4), put(a, 0, 4);
        put(a, a->members, 8), put(a, a->members, 8), put(a, directory.n, 8), put(a, a->directory, 8);
        a->locator = a->n;
        put_bytes(a, "PK\6\7", 4);
        put(a, 0, 4), put(a, a->record, 8), put(a, 1, 4);
    }
    a->end = a->n;
    put_bytes(a, "PK\5\6", 4);
    put(a, 0, 2), put(a, 0, 2), put(a, a->members, 2), put(a, a->members, 2), put(a, directory.n, 4), put(a, a->directory, 4);
    put(a, strlen(comment), 2);
    put_bytes(a, comment, strlen(comment));
}

/* Reads the index of these bytes. Returns the kind of the error. */
static enum err_kind
index_of(const uint8_t *p, size_t n, struct zip *zip, struct source **src, const struct limits *limits)
{
    struct budget budget = { .limits = *limits };
    struct err err;
    err_init(&err);
    *zip = (struct zip){ 0 };
    *src = NULL;
    bool ok = source_of_memory(src, p, n, "built", &err) && zip_read(zip, *src, &budget, &err);
    CHECK(ok == (err.kind == ERR_NONE));
    return err.kind;
}

static enum err_kind
verdict(const struct zip_bytes *a, const struct limits *limits)
{
    struct zip zip;
    struct source *src;
    enum err_kind kind = index_of(a->p, a->n, &zip, &src, limits);
    zip_clear(&zip);
    source_close(src);
    return kind;
}

/* Every form yields the same members and bytes: whole members, their first bytes, and all members as a stream. */
static void
test_forms(void)
{
    for (int form = 0; form < FORMS; form++)
        for (int record = 0; record < 2; record++) {
            static struct zip_bytes a;
            struct zip zip;
            struct source *src;
            struct err err;
            char all[256] = "", buf[128];
            err_init(&err);
            build(&a, (enum zip_form)form, record, record ? "a comment" : "");
            if (!CHECK(index_of(a.p, a.n, &zip, &src, &limits_default) == ERR_NONE && zip.n == 3))
                continue;
            CHECK(zip.comment_len == (record ? 9 : 0));
            for (size_t i = 0; i < zip.n; i++) {
                const struct zip_member *m = &zip.member[i];
                size_t n = strlen(contents[i].bytes), got;
                CHECK(strcmp(m->name, contents[i].name) == 0 && m->nbytes == n && m->deflated == contents[i].deflated);
                CHECK(zip_find(&zip, contents[i].name, strlen(contents[i].name)) == m && m->out_at == strlen(all));
                CHECK(zip_head(src, m, buf, sizeof buf, &got, &err) && got == n && memcmp(buf, contents[i].bytes, n) == 0);
                CHECK(zip_head(src, m, buf, 3, &got, &err) && got == (n < 3 ? n : 3) && memcmp(buf, contents[i].bytes, got) == 0);
                strcat(all, contents[i].bytes);
            }
            CHECK(!zip_find(&zip, "x/data", 6));
            CHECK(source_inflate(src, &zip, true, &err) && !source_seekable(src));
            CHECK(source_read(src, 2, buf, strlen(all) - 2, &err) && memcmp(buf, all + 2, strlen(all) - 2) == 0);
            CHECK(source_finish(src, strlen(all), false, &err) && err.kind == ERR_NONE);
            zip_clear(&zip);
            source_close(src);
        }
}

/* One defect: `n` bytes at offset `at` of a part of the archive, and the expected error. */
enum zip_place { LOCAL_0, LOCAL_2, ENTRY_0, ENTRY_1, ENTRY_2, DESCRIPTOR_0, RECORD, LOCATOR, END, PARTS };

struct wrong {
    const char *what;
    enum zip_form form;
    enum zip_place part;
    int at;
    const char *bytes;
    unsigned n;
    enum err_kind kind;
};

static const struct wrong wrongs[] = {
    { "the comment goes beyond the file", PLAIN, END, 20, "\1", 1, ERR_MALFORMED },
    { "the locator points elsewhere", PLAIN, LOCATOR, 8, "\1", 1, ERR_MALFORMED },
    { "the record has another length", PLAIN, RECORD, 4, "\55", 1, ERR_MALFORMED },
    { "the record has another count", PLAIN, RECORD, 32, "\2", 1, ERR_MALFORMED },
    { "the record has two counts", PLAIN, RECORD, 24, "\2", 1, ERR_MALFORMED },
    { "the record has another offset", PLAIN, RECORD, 48, "\1", 1, ERR_MALFORMED },
    { "the record is on another disk", PLAIN, RECORD, 16, "\1", 1, ERR_UNSUPPORTED },
    { "the directory is elsewhere", PLAIN, END, 16, "\1", 1, ERR_MALFORMED },
    { "more members than entries", PLAIN, END, 8, "\4\0\4", 3, ERR_MALFORMED },
    { "a name that covers other entries", PLAIN, ENTRY_0, 28, "\150", 1, ERR_MALFORMED },
    { "an entry of another kind", PLAIN, ENTRY_1, 0, "Q", 1, ERR_MALFORMED },
    { "another name", PLAIN, LOCAL_0, 32, "D", 1, ERR_MALFORMED },
    { "a shorter name", PLAIN, LOCAL_0, 26, "\11", 1, ERR_MALFORMED },
    { "another method", PLAIN, LOCAL_0, 8, "\10", 1, ERR_MALFORMED },
    { "a descriptor in the local header only", PLAIN, LOCAL_0, 6, "\10", 1, ERR_MALFORMED },
    { "UTF-8 in the directory only", PLAIN, ENTRY_0, 9, "\10", 1, ERR_MALFORMED },
    { "another checksum", PLAIN, LOCAL_0, 14, "\0", 1, ERR_MALFORMED },
    { "another size", PLAIN, LOCAL_0, 22, "\1", 1, ERR_MALFORMED },
    { "another stored size", PLAIN, LOCAL_2, 18, "\1", 1, ERR_MALFORMED },
    { "another size in the ZIP64 field", NUMPY_A, LOCAL_0, LOCAL + 10 + 4, "\1", 1, ERR_MALFORMED },
    { "another size in the ZIP64 field, the only one", NUMPY_B, LOCAL_0, LOCAL + 10 + 4, "\1", 1, ERR_MALFORMED },
    { "another size before a descriptor", TORCH, LOCAL_0, 22, "\1", 1, ERR_MALFORMED },
    { "another checksum before a descriptor", STREAM, LOCAL_0, 14, "\1", 1, ERR_MALFORMED },
    { "two entries of one header", PLAIN, ENTRY_1, 42, "\0", 1, ERR_MALFORMED },
    { "a NUL in a name", PLAIN, ENTRY_0, ENTRY + 3, "\0", 1, ERR_MALFORMED },
    { "not UTF-8", TORCH, ENTRY_0, ENTRY + 3, "\377", 1, ERR_MALFORMED },
    { "no name", PLAIN, ENTRY_0, 28, "\0", 1, ERR_MALFORMED },
    { "UTF-8 without its flag", PLAIN, ENTRY_0, ENTRY + 3, "\303\251", 2, ERR_MALFORMED },
    { "a link", PLAIN, ENTRY_0, 40, "\377\241", 2, ERR_MALFORMED },
    { "a directory", PLAIN, ENTRY_0, 40, "\377\101", 2, ERR_MALFORMED },
    { "a directory of DOS", PLAIN, ENTRY_0, 38, "\20", 1, ERR_MALFORMED },
    { "a device", PLAIN, ENTRY_0, 40, "\377\40", 2, ERR_MALFORMED },
    { "a regular file", PLAIN, ENTRY_0, 40, "\244\201", 2, ERR_NONE },
    { "encrypted in the directory only", PLAIN, ENTRY_0, 8, "\1", 1, ERR_MALFORMED },
    { "encrypted in the local header only", PLAIN, LOCAL_0, 6, "\1", 1, ERR_MALFORMED },
    { "another method in the directory only", PLAIN, ENTRY_0, 10, "\14", 1, ERR_MALFORMED },
    { "stored, with two sizes", PLAIN, ENTRY_0, 24, "\1", 1, ERR_MALFORMED },
    { "past the end", PLAIN, ENTRY_2, 21, "\20", 1, ERR_MALFORMED },
    { "a local header past the end", PLAIN, ENTRY_2, 43, "\20", 1, ERR_MALFORMED },
    { "a ratio over the limit", PLAIN, ENTRY_2, 24, "\0\0\0\20", 4, ERR_LIMIT },
    { "no signature", TORCH, DESCRIPTOR_0, 0, "Q", 1, ERR_MALFORMED },
    { "another checksum after the data", TORCH, DESCRIPTOR_0, 4, "\0", 1, ERR_MALFORMED },
    { "another size after the data", STREAM, DESCRIPTOR_0, 16, "\1", 1, ERR_MALFORMED },
    { "another stored size after the data", STREAM, DESCRIPTOR_0, 15, "\1", 1, ERR_MALFORMED },
    { "a field past its end", TORCH, LOCAL_0, LOCAL + 10 + 2, "\12", 1, ERR_MALFORMED },
    { "padding of other bytes", TORCH, LOCAL_0, LOCAL + 10 + 4, "abc", 3, ERR_NONE },
    { "a missing ZIP64 field", PLAIN, ENTRY_0, 20, "\377\377\377\377\377\377\377\377", 8, ERR_MALFORMED },
    { "another disk", PLAIN, END, 4, "\1", 1, ERR_UNSUPPORTED },
    { "a member on another disk", PLAIN, ENTRY_0, 34, "\1", 1, ERR_UNSUPPORTED },
    { "a locator of two disks", PLAIN, LOCATOR, 16, "\2", 1, ERR_UNSUPPORTED },
    { "a time, which is ignored", PLAIN, LOCAL_0, 10, "\1", 1, ERR_NONE },
};

static void
test_wrongs(void)
{
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        const struct wrong *w = &wrongs[i];
        static struct zip_bytes a;
        build(&a, w->form, true, "");
        const size_t parts[PARTS] = { a.local[0], a.local[2], a.entry[0], a.entry[1], a.entry[2], a.descriptor[0], a.record,
            a.locator, a.end };
        CHECK_ROW(verdict(&a, &limits_default) == ERR_NONE, w->what);
        memcpy(a.p + parts[w->part] + w->at, w->bytes, w->n);
        CHECK_ROW(verdict(&a, &limits_default) == w->kind, w->what);
    }
}

/* The same change in both headers: encrypted, another method. */
static void
test_both(void)
{
    static struct zip_bytes a;
    build(&a, PLAIN, false, "");
    a.p[a.local[0] + 6] = a.p[a.entry[0] + 8] = 1;
    CHECK(verdict(&a, &limits_default) == ERR_UNSUPPORTED);
    build(&a, PLAIN, false, "");
    a.p[a.local[0] + 8] = a.p[a.entry[0] + 10] = 12;
    CHECK(verdict(&a, &limits_default) == ERR_UNSUPPORTED);
    build(&a, PLAIN, false, "");            /* the name of the first one */
    memcpy(a.p + a.local[2] + LOCAL, "x/Empty", 7);
    memcpy(a.p + a.entry[2] + ENTRY, "x/Empty", 7);
    CHECK(verdict(&a, &limits_default) == ERR_NONE);
    memcpy(a.p + a.local[2] + LOCAL, "x/empty", 7);
    memcpy(a.p + a.entry[2] + ENTRY, "x/empty", 7);
    CHECK(verdict(&a, &limits_default) == ERR_MALFORMED);
}

static void
test_cases(void)
{
    static struct zip_bytes a;
    struct zip zip;
    struct source *src;
    struct budget budget = { .limits = limits_default };
    struct err err;
    for (int twins = 0; twins < 2; twins++) {
        err_init(&err);
        build(&a, PLAIN, false, "");
        if (twins) {
            memcpy(a.p + a.local[2] + LOCAL, "X/Empty", 7);
            memcpy(a.p + a.entry[2] + ENTRY, "X/Empty", 7);
        }
        CHECK(index_of(a.p, a.n, &zip, &src, &limits_default) == ERR_NONE);
        CHECK(zip_cases_differ(&zip, &budget, &err) == !twins && (err.kind == ERR_MALFORMED) == twins);
        zip_clear(&zip);
        source_close(src);
    }
}

/* Extra bytes before, between and after members. Truncation at any place. */
static void
test_places(void)
{
    static struct zip_bytes a, b;
    build(&a, PLAIN, true, "");
    const size_t places[] = { 0, a.local[1], a.directory, a.record, a.locator, a.end, a.n };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        b = a;
        memmove(b.p + places[i] + 4, b.p + places[i], b.n - places[i]);
        memcpy(b.p + places[i], "GAP!", 4);
        b.n += 4;
        CHECK(verdict(&b, &limits_default) == ERR_MALFORMED);
    }
    b = a;
    for (b.n = 0; b.n < a.n; b.n++)
        CHECK(verdict(&b, &limits_default) == ERR_MALFORMED);
    /* A member that is missing in the directory. */
    b = a;
    size_t entry = a.entry[1] - a.entry[0];
    memmove(b.p + a.entry[0], b.p + a.entry[1], b.n - a.entry[1]);
    b.n -= entry;
    size_t end = a.end - entry;
    memmove(b.p + a.record - entry, b.p + end, b.n - end);      /* without a ZIP64 record */
    b.n -= a.end - a.record;
    end = a.record - entry;
    b.p[end + 8] = b.p[end + 10] = 2;
    b.p[end + 12] = (uint8_t)(b.p[end + 12] - entry);
    CHECK(verdict(&b, &limits_default) == ERR_MALFORMED);
}

/* Makes `count` members with both end records, without changing their directory. */
static enum err_kind
verdict_of_count(uint64_t count)
{
    static struct zip_bytes a;
    build(&a, PLAIN, true, "");
    store_le64(a.p + a.record + 24, count);
    store_le64(a.p + a.record + 32, count);
    memset(a.p + a.end + 8, 0xFF, 4);
    return verdict(&a, &limits_default);
}

/* Makes a directory of `size` bytes that starts with an entry whose name has name_len bytes, and an end record. */
static enum err_kind
verdict_of_directory(size_t size, uint16_t name_len)
{
    struct zip zip;
    struct source *src;
    uint8_t *p = calloc(size + 22, 1), *end = p + size;
    memcpy(p, "PK\1\2", 4);
    store_le16(p + 28, name_len);
    memset(p + ENTRY, 'x', name_len);
    memcpy(end, "PK\5\6", 4);
    end[8] = end[10] = 1;
    store_le32(end + 12, (uint32_t)size);
    enum err_kind kind = index_of(p, size + 22, &zip, &src, &limits_default);
    zip_clear(&zip);
    source_close(src);
    free(p);
    return kind;
}

static void
test_limits(void)
{
    static struct zip_bytes a;
    struct limits limits = limits_default;
    CHECK(verdict_of_count(ZIP_MEMBERS_MAX) == ERR_MALFORMED && verdict_of_count(ZIP_MEMBERS_MAX + 1) == ERR_LIMIT);
    CHECK(verdict_of_directory(ENTRY + ZIP_NAME_MAX, ZIP_NAME_MAX) == ERR_MALFORMED);
    CHECK(verdict_of_directory(ENTRY + ZIP_NAME_MAX + 1, ZIP_NAME_MAX + 1) == ERR_LIMIT);
    CHECK(verdict_of_directory((size_t)ZIP_DIRECTORY_MAX + 1, 1) == ERR_LIMIT);
    build(&a, PLAIN, false, "");
    limits.total = 300;
    CHECK(verdict(&a, &limits) == ERR_LIMIT);
    /* Only an end record. */
    memset(&a, 0, sizeof a);
    a.n = 22;
    memcpy(a.p, "PK\5\6", 4);
    CHECK(verdict(&a, &limits_default) == ERR_NONE);
    a.p[8] = a.p[10] = 1;
    CHECK(verdict(&a, &limits_default) == ERR_MALFORMED);
}

/* Deflated data must have exactly the declared size, which is checked while it is read. */
static void
test_deflated(void)
{
    static struct zip_bytes a;
    enum { TOO_LITTLE, TOO_MUCH, FLIPPED, CASES };
    for (int i = 0; i < CASES; i++)
        for (int whole = 0; whole < 2; whole++) {
            struct zip zip;
            struct source *src;
            struct err err;
            char buf[128];
            size_t got;
            err_init(&err);
            build(&a, PLAIN, false, "");
            uint8_t *local = a.p + a.local[2] + 22, *entry = a.p + a.entry[2] + 24;
            if (i == TOO_LITTLE)
                *local = *entry = (uint8_t)(*local + 1);
            else if (i == TOO_MUCH)
                *local = *entry = (uint8_t)(*local - 1);
            else
                local[-8] = entry[-8] = (uint8_t)(local[-8] ^ 1);       /* offset of the checksum */
            CHECK(index_of(a.p, a.n, &zip, &src, &limits_default) == ERR_NONE);
            const struct zip_member *m = &zip.member[2];
            uint64_t at = m->out_at, n = m->nbytes;
            if (whole)
                CHECK(!zip_head(src, m, buf, sizeof buf, &got, &err));
            else
                CHECK(source_inflate(src, &zip, true, &err) && !source_read(src, at, buf, (size_t)n, &err));
            CHECK(err.kind == ERR_MALFORMED && strstr(err.text, "x/zeros"));
            zip_clear(&zip);
            source_close(src);
        }
}

int
main(void)
{
    test_forms();
    test_wrongs();
    test_both();
    test_cases();
    test_places();
    test_limits();
    test_deflated();
    return check_done("test_zip");
}
