/* The index of a ZIP archive.
 *
 *      | local header, payload, descriptor | ... | directory | [ZIP64 record, locator] | end record, comment |
 *
 *      local       "PK\3\4" needed flags method time date crc C U name_len extra_len | name | extra           30 bytes
 *      descriptor  "PK\7\8" crc C U            with flag 3 only; C and U of 4 bytes each, or of 8        16 or 24
 *      directory   "PK\1\2" made needed flags method time date crc C U name_len extra_len comment_len disk
 *                  internal external offset | name | extra | comment                                     46 bytes
 *      ZIP64       "PK\6\6" 44 made needed disk disk n n size offset                                          56 bytes
 *      locator     "PK\6\7" disk offset disks                                                              20 bytes
 *      end         "PK\5\6" disk disk n n size offset comment_len | comment                                22 bytes
 *
 * C is the number of bytes in the file, U that of the member. A field of the directory that is all ones has its value in
 * the extra field 1. All that is said twice must be the same, and the parts must tile the file; so that whoever reads it
 * by the directory, and whoever goes from one local header to the next, sees the same members.
 * From APPNOTE.TXT 6.3.10, hostile.md 3, and what torch (miniz) and NumPy (zipfile) write: pth.md 2, npz.md 6. */
#include "source/zip.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/num.h"
#include "base/str.h"

enum {
    LOCAL = 30, ENTRY = 46, END = 22, LOCATOR = 20, RECORD = 56, RECORD_SAYS = 44,
    COMMENT_MAX = 0xFFFF,
    SHORT_DESCRIPTOR = 16, LONG_DESCRIPTOR = 24,
    ZIP64_FIELD = 1
};

enum {
    FLAG_ENCRYPTED = 1 << 0, FLAG_DESCRIPTOR = 1 << 3, FLAG_STRONG = 1 << 6, FLAG_UTF8 = 1 << 11, FLAG_MASKED = 1 << 13,
    FLAGS_SECRET = FLAG_ENCRYPTED | FLAG_STRONG | FLAG_MASKED,
    FLAGS_TOLD = FLAGS_SECRET | FLAG_DESCRIPTOR | FLAG_UTF8         /* those that change what is read */
};

enum { STORED = 0, DEFLATED = 8 };

static const char sig_local[4] = "PK\3\4", sig_entry[4] = "PK\1\2", sig_end[4] = "PK\5\6", sig_record[4] = "PK\6\6",
    sig_locator[4] = "PK\6\7", sig_descriptor[4] = "PK\7\10";

/* Where the directory lies and what it holds, by the end record. */
struct end {
    uint64_t count, size, at;   /* of the directory */
    uint64_t end_at;            /* where the directory has to end */
    uint32_t comment_len;
};

static bool
is(const uint8_t *p, const char sig[4])
{
    return memcmp(p, sig, 4) == 0;
}

static bool
bad_archive(struct err *err, uint64_t at, const char *text)
{
    return err_set(err, ERR_MALFORMED, at, "the ZIP archive: %s", text);
}

static bool
bad_member(struct err *err, const struct zip_member *m, uint64_t at, const char *text)
{
    char shown[STR_SHOWN];
    return err_set(err, ERR_MALFORMED, at, "member %s: %s", str_shown(shown, m->name, m->name_len), text);
}

/* --- the end ------------------------------------------------------------------------------------------------ */

/* The ZIP64 record, when its locator lies in front of the end record at `at`: it is right before that, and says what the
 * end record says as far as that can. */
