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
 * C is the compressed size, U the uncompressed size of the member. A directory field that is all ones has its value in the
 * extra field 1, a field of the end record in the ZIP64 record: numbers of disks, too. Values that are stored twice must agree, and the parts must tile the file. A reader that follows the
 * directory and one that goes from one local header to the next then see the same members. Follows APPNOTE.TXT 6.3.10 and
 * what torch (miniz) and NumPy (zipfile) write.
 */
#include "source/zip_priv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cursor.h"
#include "base/num.h"
#include "base/str.h"

enum { RECORD_SAYS = 44 };

static const char sig_entry[4] = "PK\1\2", sig_end[4] = "PK\5\6", sig_record[4] = "PK\6\6", sig_locator[4] = "PK\6\7";

/* Location and contents of the directory, as given by the end record. */
struct end {
    uint64_t count, size, at;   /* extent of the directory */
    uint64_t end_at;            /* required end of the directory */
    bool wide;                  /* the number of a disk is in the ZIP64 record, which was not read yet */
    uint32_t comment_len;
};

static bool
bad_archive(struct err *err, uint64_t at, const char *text)
{
    return err_at(err, ERR_MALFORMED, at, "ZIP archive: %s", text);
}

static bool
is_part(struct err *err, uint64_t at)
{
    return err_at(err, ERR_UNSUPPORTED, at, "one part of a split ZIP archive: join the parts first (zip -s 0)");
}

bool
zip_bad_member(struct err *err, const struct zip_member *m, uint64_t at, const char *text)
{
    char shown[STR_SHOWN];
    return err_at(err, ERR_MALFORMED, at, "member %s: %s", str_shown(shown, m->name, m->name_len), text);
}

/* --- the end ------------------------------------------------------------------------------------------------ */

/* Reads the ZIP64 record if its locator precedes the end record at `at`. The record must come right before the locator, and
 * must agree with the end record as far as that can hold the values. */
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
    if (!zip_is(cursor_take(&c, 4), sig_locator))
        return true;
    uint32_t disk = cursor_u32(&c);
    uint64_t record_at = cursor_u64(&c);
    uint32_t disks = cursor_u32(&c);
    if (disk != 0 || disks > 1)
        return err_at(err, ERR_UNSUPPORTED, at - LOCATOR, "one of %" PRIu32 " parts of a split ZIP archive: join them "
            "first (zip -s 0)", disks);
    if (n < sizeof raw || record_at != at - sizeof raw || !zip_is(raw, sig_record))
        return bad_archive(err, at - LOCATOR, "no ZIP64 end record right before its locator");
    c = (struct cursor){ .p = raw + 4, .left = RECORD - 4, .at = record_at + 4 };
    uint64_t says = cursor_u64(&c);
    cursor_take(&c, 4);
    uint32_t this_disk = cursor_u32(&c), first_disk = cursor_u32(&c);
    uint64_t here = cursor_u64(&c), count = cursor_u64(&c), size = cursor_u64(&c), dir = cursor_u64(&c);
    if (this_disk != 0 || first_disk != 0)
        return is_part(err, record_at);
    if (says != RECORD_SAYS || here != count)
        return bad_archive(err, record_at, "the ZIP64 end record has the wrong length or conflicting member counts");
    if ((end->count != UINT16_MAX && end->count != count) || (end->size != UINT32_MAX && end->size != size)
        || (end->at != UINT32_MAX && end->at != dir))
        return bad_archive(err, record_at, "the end record and the ZIP64 end record disagree");
    *end = (struct end){ .count = count, .size = size, .at = dir, .end_at = record_at, .comment_len = end->comment_len };
    return true;
}

