/* The layout is drawn in zip.c. Every number read here is untrusted: it is followed, but nothing depends on its being
 * correct. */
#include "source/zip_loose.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/num.h"
#include "source/zip_priv.h"

enum {
    ENDS_MAX = 64,              /* end records that are followed, starting with the last */
    STEP = 32 << 10, NAME_MAX_SHOWN = 4096
};

/* --- members --------------------------------------------------------------------------------------------- */

struct finder {
    struct zip_loose *zip;
    struct zip_window view;
    const struct limits *limits;
    struct err *err;
    bool ok;                    /* no read has failed, and memory sufficed */
    struct { uint64_t at, shift; } starts[2 * ENDS_MAX];        /* of directories that were walked */
    size_t nstarts;
    bool only_starts;           /* do not collect members, only look for the beginning of a directory */
};

/* Returns bytes [at, at + n), or NULL. Clears f->ok if reading failed. */
static const uint8_t *
zip_loose_look(struct finder *f, uint64_t at, size_t n, size_t more)
{
    if (!zip_within(&f->view, at, n))
        return NULL;
    const uint8_t *p = zip_look(&f->view, at, n, more, f->err);
    f->ok = f->ok && p;
    return p;
}

/* Keeps the name of n bytes at `at`. */
static size_t
keep_name(struct finder *f, uint64_t at, size_t n)
{
    size_t first = f->zip->names.len;
    n = (size_t)num_min(n, NAME_MAX_SHOWN);
    for (size_t done = 0; done < n;) {
        size_t step = (size_t)num_min(n - done, 1 << 10);
        const uint8_t *p = zip_loose_look(f, at + done, step, step);
        if (!p)
            break;
        str_add(&f->zip->names, (const char *)p, step);
        done += step;
    }
    if (f->zip->names.failed)
        f->ok = err_memory(f->err, f->zip->names.room);
    return first;
}

/* Adds a member, whose name is the last one kept. */
static void
zip_loose_add(struct finder *f, struct zip_loose_member m)
{
    struct zip_loose *zip = f->zip;
    m.name_len = (uint32_t)(zip->names.len - m.name);
    if (zip->n >= ZIP_MEMBERS_MAX || zip->n >= f->limits->items || zip->names.len > ZIP_DIRECTORY_MAX) {
        zip->cut = true;
        return;
    }
    struct zip_loose_member *all = NULL;
    if (f->ok)
        all = array_grow(zip->member, zip->n, &zip->room, sizeof *all, f->err);
    if (!all) {
        f->ok = false;
        return;
    }
    zip->member = all;
    all[zip->n++] = m;
}

/* Reads the two sizes and the offset from a ZIP64 field of n bytes at `at`, where the header has all ones for them. If the
 * field is too short, takes as many as it has. */
static void
read_wide(struct finder *f, uint64_t at, size_t n, uint64_t *const values[], size_t count)
{
    while (n >= 4 && f->ok) {
        const uint8_t *p = zip_loose_look(f, at, 4, 256);
        if (!p)
            return;
        size_t len = load_le16(p + 2);
        if (load_le16(p) == ZIP64_FIELD) {
            for (size_t i = 0, from = 4; i < count && from + 8 <= 4 + len; i++)
                if (*values[i] == UINT32_MAX && (p = zip_loose_look(f, at + from, 8, 64))) {
                    *values[i] = load_le64(p);
                    from += 8;
                }
            return;
        }
        if (4 + len > n)
            return;
        at += 4 + len;
        n -= 4 + len;
    }
}

/* --- directories ----------------------------------------------------------------------------------------- */

/* Returns true if there is a local header, and sets where the member's bytes begin and what that header claims. */
static bool
read_local(struct finder *f, uint64_t at, struct zip_loose_member *m, uint64_t *stored, uint64_t *name_at)
{
    const uint8_t *p = zip_loose_look(f, at, LOCAL, 512);
    if (!zip_is(p, "PK\3\4"))
        return false;
    uint64_t nbytes = load_le32(p + 22);
    size_t name_len = load_le16(p + 26), extra_len = load_le16(p + 28);
    *stored = load_le32(p + 18);
    *m = (struct zip_loose_member){ .header_at = at, .at = at + LOCAL + name_len + extra_len,
        .deflated = load_le16(p + 8) == DEFLATED, .name_len = (uint32_t)name_len };
    *name_at = at + LOCAL;
    if (*stored == UINT32_MAX)
        read_wide(f, at + LOCAL + name_len, extra_len, (uint64_t *[]){ &nbytes, stored }, 2);
    if (!m->deflated)
        *stored = num_max(*stored, nbytes);
    return true;
}