static bool
read_record(struct source *src, uint64_t at, struct end *end, struct err *err)
{
    uint8_t raw[RECORD + LOCATOR];
    size_t n = (size_t)num_min(at, sizeof raw);
    if (n < LOCATOR)
        return true;
    if (!source_read(src, at - n, raw + sizeof raw - n, n, err))
        return false;
    struct cursor c = { .p = raw + RECORD, .left = LOCATOR, .at = at - LOCATOR };
    if (!is(cursor_take(&c, 4), sig_locator))
        return true;
    uint32_t disk = cursor_u32(&c);
    uint64_t record_at = cursor_u64(&c);
    uint32_t disks = cursor_u32(&c);
    if (disk != 0 || disks > 1)
        return err_set(err, ERR_UNSUPPORTED, at - LOCATOR, "it is one of %" PRIu32 " parts of a ZIP archive: put them "
            "together first (zip -s 0)", disks);
    if (n < sizeof raw || record_at != at - sizeof raw || !is(raw, sig_record))
        return bad_archive(err, at - LOCATOR, "its ZIP64 end record is not where it is said to be, right before this");
    c = (struct cursor){ .p = raw + 4, .left = RECORD - 4, .at = record_at + 4 };
    uint64_t says = cursor_u64(&c);
    cursor_take(&c, 4);
    uint32_t this_disk = cursor_u32(&c), first_disk = cursor_u32(&c);
    uint64_t here = cursor_u64(&c), count = cursor_u64(&c), size = cursor_u64(&c), dir = cursor_u64(&c);
    if (this_disk != 0 || first_disk != 0)
        return err_set(err, ERR_UNSUPPORTED, record_at, "it is a part of a ZIP archive: put all together first (zip -s 0)");
    if (says != RECORD_SAYS || here != count)
        return bad_archive(err, record_at, "its ZIP64 end record has another length or two counts");
    if ((end->count != UINT16_MAX && end->count != count) || (end->size != UINT32_MAX && end->size != size)
        || (end->at != UINT32_MAX && end->at != dir))
        return bad_archive(err, record_at, "its two end records disagree");
    end->count = count;
    end->size = size;
    end->at = dir;
    end->end_at = record_at;
    return true;
}

/* The end record at p, which is byte `at` of the file. */
static bool
read_end(struct source *src, const uint8_t *p, uint64_t at, struct end *end, struct err *err)
{
    struct cursor c = { .p = p + 4, .left = END - 4, .at = at + 4 };
    uint16_t disk = cursor_u16(&c), first_disk = cursor_u16(&c), here = cursor_u16(&c);
    *end = (struct end){ .count = cursor_u16(&c), .end_at = at };
    end->size = cursor_u32(&c);
    end->at = cursor_u32(&c);
    end->comment_len = cursor_u16(&c);
    if (disk != 0 || first_disk != 0)
        return err_set(err, ERR_UNSUPPORTED, at, "it is a part of a ZIP archive: put all together first (zip -s 0)");
    if (here != end->count)
        return bad_archive(err, at, "its end record has two counts of members");
    if (!read_record(src, at, end, err))
        return false;
    if (end->at > end->end_at || end->size != end->end_at - end->at)
        return err_set(err, ERR_MALFORMED, at, "the ZIP archive: its directory is said to have %" PRIu64 " bytes at %"
            PRIu64 ", expected an end at %" PRIu64 ": bytes were put in front of it, or it is damaged", end->size,
            end->at, end->end_at);
    return true;
}

/* The last end record whose comment ends with the file. Most have none, so that few bytes are read first. */
static bool
find_end(struct source *src, struct end *end, struct err *err)
{
    uint64_t size = source_size(src);
    size_t most = (size_t)num_min(size, END + COMMENT_MAX), n = (size_t)num_min(size, END);
    bool found = false, ok = true;
    uint8_t *p = malloc(END + COMMENT_MAX);
    if (!p)
        return err_memory(err, END + COMMENT_MAX);
    while (ok && !found) {
        ok = source_read(src, size - n, p, n, err);
        for (size_t i = n < END ? 0 : n - END + 1; ok && i-- > 0 && !found;)
            if (is(p + i, sig_end) && load_le16(p + i + END - 2) == n - i - END) {
                found = true;
                ok = read_end(src, p + i, size - n + i, end, err);
            }
        if (n == most)
            break;
        n = most;
    }
    free(p);
    return ok && (found || err_set(err, ERR_MALFORMED, size, "the ZIP archive: it ends without an end record (the download "
        "or copy is incomplete, or bytes were put behind it)"));
}

/* --- the directory ------------------------------------------------------------------------------------------ */

/* The extra fields of a header. */
struct field {
    uint16_t id;
    struct cursor in;
};