/* Reads the end record at p, which is at offset `at` of the file. */
static bool
read_end(struct source *src, const uint8_t *p, uint64_t at, struct end *end, struct err *err)
{
    struct cursor c = { .p = p + 4, .left = END - 4, .at = at + 4 };
    uint16_t disk = cursor_u16(&c), first_disk = cursor_u16(&c), here = cursor_u16(&c);
    *end = (struct end){ .count = cursor_u16(&c), .end_at = at };
    end->size = cursor_u32(&c);
    end->at = cursor_u32(&c);
    end->comment_len = cursor_u16(&c);
    end->wide = disk != 0 || first_disk != 0;
    if ((disk != 0 && disk != UINT16_MAX) || (first_disk != 0 && first_disk != UINT16_MAX))
        return is_part(err, at);
    if (here != end->count)
        return bad_archive(err, at, "the end record has conflicting member counts");
    if (!read_record(src, at, end, err))
        return false;
    if (end->wide)
        return is_part(err, at);
    if (end->at > end->end_at || end->size != end->end_at - end->at)
        return err_at(err, ERR_MALFORMED, at, "ZIP archive: the directory, %" PRIu64 " bytes at %" PRIu64 ", does not "
            "end at %" PRIu64 " as expected: data was prepended, or the file is damaged", end->size,
            end->at, end->end_at);
    return true;
}

/* Finds the last end record whose comment ends with the file. Most have no comment, so few bytes are read first. */
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
            if (zip_is(p + i, sig_end) && load_le16(p + i + END - 2) == n - i - END) {
                found = true;
                ok = read_end(src, p + i, size - n + i, end, err);
            }
        if (n == most)
            break;
        n = most;
    }
    free(p);
    return ok && (found || err_at(err, ERR_MALFORMED, size, "ZIP archive: no end record (incomplete download or copy, "
        "or trailing data?)"));
}

/* --- the directory ------------------------------------------------------------------------------------------ */

/* The extra fields of a header. */
struct zip_field {
    uint16_t id;
    struct cursor in;
};

/* Moves to the next field and returns true while there is one. Sets c->bad if it is truncated. */
static bool
next_field(struct cursor *c, struct zip_field *f)
{
    if (c->left == 0 || c->bad)
        return false;
    f->id = cursor_u16(c);
    uint64_t n = cursor_u16(c);
    f->in = (struct cursor){ .at = c->at, .left = n };
    f->in.p = cursor_take(c, n);
    return !c->bad;
}

/* The fields of a directory entry. */
struct zip_entry {
    struct zip_member m;
    uint16_t method;
    uint32_t external;
    uint32_t disk;
};

/* Reads the values that do not fit into the entry, in their fixed order. */
static bool
read_wide(struct zip_entry *e, struct cursor *extra, uint64_t at, struct err *err)
{
    bool wide[] = { e->m.nbytes == UINT32_MAX, e->m.stored == UINT32_MAX, e->m.header_at == UINT32_MAX };
    uint64_t *to[] = { &e->m.nbytes, &e->m.stored, &e->m.header_at };
    bool found = false;
    for (struct zip_field f; next_field(extra, &f);) {
        if (f.id != ZIP64_FIELD)
            continue;
        if (found)
            return zip_bad_member(err, &e->m, at, "duplicate ZIP64 field in the directory");
        found = true;
        for (int i = 0; i < 3; i++)
            if (wide[i])
                *to[i] = cursor_u64(&f.in);
        if (e->disk == UINT16_MAX)
            e->disk = cursor_u32(&f.in);
        if (f.in.bad)
            return zip_bad_member(err, &e->m, at, "the ZIP64 field in the directory is too short");
    }
    if (extra->bad)
        return zip_bad_member(err, &e->m, at, "an extra field overruns its directory entry");
    if (!found && (wide[0] || wide[1] || wide[2]))
        return zip_bad_member(err, &e->m, at, "the ZIP64 field with its sizes is missing");
    return true;
}