/* Adds the member of a directory entry, as described by the entry and by its local header. */
static void
add_entry(struct finder *f, struct zip_loose_member e, uint64_t stored, uint64_t name_at)
{
    struct zip_loose_member local;
    uint64_t size = f->view.end, local_stored = 0, local_name, end;
    bool found = e.header_at < size && read_local(f, e.header_at, &local, &local_stored, &local_name);
    if (found)
        e.at = local.at;
    else
        e.at = num_min(num_add(&end, e.header_at, LOCAL + e.name_len) ? end : size, size);
    if (e.at > size)
        e.at = size;
    if (num_add(&end, e.at, num_max(stored, local_stored)))
        e.end = num_min(end, size);
    else
        e.end = size;
    size_t name_len = e.name_len;
    e.name = keep_name(f, name_at, name_len);
    zip_loose_add(f, e);
    if (!found || !f->ok)
        return;
    local.at = e.at;
    local.end = e.end;
    size_t mine = f->zip->names.len;
    local.name = keep_name(f, local_name, local.name_len);
    bool same = f->zip->names.len - mine == mine - e.name && mine != e.name
        && memcmp(f->zip->names.p + e.name, f->zip->names.p + mine, mine - e.name) == 0;
    if (same && local.deflated == e.deflated)
        f->zip->names.len = mine;
    else
        zip_loose_add(f, local);
}

/* Walks the consecutive entries from `at` on, unless that was done before. Some readers that find them `shift` bytes after
 * the offset in the end record add that to the offsets of members, too; others do not. */
static void
walk_directory(struct finder *f, uint64_t at, uint64_t shift)
{
    for (size_t i = 0; i < f->nstarts; i++)
        if (f->starts[i].at == at && f->starts[i].shift == shift)
            return;
    if (f->nstarts == sizeof f->starts / sizeof *f->starts)
        return;
    if (f->only_starts && !zip_is(zip_loose_look(f, at, ENTRY, ENTRY), "PK\1\2"))
        return;
    f->starts[f->nstarts].at = at;
    f->starts[f->nstarts++].shift = shift;
    if (f->only_starts)
        return;
    while (f->ok && !f->zip->cut) {
        /* The window has moved to the local header, so the entry is read again. */
        const uint8_t *p = zip_loose_look(f, at, ENTRY, 1 << 10);
        if (!zip_is(p, "PK\1\2"))
            return;
        uint64_t stored = load_le32(p + 20), nbytes = load_le32(p + 24), header = load_le32(p + 42);
        size_t name_len = load_le16(p + 28), extra_len = load_le16(p + 30), comment_len = load_le16(p + 32);
        struct zip_loose_member e = { .deflated = load_le16(p + 10) == DEFLATED, .name_len = (uint32_t)name_len };
        read_wide(f, at + ENTRY + name_len, extra_len, (uint64_t *[]){ &nbytes, &stored, &header }, 3);
        e.header_at = header;
        if (!e.deflated)
            stored = num_max(stored, nbytes);
        if (shift == 0 || zip_is(zip_loose_look(f, header, 4, LOCAL), "PK\3\4"))
            add_entry(f, e, stored, at + ENTRY);
        if (shift != 0 && num_add(&e.header_at, header, shift))
            add_entry(f, e, stored, at + ENTRY);
        at += ENTRY + name_len + extra_len + comment_len;
    }
}

/* Walks the directory at the offset that an end record gives, and the one that ends where the end record begins. */
static void
walk_claims(struct finder *f, uint64_t start, uint64_t size, uint64_t end)
{
    if (start < f->view.end)
        walk_directory(f, start, 0);
    if (size <= end)
        walk_directory(f, end - size, end - size > start ? end - size - start : 0);
}

static void
walk_end(struct finder *f, uint64_t at, const uint8_t *p)
{
    uint64_t size = load_le32(p + 12), start = load_le32(p + 16);
    walk_claims(f, start, size, at);
    if (at < LOCATOR || !zip_is(p = zip_loose_look(f, at - LOCATOR, LOCATOR, LOCATOR), "PK\6\7"))
        return;
    const uint64_t records[] = { load_le64(p + 8), at - LOCATOR >= RECORD ? at - LOCATOR - RECORD : 0 };
    for (size_t i = 0; i < 2 && f->ok; i++)
        if (zip_is(p = zip_loose_look(f, records[i], RECORD, RECORD), "PK\6\6"))
            walk_claims(f, load_le64(p + 48), load_le64(p + 40), records[i]);
}