/* The next of them, while there is one. One that is cut sets c->bad. */
static bool
next_field(struct cursor *c, struct field *f)
{
    if (c->left == 0 || c->bad)
        return false;
    f->id = cursor_u16(c);
    uint64_t n = cursor_u16(c);
    f->in = (struct cursor){ .at = c->at, .left = n };
    f->in.p = cursor_take(c, n);
    return !c->bad;
}

/* What an entry says. */
struct entry {
    struct zip_member m;
    uint16_t method;
    uint32_t external;
    uint32_t disk;
};

/* The values that do not fit into the entry, in this order. */
static bool
read_wide(struct entry *e, struct cursor *extra, uint64_t at, struct err *err)
{
    bool wide[] = { e->m.nbytes == UINT32_MAX, e->m.stored == UINT32_MAX, e->m.header_at == UINT32_MAX };
    uint64_t *to[] = { &e->m.nbytes, &e->m.stored, &e->m.header_at };
    bool found = false;
    for (struct field f; next_field(extra, &f);) {
        if (f.id != ZIP64_FIELD)
            continue;
        if (found)
            return bad_member(err, &e->m, at, "it has two ZIP64 fields in the directory");
        found = true;
        for (int i = 0; i < 3; i++)
            if (wide[i])
                *to[i] = cursor_u64(&f.in);
        if (e->disk == UINT16_MAX)
            e->disk = cursor_u32(&f.in);
        if (f.in.bad)
            return bad_member(err, &e->m, at, "its ZIP64 field in the directory is too short");
    }
    if (extra->bad)
        return bad_member(err, &e->m, at, "an extra field in the directory goes beyond its place");
    if (!found && (wide[0] || wide[1] || wide[2]))
        return bad_member(err, &e->m, at, "its sizes are in a ZIP64 field, which is not there");
    return true;
}

static bool
check_name(const struct zip_member *m, uint64_t at, const struct limits *limits, struct err *err)
{
    bool ascii = true;
    if (m->name_len == 0)
        return bad_archive(err, at, "a member has no name");
    if (m->name_len > limits->zip_name)
        return err_set(err, ERR_LIMIT, at, "bytes of a member's name: %" PRIu32 " is over the limit of %" PRIu64, m->name_len,
            limits->zip_name);
    for (uint32_t i = 0; i < m->name_len; i++)
        ascii = ascii && (uint8_t)m->name[i] < 0x80;
    if (memchr(m->name, '\0', m->name_len))
        return bad_member(err, m, at, "a NUL in its name");
    if (!str_is_utf8(m->name, m->name_len))
        return bad_member(err, m, at, "its name is not UTF-8");
    return ascii || (m->flags & FLAG_UTF8)
        || bad_member(err, m, at, "its name is not ASCII, and no flag says that it is UTF-8");
}

/* Neither a folder nor a link nor a device: nobody stores arrays in those. */
static bool
check_kind(const struct entry *e, uint64_t at, struct err *err)
{
    enum { DOS_FOLDER = 0x10, MODE_SHIFT = 16, MODE_KIND = 0170000, MODE_FILE = 0100000, MODE_LINK = 0120000 };
    uint32_t kind = e->external >> MODE_SHIFT & MODE_KIND;
    if (kind == MODE_LINK)
        return bad_member(err, &e->m, at, "it is a symbolic link, expected a file");
    if ((kind != 0 && kind != MODE_FILE) || (e->external & DOS_FOLDER) || e->m.name[e->m.name_len - 1] == '/')
        return bad_member(err, &e->m, at, "it is a directory or a device, expected a file");
    return true;
}

static bool
check_sizes(const struct entry *e, uint64_t at, const struct limits *limits, struct err *err)
{
    const struct zip_member *m = &e->m;
    char shown[STR_SHOWN];
    uint64_t ratio = num_min(limits->zip_ratio, limits->ratio);
    if (e->method == STORED && m->stored != m->nbytes)
        return bad_member(err, m, at, "it is stored, but its two sizes differ");
    if (e->method == DEFLATED && m->nbytes > SOURCE_RATIO_FREE && (ratio == 0 || m->nbytes / ratio > m->stored))
        return err_set(err, ERR_LIMIT, at, "ratio: member %s: %" PRIu64 " bytes are to become %" PRIu64 ", over the limit of %"
            PRIu64 " to 1 (%s)", str_shown(shown, m->name, m->name_len), m->stored, m->nbytes, ratio,
            limits_origin(limits->ratio, limits->zip_ratio, "--max-ratio"));
    return true;
}