static bool
check_name(const struct zip_member *m, uint64_t at, struct err *err)
{
    bool ascii = true;
    if (m->name_len == 0)
        return bad_archive(err, at, "a member has no name");
    if (m->name_len > ZIP_NAME_MAX)
        return err_at(err, ERR_LIMIT, at, "bytes of a member name: %" PRIu32 " exceeds the limit of %d", m->name_len,
            ZIP_NAME_MAX);
    for (uint32_t i = 0; i < m->name_len; i++)
        ascii = ascii && (uint8_t)m->name[i] < 0x80;
    if (memchr(m->name, '\0', m->name_len))
        return zip_bad_member(err, m, at, "the name contains a NUL");
    if (!str_is_utf8(m->name, m->name_len))
        return zip_bad_member(err, m, at, "the name is not valid UTF-8");
    return ascii || (m->flags & FLAG_UTF8)
        || zip_bad_member(err, m, at, "the name is not ASCII, but the UTF-8 flag is not set");
}

/* Fails for a folder, a link or a device: none of them stores an array. Only an archive of files may have folders. */
static bool
check_kind(const struct zip_entry *e, bool files, uint64_t at, struct err *err)
{
    enum { DOS_FOLDER = 0x10, MODE_SHIFT = 16, MODE_KIND = 0170000, MODE_FILE = 0100000, MODE_LINK = 0120000 };
    uint32_t kind = e->external >> MODE_SHIFT & MODE_KIND;
    if (kind == MODE_LINK)
        return zip_bad_member(err, &e->m, at, "expected a file, found a symbolic link");
    if (e->m.name[e->m.name_len - 1] == '/' && e->m.nbytes == 0)
        return files || err_at(err, ERR_UNSUPPORTED, at, "this ZIP archive has folders: extract it with 'unzip FILE' and give the model "
            "in it; an archive of a model directory is read from a file, not from a pipe");
    if ((kind != 0 && kind != MODE_FILE) || (e->external & DOS_FOLDER) || e->m.name[e->m.name_len - 1] == '/')
        return zip_bad_member(err, &e->m, at, "expected a file, found a directory or a device");
    return true;
}

static bool
check_sizes(const struct zip_entry *e, uint64_t at, const struct limits *limits, struct err *err)
{
    const struct zip_member *m = &e->m;
    char shown[STR_SHOWN];
    uint64_t ratio = num_min(ZIP_RATIO_MAX, limits->ratio);
    if (e->method == STORED && m->stored != m->nbytes)
        return zip_bad_member(err, m, at, "stored, but its two sizes differ");
    if (e->method == DEFLATED && m->nbytes > SOURCE_RATIO_FREE && (ratio == 0 || m->nbytes / ratio > m->stored))
        return err_at(err, ERR_LIMIT, at, "ratio: member %s: %" PRIu64 " bytes expand to %" PRIu64 ", which exceeds the"
            " limit of %" PRIu64 " to 1 (%s)", str_shown(shown, m->name, m->name_len), m->stored, m->nbytes, ratio,
            limits_origin(limits->ratio, ZIP_RATIO_MAX, "--max-ratio"));
    return true;
}

/* Reads a directory entry, which is followed by `more` others, and appends its name to *names. The buffer has room for all
 * that the directory has besides the fixed parts of its entries. */
static bool
read_entry(struct cursor *c, size_t more, bool files, struct zip_member *out, char **names, const struct limits *limits, struct err *err)
{
    struct zip_entry e = { 0 };
    uint64_t at = c->at;
    const uint8_t *sig = cursor_take(c, 4);
    if (!sig || c->left < ENTRY - 4)
        return bad_archive(err, at, "the directory has fewer members than declared");
    if (!zip_is(sig, sig_entry))
        return bad_archive(err, at, "expected a directory entry here");
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
        return bad_archive(err, at, "an entry overruns the directory");
    e.m.name = *names;
    memcpy(*names, name, e.m.name_len);
    (*names)[e.m.name_len] = '\0';
    if (!check_name(&e.m, at, err) || !read_wide(&e, &extra, at, err))
        return false;
    if (e.disk != 0)
        return is_part(err, at);
    if (!check_kind(&e, files, at, err) || !check_sizes(&e, at, limits, err))
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
        if (!read_entry(&c, zip->n - i - 1, zip->files, &zip->member[i], &names, limits, err))
            return false;
    return c.left == 0 || bad_archive(err, c.at, "the directory has more members than declared");
}