/* Reads the last n bytes of the file, where end records can be. Returns NULL on failure. */
static uint8_t *
load_tail(struct source *src, size_t *n, struct err *err)
{
    *n = (size_t)num_min(source_size(src), END + COMMENT_MAX);
    uint8_t *p = malloc(*n ? *n : 1);
    if (!p)
        err_memory(err, *n);
    else if (!source_read(src, source_size(src) - *n, p, *n, err))
        free(p), p = NULL;
    return p;
}

/* Returns true for an end record inside a member that is an archive itself, whose offsets count from the member. The last end
 * record of a file, whose members were found first, belongs to the file. */
static bool
is_inner(struct finder *f, uint64_t at)
{
    for (size_t i = 0; i < f->zip->n && f->ok; i++) {
        const struct zip_loose_member *m = &f->zip->member[i];
        if (!m->deflated && m->at <= at && at < m->end && zip_is(zip_loose_look(f, m->at, 4, 4), "PK\3\4"))
            return true;
    }
    return false;
}

static void
walk_directories(struct finder *f)
{
    size_t n, ends = 0;
    uint8_t *p = load_tail(f->view.src, &n, f->err);
    f->ok = p != NULL;
    for (size_t i = n < END ? 0 : n - END + 1; f->ok && i-- > 0 && ends < ENDS_MAX;)
        if (zip_is(p + i, "PK\5\6") && !is_inner(f, f->view.end - n + i)) {
            ends++;
            walk_end(f, f->view.end - n + i, p + i);
        }
    free(p);
}

bool
zip_loose_ends(struct source *src, bool *ends, struct err *err)
{
    struct zip_loose none = { 0 };
    struct finder *f = calloc(1, sizeof *f);
    if (!f)
        return err_memory(err, sizeof *f);
    *f = (struct finder){ .zip = &none, .view = { .src = src, .end = source_size(src) }, .err = err, .ok = true,
        .only_starts = true };
    walk_directories(f);
    bool ok = f->ok;
    *ends = f->nstarts != 0;
    free(f);
    return ok;
}

/* --- local headers --------------------------------------------------------------------------------------- */

/* Returns the offset of the first local header in [at, to), or `to`. */
static uint64_t
find_local(struct finder *f, uint64_t at, uint64_t to)
{
    while (f->ok && at + 4 <= to) {
        const uint8_t *p = zip_loose_look(f, at, 4, STEP);
        if (!p)
            return to;
        size_t n = (size_t)num_min(f->view.n - (size_t)(at - f->view.at), to - at);
        for (size_t i = 0; i + 4 <= n; i++) {
            const uint8_t *q = memchr(p + i, 'P', n - i - 3);
            if (!q)
                break;
            i = (size_t)(q - p);
            if (zip_is(q, "PK\3\4"))
                return at + i;
        }
        at += n - 3;
    }
    return to;
}

/* Returns where the member after one that ends at `end` begins, judging by its local header. A descriptor may come first. */
static uint64_t
next_local(struct finder *f, uint64_t end, uint64_t to)
{
    static const unsigned descriptors[] = { 0, 16, 24, 12, 20 };
    for (size_t i = 0; i < sizeof descriptors / sizeof *descriptors; i++)
        if (zip_is(zip_loose_look(f, end + descriptors[i], 4, 512), "PK\3\4"))
            return end + descriptors[i];
    return find_local(f, end, to);
}

static int
zip_loose_compare(const void *pa, const void *pb)
{
    const struct zip_loose_member *a = pa, *b = pb;
    if (a->header_at != b->header_at)
        return a->header_at < b->header_at ? -1 : 1;
    return (a->name > b->name) - (a->name < b->name);           /* in the order in which they were found */
}