/* One entry of the directory, which `more` others follow; its name goes to *names, which moves on. There is room for what
 * the directory has beside the fixed parts of all of them. */
static bool
read_entry(struct cursor *c, size_t more, struct zip_member *out, char **names, const struct limits *limits, struct err *err)
{
    struct entry e = { 0 };
    uint64_t at = c->at;
    const uint8_t *sig = cursor_take(c, 4);
    if (!sig || c->left < ENTRY - 4)
        return bad_archive(err, at, "its directory ends before the members that it promises");
    if (!is(sig, sig_entry))
        return bad_archive(err, at, "no entry of its directory is here");
    cursor_take(c, 4);
    e.m.flags = cursor_u16(c);
    e.method = cursor_u16(c);
    cursor_take(c, 4);
    e.m.crc = cursor_u32(c);
    e.m.stored = cursor_u32(c);
    e.m.nbytes = cursor_u32(c);
    e.m.name_len = cursor_u16(c);
    uint16_t extra_len = cursor_u16(c), comment_len = cursor_u16(c);
    e.disk = cursor_u16(c);
    cursor_take(c, 2);
    e.external = cursor_u32(c);
    e.m.header_at = cursor_u32(c);
    const uint8_t *name = cursor_take(c, e.m.name_len);
    struct cursor extra = { .at = c->at, .left = extra_len };
    extra.p = cursor_take(c, extra_len);
    cursor_take(c, comment_len);
    if (c->bad || c->left / ENTRY < more)
        return bad_archive(err, at, "an entry of its directory goes beyond its place");
    e.m.name = *names;
    memcpy(*names, name, e.m.name_len);
    (*names)[e.m.name_len] = '\0';
    if (!check_name(&e.m, at, limits, err) || !read_wide(&e, &extra, at, err))
        return false;
    if (e.disk != 0)
        return err_set(err, ERR_UNSUPPORTED, at, "it is a part of a ZIP archive: put all together first (zip -s 0)");
    if (!check_kind(&e, at, err) || !check_sizes(&e, at, limits, err))
        return false;
    *names += e.m.name_len + 1;
    e.m.deflated = e.method == DEFLATED;
    e.m.at = e.method;          /* until the local header is read */
    *out = e.m;
    return true;
}

static bool
read_directory(struct zip *zip, const uint8_t *p, const struct end *end, const struct limits *limits, struct err *err)
{
    struct cursor c = { .p = p, .left = end->size, .at = end->at };
    char *names = zip->names;
    for (size_t i = 0; i < zip->n; i++)
        if (!read_entry(&c, zip->n - i - 1, &zip->member[i], &names, limits, err))
            return false;
    return c.left == 0 || bad_archive(err, c.at, "its directory has more than the members that it promises");
}

static bool
load_directory(struct zip *zip, struct source *src, const struct end *end, struct budget *budget, struct err *err)
{
    const struct limits *limits = &budget->limits;
    if (!limits_check(end->count, limits->zip_members, "members of the ZIP archive", err)
        || !limits_check(end->size, limits->zip_directory, "bytes of the directory of the ZIP archive", err))
        return false;
    if (end->count > end->size / ENTRY)
        return err_set(err, ERR_MALFORMED, end->at, "the ZIP archive: its directory of %" PRIu64 " bytes is said to hold %"
            PRIu64 " members of at least %d", end->size, end->count, ENTRY);
    /* Of its own length each name has less than an entry. */
    uint64_t names = end->size - end->count * ENTRY + end->count, members = end->count * sizeof *zip->member;
    if (end->count == 0)
        return end->size == 0 || bad_archive(err, end->at, "its directory has more than the members that it promises");
    if (!budget_bytes(budget, end->size, "the directory of the ZIP archive", err)
        || !budget_bytes(budget, members, "the members of the ZIP archive", err)
        || !budget_bytes(budget, names, "the names in the ZIP archive", err))
        return false;
    uint8_t *p = malloc((size_t)end->size);
    zip->member = calloc((size_t)end->count, sizeof *zip->member);
    zip->names = malloc((size_t)names);
    zip->n = zip->member ? (size_t)end->count : 0;
    bool ok = (p && zip->member && zip->names) || err_memory(err, end->size + members + names);
    ok = ok && source_read(src, end->at, p, (size_t)end->size, err) && read_directory(zip, p, end, limits, err);
    free(p);
    return ok;
}

