#include "scan/pickles.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/str.h"
#include "scan/pickles_priv.h"
#include "source/tar.h"

/* --- faults ---------------------------------------------------------------------------------------------- */

void
pickles_fault(struct scanner *s, const char *member, size_t n, enum err_kind kind, uint64_t at, const char *format, ...)
{
    char shown[STR_SHOWN], before[STR_SHOWN + 16] = "";
    va_list args;
    va_start(args, format);
    if (member)
        snprintf(before, sizeof before, "member %s: ", str_shown(shown, member, n));
    err_vset(&s->p->fault, kind, member ? ERR_NO_OFFSET : at, before, format, args);
    va_end(args);
}

/* Returns true if bytes follow the padding of the last tensor, which ends at *end. If a tensor's type is unknown, they may
 * be its data. */
static bool
has_tail(const struct catalog *c, uint64_t size, uint64_t *end)
{
    uint64_t alignment = num_max(1, catalog_facts_of(c)->alignment), padded;
    for (size_t i = 0; i < catalog_count(c); i++) {
        const struct tensor *t = catalog_at(c, i);
        if (t->dtype == DTYPE_UNKNOWN)
            return false;
        *end = num_max(*end, t->extent.at + t->extent.nbytes);
    }
    return *end != 0 && num_align(&padded, *end, alignment) && padded < size;
}

bool
pickles_account(struct scanner *s, const struct container *container, bool *ok)
{
    const struct container_options options = { .limits = s->limits };
    struct err why;
    uint64_t end = 0;
    err_init(&why);
    struct catalog *c = catalog_new(s->limits, &why);
    *ok = c && container->read(c, s->src, 0, &options, &why);
    bool tail = *ok && container->tail_ok && has_tail(c, source_size(s->src), &end);
    catalog_free(c);
    if (tail)
        pickles_fault(s, s->member, s->member_len, ERR_MALFORMED, end, "trailing bytes after the last tensor");
    if (*ok || why.kind == ERR_MEMORY || why.kind == ERR_IO) {
        *s->err = *ok ? *s->err : why;
        return *ok;
    }
    pickles_fault(s, s->member, s->member_len, why.kind, why.at, "%s", why.text);
    return true;
}

/* --- members --------------------------------------------------------------------------------------------- */

bool
pickles_path(const struct scanner *s, struct str *path, const char *member, size_t n, struct err *err)
{
    str_text(path, "");
    if (s->member) {
        str_add(path, s->member, s->member_len);
        str_text(path, "!/");
    }
    str_add(path, member, n);
    return !path->failed || err_memory(err, path->room);
}

bool
pickles_is_program(struct scanner *s, const char *name, size_t n)
{
    static const char *const suffixes[] = { ".py", ".pyc", ".pyd", ".so", ".dll", ".dylib", ".h5", ".hdf5", ".keras" };
    for (size_t i = 0, stem = n; i < sizeof suffixes / sizeof *suffixes; i++)
        if (str_strip(name, &stem, suffixes[i])) {
            pickles_fault(s, name, n, ERR_UNSUPPORTED, ERR_NO_OFFSET, "not scanned: a program, or a file that may contain one");
            return true;
        }
    return false;
}

/* --- a file ---------------------------------------------------------------------------------------------- */

/* What the first bytes of a file look like. */
struct beginning {
    const struct container *container;          /* one without pickles, or NULL */
    bool zip, tar, npy, pickle;
};

static bool
see_beginning(struct beginning *b, struct source *src, struct err *err)
{
    const struct container *const without[] = { &container_gguf, &container_safetensors };
    const uint8_t *head;
    uint64_t have;
    *b = (struct beginning){ 0 };
    if (!source_head(src, PICKLES_PROBE, &head, &have, err))
        return false;
    size_t n = (size_t)have;
    for (size_t i = 0; i < sizeof without / sizeof *without && !b->container; i++)
        if (without[i]->probe(head, n, source_size(src)))
            b->container = without[i];
    b->zip = str_prefixed(head, n, "PK");
    b->tar = tar_probe(head, n);
    b->npy = str_prefixed(head, n, "\x93NUMPY");
    b->pickle = n >= 2 && head[0] == 0x80 && head[1] <= 5;
    source_head_done(src, 0);
    return true;
}

/* Scans the file from its first byte, as a NumPy array or as pickles. */
static bool
scan_bytes(struct scanner *s, const struct beginning *b, bool sure)
{
    struct zip_loose_bytes *bytes = zip_loose_open(s->src, 0, source_size(s->src), false, s->err);
    struct window w = { .some = zip_loose_some, .of = bytes, .max = PICKLE_MAX, .total = source_size(s->src) };
    struct pickles_run run = { .member = s->member, .member_len = s->member_len, .whole = true, .sure = sure,
        .aside = !sure && (b->container || b->zip || b->tar) };
    bool npy = false;
    bool ok = bytes && (!b->npy || pickles_npy(s, &run, &w, &npy)) && (npy || pickles_run(s, &run, &w));
    *s->read += w.at + w.n + num_min(w.total, PICKLES_TAIL);
    window_clear(&w);
    zip_loose_close(bytes);
    return ok;
}