/* Follows local headers from one to the next, for members that no directory lists. The first `known` members are sorted. */
static void
walk_locals(struct finder *f, size_t known)
{
    uint64_t first = f->view.end;      /* the beginning of the first directory, or the end of the file */
    for (size_t i = 0; i < f->nstarts; i++)
        if (zip_is(zip_loose_look(f, f->starts[i].at, 4, 4), "PK\1\2"))
            first = num_min(first, f->starts[i].at);
    uint64_t at = next_local(f, 0, first);
    for (size_t i = 0; f->ok && !f->zip->cut && at < first;) {
        struct zip_loose_member m;
        uint64_t stored, name_at;
        while (i < known && f->zip->member[i].header_at < at)
            i++;
        uint64_t end = 0, limit = first;
        bool told = i < known && f->zip->member[i].header_at == at;
        if (told) {
            end = f->zip->member[i].end;
        } else if (read_local(f, at, &m, &stored, &name_at)) {
            if (i < known)
                limit = num_min(limit, f->zip->member[i].header_at);
            uint64_t next;
            if (stored != 0 && num_add(&end, m.at, stored) && end <= limit)
                next = end;
            else
                next = find_local(f, num_min(m.at, limit), limit);
            m.at = num_min(m.at, next);
            m.open = next != end;
            if (m.open)
                m.end = limit;
            else
                m.end = end;
            end = next;
            size_t name_len = m.name_len;
            m.name = keep_name(f, name_at, name_len);
            zip_loose_add(f, m);
        } else {
            return;
        }
        at = next_local(f, num_max(end, at + LOCAL), first);
    }
}

bool
zip_loose_find(struct zip_loose *zip, struct source *src, const struct limits *limits, struct err *err)
{
    struct finder *f = calloc(1, sizeof *f);
    if (!f)
        return err_memory(err, sizeof *f);
    *f = (struct finder){ .zip = zip, .view = { .src = src, .end = source_size(src) }, .limits = limits, .err = err,
        .ok = true };
    str_text(&zip->names, "");          /* so that the names are never NULL */
    if (zip->names.failed)
        f->ok = err_memory(err, 1);
    else
        walk_directories(f);
    if (zip->n > 1)
        qsort(zip->member, zip->n, sizeof *zip->member, zip_loose_compare);
    if (f->ok)
        walk_locals(f, zip->n);
    if (zip->n > 1)
        qsort(zip->member, zip->n, sizeof *zip->member, zip_loose_compare);
    bool ok = f->ok && err->kind == ERR_NONE;
    free(f);
    return ok;
}

void
zip_loose_clear(struct zip_loose *zip)
{
    free(zip->member);
    str_clear(&zip->names);
    *zip = (struct zip_loose){ 0 };
}

/* --- bytes ----------------------------------------------------------------------------------------------- */

struct zip_loose_bytes {
    struct source *src;
    uint64_t at, end;
    bool deflated, done, broken;
    z_stream z;
    uint8_t in[16 << 10];
};

struct zip_loose_bytes *
zip_loose_open(struct source *src, uint64_t at, uint64_t end, bool deflated, struct err *err)
{
    struct zip_loose_bytes *b = calloc(1, sizeof *b);
    if (!b || (deflated && inflateInit2(&b->z, -MAX_WBITS) != Z_OK)) {
        free(b);
        err_memory(err, sizeof *b);
        return NULL;
    }
    b->src = src;
    b->at = at;
    b->end = end;
    b->deflated = deflated;
    return b;
}

void
zip_loose_close(struct zip_loose_bytes *b)
{
    if (b && b->deflated)
        inflateEnd(&b->z);
    free(b);
}

static bool
some_inflated(struct zip_loose_bytes *b, uint8_t *buf, size_t n, size_t *got, struct err *err)
{
    b->z.next_out = buf;
    b->z.avail_out = (uInt)num_min(n, 1 << 30);
    uInt room = b->z.avail_out;
    while (b->z.avail_out == room && !b->done) {
        if (b->z.avail_in == 0) {
            size_t step = (size_t)num_min(sizeof b->in, b->end - b->at);
            if (!source_read(b->src, b->at, b->in, step, err))
                return false;
            b->at += step;
            b->z.next_in = b->in;
            b->z.avail_in = (uInt)step;
        }
        bool dry = b->z.avail_in == 0;
        int status = inflate(&b->z, Z_NO_FLUSH);
        if (status == Z_MEM_ERROR)
            return err_memory(err, sizeof *b);
        b->done = status != Z_OK || dry;
        b->broken = b->done && status != Z_STREAM_END;
    }
    *got = room - b->z.avail_out;
    return true;
}

bool
zip_loose_some(void *bytes, uint8_t *buf, size_t n, size_t *got, struct err *err)
{
    struct zip_loose_bytes *b = bytes;
    if (b->deflated)
        return some_inflated(b, buf, n, got, err);
    *got = (size_t)num_min(n, b->end - b->at);
    if (!source_read(b->src, b->at, buf, *got, err))
        return false;
    b->at += *got;
    return true;
}

bool
zip_loose_broken(const struct zip_loose_bytes *b)
{
    return b->broken;
}