/* --- the local headers -------------------------------------------------------------------------------------- */

static int
compare_place(const void *pa, const void *pb)
{
    const struct zip_member *a = pa, *b = pb;
    return (a->header_at > b->header_at) - (a->header_at < b->header_at);
}

static void
sort_members(struct zip *zip)
{
    for (size_t i = 1; i < zip->n; i++)
        if (compare_place(&zip->member[i - 1], &zip->member[i]) > 0) {
            qsort(zip->member, zip->n, sizeof *zip->member, compare_place);
            return;
        }
}

/* Bytes of the file, of which those that lie near each other are read at once. */
struct window {
    struct source *src;
    uint64_t end;               /* the members end here */
    uint64_t at;
    size_t n;
    uint8_t p[16 << 10];
};

/* Bytes [at, at + n), which do not pass the end; with them those up to `want`, or as many as the window takes. */
static const uint8_t *
look(struct window *w, uint64_t at, size_t n, uint64_t want, struct err *err)
{
    if (at >= w->at && at - w->at <= w->n && n <= w->n - (at - w->at))
        return w->p + (at - w->at);
    w->n = (size_t)num_min(num_max(at + n, num_min(want, w->end)) - at, sizeof w->p);
    w->at = at;
    return source_read(w->src, at, w->p, w->n, err) ? w->p : NULL;
}

enum {
    GUESS = 80,                 /* bytes of extra fields that are read with a header: torch has up to 67 */
    NEAR = 100                  /* between two headers, that are read rather than asked for again */
};

/* Where to read on to, for member i and those that follow at once. */
static uint64_t
near_end(const struct zip *zip, size_t i)
{
    uint64_t end = 0, from = zip->member[i].header_at;
    for (; i < zip->n && (end == 0 || zip->member[i].header_at <= end + NEAR) && end - from < sizeof ((struct window *)0)->p;
         i++)
        end = zip->member[i].header_at + LOCAL + zip->member[i].name_len + GUESS;
    return end;
}

/* A place that says the sizes of a member. With a descriptor behind the member it may say 0. */
static bool
check_told(const struct zip_member *m, uint64_t at, uint64_t nbytes, uint64_t stored, struct err *err)
{
    bool later = m->flags & FLAG_DESCRIPTOR;
    return ((nbytes == m->nbytes || (later && nbytes == 0)) && (stored == m->stored || (later && stored == 0)))
        || bad_member(err, m, at, "its sizes in the local header are others than in the directory");
}

/* The extra fields of a local header, n bytes at `at`: what a ZIP64 field says of sizes. torch puts one of the offset alone
 * there, of 8 bytes, or a C of 0. *told: one of them says both. */
static bool
check_local_fields(struct window *w, const struct zip_member *m, uint64_t at, uint64_t n, bool *told, struct err *err)
{
    enum { HEAD = 4, SIZES = 16 };
    *told = false;
    for (uint64_t end = at + n; at < end;) {
        const uint8_t *p = NULL;
        if (end - at >= HEAD && !(p = look(w, at, HEAD, at, err)))
            return false;
        uint16_t id = p ? load_le16(p) : 0, len = p ? load_le16(p + 2) : 0;
        if (!p || len > end - at - HEAD)
            return bad_member(err, m, at, "an extra field of its local header goes beyond its place");
        if (id == ZIP64_FIELD && len >= SIZES) {
            *told = true;
            p = look(w, at + HEAD, SIZES, at, err);
            if (!p || !check_told(m, at, load_le64(p), load_le64(p + 8), err))
                return false;
        }
        at += HEAD + (uint64_t)len;
    }
    return true;
}