/* Returns the name of the format that a file has, or NULL. `ends`: it has the directory of a ZIP at its end. */
static const char *
format_of(const struct beginning *b, bool ends)
{
    if (b->container)
        return b->container->name;
    if (b->zip)
        return "ZIP";
    if (b->npy)
        return "NPY";
    if (b->tar)
        return "tar";
    if (b->pickle)
        return "pickle";
    if (ends)
        return "ZIP";
    return NULL;
}

/* Scans a file in every way that a loader would read it: from its first byte, by the directory at its end, as a tar archive,
 * and as the format that its first bytes suggest. */
static bool
scan_file(struct scanner *s, bool sure, const char **format)
{
    struct beginning b;
    bool ends = false, accounted;
    if (!see_beginning(&b, s->src, s->err) || !zip_loose_ends(s->src, &ends, s->err))
        return false;
    bool primary = b.npy || b.pickle || sure;
    bool zip = b.zip || ends;
    *format = format_of(&b, ends);
    if (!s->member && b.zip && str_ends(source_name(s->src), ".distcp"))
        return pickles_row(s);
    return (!b.container || pickles_account(s, b.container, &accounted))
        && scan_bytes(s, &b, primary && !b.container && !b.zip)
        && (!b.tar || pickles_tar(s))
        && (!zip || pickles_zip(s, b.zip || !b.tar));
}

/* Spools the source, then replaces it by its decompressed contents. A compressed file can also be a ZIP archive, in a part
 * of its header or at its end that decompressors skip. */
static bool
unpack(struct scanner *s, struct source *src, struct err *err)
{
    enum { FIRST = 64 };                /* bytes kept in memory when a pipe is spooled; source_unpack() reads them */
    const uint8_t *p;
    uint64_t have;
    bool ends = false;
    if (!source_head(src, FIRST, &p, &have, err) || !source_spool(src, SOURCE_SIZE_UNKNOWN, true, err)
        || !zip_loose_ends(src, &ends, err)
        || !source_unpack(src, s->limits, err))
        return false;
    if (ends && !source_seekable(src))
        pickles_fault(s, s->member, s->member_len, ERR_UNSUPPORTED, ERR_NO_OFFSET, "not scanned: both a compressed file and a "
            "ZIP archive");
    return true;
}

bool
pickles_inner(struct scanner *s, struct source *inner, const char *path, size_t n, bool sure)
{
    const char *format;
    struct scanner one = { .p = s->p, .src = inner, .limits = s->limits, .callback = s->callback, .err = s->err, .member = path,
        .member_len = n, .depth = s->depth + 1, .shards = s->shards,
        .read = s->read, .read_max = s->read_max };
    struct err why;
    err_init(&why);
    bool ok = true;
    if (one.depth > PICKLES_DEPTH)
        pickles_fault(s, path, n, ERR_LIMIT, ERR_NO_OFFSET, "not scanned: nesting of archives exceeds the limit of %d levels",
            PICKLES_DEPTH);
    else if (!unpack(&one, inner, &why) || !source_spool(inner, SOURCE_SIZE_UNKNOWN, true, &why))
        pickles_fault(s, path, n, why.kind, ERR_NO_OFFSET, "%s", why.text);
    else
        ok = scan_file(&one, sure, &format);
    source_close(inner);
    return ok;
}


bool
pickles_scan(struct pickles *p, struct source *src, const struct limits *limits, const struct pickles_callback *callback,
    struct err *err)
{
    uint64_t read = 0;
    struct scanner s = { .p = p, .src = src, .limits = limits, .callback = callback, .err = err, .shards = callback->shards,
        .read = &read };
    const struct container *container;
    *p = (struct pickles){ 0 };
    err_init(&p->fault);
    p->opened = unpack(&s, src, err);
    if (!p->opened || !source_spool(src, SOURCE_SIZE_UNKNOWN, true, err))
        return false;
    if (source_size(src) > UINT64_MAX / 32)
        s.read_max = UINT64_MAX;
    else
        s.read_max = 16 * (source_size(src) + (UINT64_C(64) << 20));
    if (!scan_file(&s, false, &p->format))
        return false;
    if (p->fault.kind != ERR_NONE)
        err_in_file(&p->fault, source_name(src));
    if (p->format || p->count != 0 || p->fault.kind != ERR_NONE) {
        if (!p->format)
            p->format = "pickle";
        return true;
    }
    return container_detect(&container, src, err)
        && err_set(err, ERR_MALFORMED, "neither a model file of a known format nor a pickle");
}
