/* archive_files: the files in an archive, as a bundle. Programs such as llamafile have a ZIP archive at their end, .nemo is a tar archive of a
 * directory. Sources: APPNOTE.TXT; POSIX, pax; GNU tar's manual, "Basic Tar Format". */
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/str.h"
#include "container/archive.h"
#include "container/container.h"
#include "container/numpy/npz.h"
#include "source/tar.h"

enum { EXTENDED_MAX = 64 << 10, TAR_MEMBERS_MAX = 1 << 16, TAR_PREFIX = 155 };

/* Adds a file unless it is a folder, or what macOS adds. */
static bool
add_file(struct bundle *b, const char *path, const char *name, uint64_t at, uint64_t nbytes, bool deflated, struct err *err)
{
    while (strncmp(name, "./", 2) == 0)
        name += 2;
    if (*name == '\0' || str_ends(name, "/") || str_begins(name, "__MACOSX/"))
        return true;
    const struct bundled file = { .name = (char *)name, .path = (char *)path, .at = at, .nbytes = nbytes, .deflated = deflated };
    return bundle_add(b, &file, err);
}

/* --- ZIP */

static bool
list_zip(struct bundle *b, struct source *src, const char *path, struct budget *budget, struct err *err)
{
    struct zip zip = { 0 };
    bool npz = true;
    bool ok = zip_list(&zip, src, budget, err);
    ok = ok && (archive_is_checkpoint(&zip) || archive_format(&zip) || npz_probe(&zip, src, &npz, err));
    for (size_t i = 0; ok && !npz && i < zip.n; i++) {
        const struct zip_member *m = &zip.member[i];
        ok = add_file(b, path, m->name, m->at, m->stored, m->deflated, err);
    }
    zip_clear(&zip);
    return ok;
}

/* --- tar */

/* What headers before a member declare about it. */
struct tar_extended {
    char *name;                 /* owned, or NULL */
    uint64_t size;              /* UINT64_MAX: nothing */
};

/* Keeps a name of n bytes. */
static bool
keep_name(struct tar_extended *x, const char *name, size_t n, struct err *err)
{
    free(x->name);
    x->name = strndup(name, n);
    return x->name || err_memory(err, n + 1);
}

static bool
bad_pax(uint64_t at, struct err *err)
{
    return err_at(err, ERR_MALFORMED, at, "tar archive: invalid pax header");
}

/* Reads "LENGTH KEY=VALUE\n" records, which begin at an offset of the file. */
static bool
read_pax(struct tar_extended *x, const char *p, size_t n, uint64_t begin, struct err *err)
{
    for (size_t at = 0; at < n;) {
        char *end;
        unsigned long len = strtoul(p + at, &end, 10);
        if (*end != ' ' || len == 0 || len > n - at || p[at + len - 1] != '\n')
            return bad_pax(begin, err);
        const char *key = end + 1, *last = p + at + len - 1;
        if (last < key)
            return bad_pax(begin, err);
        if (last - key >= 5 && memcmp(key, "path=", 5) == 0) {
            if (!keep_name(x, key + 5, (size_t)(last - key) - 5, err))
                return false;
        } else if (last - key > 5 && memcmp(key, "size=", 5) == 0) {
            char digits[24] = "";
            size_t digit = (size_t)(last - key) - 5;
            if (digit >= sizeof digits || !str_to_u64(&x->size, memcpy(digits, key + 5, digit)))
                return bad_pax(begin, err);
        }
        at += len;
    }
    return true;
}

/* Reads the data of a header that extends the next one: GNU's long name, or pax. */
static bool
read_extended(struct tar_extended *x, struct source *src, const struct tar_member *m, char type, struct err *err)
{
    uint64_t n = m->end - m->at;
    if (!limits_check(n, EXTENDED_MAX, "bytes of an extended tar header", err))
        return false;
    char *text = malloc((size_t)n + 1);
    if (!text)
        return err_memory(err, n + 1);
    bool ok = source_read(src, m->at, text, (size_t)n, err);
    text[n] = '\0';
    if (ok && type == 'L')
        ok = keep_name(x, text, strlen(text), err);
    else if (ok)
        ok = read_pax(x, text, (size_t)n, m->at, err);
    free(text);
    return ok;
}