static bool
check_method(const struct zip_member *m, uint16_t method, struct err *err)
{
    char shown[STR_SHOWN];
    if (m->flags & FLAGS_SECRET)
        return err_set(err, ERR_UNSUPPORTED, m->header_at, "member %s: it is encrypted: decrypt it first",
            str_shown(shown, m->name, m->name_len));
    if (method != STORED && method != DEFLATED)
        return err_set(err, ERR_UNSUPPORTED, m->header_at, "member %s: it is compressed by method %u, expected stored (0) or "
            "deflated (8): pack it again", str_shown(shown, m->name, m->name_len), method);
    return true;
}

/* Hold a member against its local header, which sets where its bytes are. */
static bool
read_local(struct window *w, const struct zip *zip, size_t i, struct err *err)
{
    struct zip_member *m = &zip->member[i];
    uint16_t method = (uint16_t)m->at;
    uint64_t left = w->end > m->header_at ? w->end - m->header_at : 0;
    if (left < LOCAL + (uint64_t)m->name_len)
        return bad_member(err, m, m->header_at, "its local header lies beyond the members");
    const uint8_t *p = look(w, m->header_at, LOCAL + m->name_len, near_end(zip, i), err);
    if (!p)
        return false;
    if (!is(p, sig_local))
        return bad_member(err, m, m->header_at, "no local header is where the directory says");
    struct cursor c = { .p = p + 6, .left = LOCAL - 6, .at = m->header_at + 6 };
    uint16_t flags = cursor_u16(&c), local_method = cursor_u16(&c);
    cursor_take(&c, 4);
    uint32_t crc = cursor_u32(&c);
    uint32_t stored = cursor_u32(&c), nbytes = cursor_u32(&c);
    uint16_t name_len = cursor_u16(&c), extra_len = cursor_u16(&c);
    if (name_len != m->name_len || memcmp(p + LOCAL, m->name, name_len) != 0)
        return bad_member(err, m, m->header_at, "its local header has another name");
    if (local_method != method || ((flags ^ m->flags) & FLAGS_TOLD))
        return bad_member(err, m, m->header_at, "its local header has another method or other flags");
    m->at = m->header_at + LOCAL + name_len + extra_len;
    if (m->at > w->end || m->stored > w->end - m->at)
        return bad_member(err, m, m->header_at, "it goes beyond where the members end");
    if (crc != m->crc && !((flags & FLAG_DESCRIPTOR) && crc == 0))
        return bad_member(err, m, m->header_at, "its CRC-32 in the local header is another one than in the directory");
    bool told;
    if (!check_local_fields(w, m, m->header_at + LOCAL + name_len, extra_len, &told, err))
        return false;
    return check_told(m, m->header_at, told && nbytes == UINT32_MAX ? m->nbytes : nbytes,
        told && stored == UINT32_MAX ? m->stored : stored, err) && check_method(m, method, err);
}

/* What lies between the end of a member and `next`: nothing, or its descriptor. */
static bool
check_behind(struct window *w, const struct zip_member *m, uint64_t next, uint64_t want, struct err *err)
{
    uint64_t end = m->at + m->stored, gap = next - end;
    if (next < end)
        return bad_member(err, m, end, "it overlaps what follows it");
    if (!(m->flags & FLAG_DESCRIPTOR))
        return gap == 0 || bad_member(err, m, end, "bytes that belong to no member follow it");
    if (gap != SHORT_DESCRIPTOR && gap != LONG_DESCRIPTOR)
        return bad_member(err, m, end, "no data descriptor of 16 or 24 bytes follows it");
    const uint8_t *p = look(w, end, (size_t)gap, want, err);
    if (!p)
        return false;
    bool wide = gap == LONG_DESCRIPTOR;
    uint64_t stored = wide ? load_le64(p + 8) : load_le32(p + 8), nbytes = wide ? load_le64(p + 16) : load_le32(p + 12);
    if (!is(p, sig_descriptor) || load_le32(p + 4) != m->crc || stored != m->stored || nbytes != m->nbytes)
        return bad_member(err, m, end, "its data descriptor says otherwise than the directory");
    return true;
}