static bool
load_directory(struct zip *zip, struct source *src, const struct end *end, struct budget *budget, struct err *err)
{
    const struct limits *limits = &budget->limits;
    if (!limits_check(end->count, ZIP_MEMBERS_MAX, "members of the ZIP archive", err)
        || !limits_check(end->size, ZIP_DIRECTORY_MAX, "bytes of the ZIP directory", err))
        return false;
    if (end->count > end->size / ENTRY)
        return err_at(err, ERR_MALFORMED, end->at, "ZIP archive: a directory of %" PRIu64 " bytes is too small for %"
            PRIu64 " members of at least %d bytes", end->size, end->count, ENTRY);
    /* Each name is shorter than its entry, so the names fit into the size of the directory. */
    uint64_t names = end->size - end->count * ENTRY + end->count, members = end->count * sizeof *zip->member;
    if (end->count == 0)
        return end->size == 0 || bad_archive(err, end->at, "the directory has more members than declared");
    if (!budget_bytes(budget, end->size, "the directory of the ZIP archive", err)
        || !budget_bytes(budget, members, "the members of the ZIP archive", err)
        || !budget_bytes(budget, names, "the names in the ZIP archive", err))
        return false;
    uint8_t *p = malloc((size_t)end->size);
    zip->member = calloc((size_t)end->count, sizeof *zip->member);
    zip->names = malloc((size_t)names);
    if (zip->member)
        zip->n = (size_t)end->count;
    else
        zip->n = 0;
    bool ok = (p && zip->member && zip->names) || err_memory(err, end->size + members + names);
    ok = ok && source_read(src, end->at, p, (size_t)end->size, err) && read_directory(zip, p, end, limits, err);
    free(p);
    return ok;
}

static int
compare_place(const void *pa, const void *pb)
{
    const struct zip_member *a = pa, *b = pb;
    return (a->header_at > b->header_at) - (a->header_at < b->header_at);
}

/* --- names -------------------------------------------------------------------------------------------------- */

static const char *
zip_name_of(const void *zip, uint32_t i, size_t *n)
{
    const struct zip_member *m = &((const struct zip *)zip)->member[i];
    *n = m->name_len;
    return m->name;
}

/* Enters all names into the table. Fails with ERR_MALFORMED if two are equal. */
static bool
index_names(struct table *table, const struct zip *zip, const char *what, struct err *err)
{
    if (!table_reserve(table, zip->n, err))
        return false;
    for (uint32_t i = 0; i < zip->n; i++) {
        const struct zip_member *m = &zip->member[i];
        uint32_t number = i;
        bool again;
        if (!table_add(table, zip_name_of, zip, m->name, m->name_len, &number, &again, err))
            return false;
        if (again)
            return zip_bad_member(err, m, m->header_at, what);
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
    ok = ok && index_names(&folded.table, &folded, "the name differs from that of another member only in case",
        err);
    zip_clear(&folded);
    return ok;
}

const struct zip_member *
zip_find(const struct zip *zip, const char *name, size_t n)
{
    uint32_t i;
    if (table_find(&zip->table, zip_name_of, zip, name, n, &i))
        return &zip->member[i];
    return NULL;
}

/* --- */

static bool
zip_load(struct zip *zip, struct source *src, struct budget *budget, struct err *err)
{
    struct end end = { 0 };
    if (!find_end(src, &end, err) || !load_directory(zip, src, &end, budget, err))
        return false;
    zip->comment_len = end.comment_len;
    array_sort(zip->member, zip->n, sizeof *zip->member, compare_place);
    return zip_read_locals(zip, src, end.at, err) && index_names(&zip->table, zip, "duplicate member name", err);
}

bool
zip_read(struct zip *zip, struct source *src, struct budget *budget, struct err *err)
{
    *zip = (struct zip){ 0 };
    return zip_load(zip, src, budget, err);
}

bool
zip_list(struct zip *zip, struct source *src, struct budget *budget, struct err *err)
{
    *zip = (struct zip){ .files = true };
    return zip_load(zip, src, budget, err);
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