/* Writes the name in a header: its prefix, if it is of ustar, a slash, and the rest. */
static void
short_name(char name[TAR_PREFIX + TAR_NAME + 2], const uint8_t *head)
{
    size_t n = 0;
    if (memcmp(head + TAR_MAGIC_AT, "ustar", 6) == 0 && head[TAR_PREFIX_AT] != '\0') {
        n = strnlen((const char *)head + TAR_PREFIX_AT, TAR_PREFIX);
        memcpy(name, head + TAR_PREFIX_AT, n);
        name[n++] = '/';
    }
    size_t len = strnlen((const char *)head, TAR_NAME);
    memcpy(name + n, head, len);
    name[n + len] = '\0';
}

/* Adds the file whose header was read, or keeps what the header says of the next one. */
static bool
take_member(struct bundle *b, struct tar_extended *x, struct source *src, const char *path, struct tar_member *m, struct err *err)
{
    char type = (char)m->head[TAR_TYPE_AT], name[TAR_PREFIX + TAR_NAME + 2];
    bool extends = type == 'L' || type == 'x', ok = true;
    if (x->size != UINT64_MAX && !extends && (!num_add(&m->end, m->at, x->size) || !num_align(&m->next, m->end, TAR_BLOCK)))
        m->end = UINT64_MAX;
    if (m->end > source_size(src))
        return err_at(err, ERR_MALFORMED, source_size(src), "tar archive: truncated in a member (incomplete download or copy?)");
    if (extends)
        return read_extended(x, src, m, type, err);
    short_name(name, m->head);
    if (type == '0' || type == '\0' || type == '7')
        ok = add_file(b, path, str_or(x->name, name), m->at, m->end - m->at, false, err);
    free(x->name);
    *x = (struct tar_extended){ .size = UINT64_MAX };
    return ok;
}

static bool
list_tar(struct bundle *b, struct source *src, const char *path, struct err *err)
{
    struct tar_extended x = { .size = UINT64_MAX };
    struct tar_member m;
    uint64_t total = source_size(src);
    enum tar_found found = TAR_MEMBER;
    bool ok = true;
    for (uint64_t i = 0, at = 0; ok && at <= total; i++, at = m.next) {
        ok = limits_check(i, TAR_MEMBERS_MAX, "members of the tar archive", err);
        if (ok)
            found = tar_read(&m, src, at, err);
        if (ok && found == TAR_BROKEN)
            ok = err_at(err, ERR_MALFORMED, at, "tar archive: a header has the wrong checksum");
        if (!ok || found != TAR_MEMBER)
            break;
        ok = take_member(b, &x, src, path, &m, err);
    }
    free(x.name);
    if (ok && (found == TAR_MEMBER || found == TAR_SHORT))
        return err_at(err, ERR_MALFORMED, total, "tar archive: truncated (incomplete download or copy?)");
    return ok && found == TAR_ZEROS;
}

/* --- */

bool
archive_bundle(struct bundle *b, struct source *src, const char *path, struct budget *budget, struct err *err)
{
    static const char *const programs[] = { "MZqFpD", "jartsr=", "APEDBG=", "\177ELF", "PK\3\4" };
    uint8_t head[TAR_BLOCK] = { 0 };
    size_t n = (size_t)num_min(source_size(src), sizeof head);
    if (!source_read(src, 0, head, n, err))
        return false;
    bool zip = false, ok = true;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        zip = zip || str_prefixed(head, n, programs[i]);
    if (zip)
        ok = list_zip(b, src, path, budget, err);
    else if (tar_probe(head, n))
        ok = list_tar(b, src, path, err);
    if (!ok || b->n == 0)
        return ok;
    bundle_strip(b);
    return bundle_begin(b, path, err) && bundle_seal(b, err);
}