/* Every member against its local header, and all of them, one behind the other, fill the file up to the directory. */
static bool
read_locals(struct zip *zip, struct source *src, uint64_t end, struct err *err)
{
    struct window *w = malloc(sizeof *w);
    uint64_t sum = 0;
    bool ok = w || err_memory(err, sizeof *w);
    if (ok) {
        w->src = src;
        w->end = end;
        w->n = 0;
    }
    uint64_t first = zip->n != 0 ? zip->member[0].header_at : end;
    if (ok && first != 0)
        ok = err_set(err, ERR_MALFORMED, 0, "the ZIP archive: %" PRIu64 " bytes lie in front of its first member", first);
    for (size_t i = 0; ok && i < zip->n; i++) {
        struct zip_member *m = &zip->member[i];
        bool last = i + 1 == zip->n;
        ok = read_local(w, zip, i, err)
            && check_behind(w, m, last ? end : m[1].header_at, last ? end : near_end(zip, i + 1), err);
        m->out_at = sum;
        if (ok && !num_add(&sum, sum, m->nbytes))
            ok = bad_member(err, m, m->header_at, "its size and those before it are more than 64 bits can count");
    }
    free(w);
    return ok;
}

/* --- names -------------------------------------------------------------------------------------------------- */

static const char *
name_of(const void *zip, uint32_t i, size_t *n)
{
    const struct zip_member *m = &((const struct zip *)zip)->member[i];
    *n = m->name_len;
    return m->name;
}

/* Put all names into the table; two that are equal are ERR_MALFORMED. */
static bool
index_names(struct table *table, const struct zip *zip, const char *what, struct err *err)
{
    if (!table_reserve(table, zip->n, err))
        return false;
    for (uint32_t i = 0; i < zip->n; i++) {
        const struct zip_member *m = &zip->member[i];
        uint32_t number = i;
        bool again;
        if (!table_add(table, name_of, zip, m->name, m->name_len, &number, &again, err))
            return false;
        if (again)
            return bad_member(err, m, m->header_at, what);
    }
    return true;
}

bool
zip_cases_differ(const struct zip *zip, struct budget *budget, struct err *err)
{
    struct zip folded = { .n = zip->n };
    size_t size = zip->n * sizeof *folded.member, names = 0;
    for (size_t i = 0; i < zip->n; i++)
        names += zip->member[i].name_len + 1;
    if (zip->n == 0)
        return true;
    if (!budget_bytes(budget, size + names, "the names in the ZIP archive", err))
        return false;
    folded.member = malloc(size);
    folded.names = malloc(names);
    bool ok = (folded.member && folded.names) || err_memory(err, size + names);
    char *p = folded.names;
    for (size_t i = 0; ok && i < zip->n; i++) {
        folded.member[i] = zip->member[i];
        folded.member[i].name = p;
        for (const char *c = zip->member[i].name, *end = c + zip->member[i].name_len; c <= end; c++)
            *p++ = c < end && *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
    }
    ok = ok && index_names(&folded.table, &folded, "its name differs from that of another one in the case of letters alone",
        err);
    zip_clear(&folded);
    return ok;
}

const struct zip_member *
zip_find(const struct zip *zip, const char *name, size_t n)
{
    uint32_t i;
    return table_find(&zip->table, name_of, zip, name, n, &i) ? &zip->member[i] : NULL;
}

/* --- */

bool
zip_read(struct zip *zip, struct source *src, struct budget *budget, struct err *err)
{
    struct end end = { 0 };
    *zip = (struct zip){ 0 };
    if (!find_end(src, &end, err) || !load_directory(zip, src, &end, budget, err))
        return false;
    zip->comment_len = end.comment_len;
    sort_members(zip);
    return read_locals(zip, src, end.at, err) && index_names(&zip->table, zip, "another one has the same name", err);
}

void
zip_clear(struct zip *zip)
{
    if (!zip->lent) {
        free(zip->member);
        free(zip->names);
        table_clear(&zip->table);
    }
    *zip = (struct zip){ 0 };
}
