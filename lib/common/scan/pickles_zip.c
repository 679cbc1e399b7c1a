#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/str.h"
#include "scan/pickles_priv.h"
#include "source/within.h"
#include "source/zip.h"

enum { INFLATED_MAX = 64 << 20 };       /* bytes of a deflated member to hold, so that it can be scanned as a file */

static bool
is_pickle_name(const char *p, size_t n)
{
    static const char *const suffixes[] = { ".pkl", ".PKL", ".pickle", ".debug_pkl" };
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (str_strip(p, &n, suffixes[i]))
            return true;
    return false;
}

/* Recognizes PREFIX/data/KEY, a storage, which torch reads as plain numbers. */
static bool
is_storage(const char *p, size_t n)
{
    const char *slash = memchr(p, '/', n);
    size_t rest = 0;
    if (slash)
        rest = n - (size_t)(slash - p);
    return rest > 6 && memcmp(slash, "/data/", 6) == 0;
}

/* A member, its decompressed bytes, and its path through all archives. */
struct pickles_entry {
    const struct zip_loose_member *m;
    struct zip_loose_bytes *bytes;
    struct window w;
    struct str path;
};

/* Scans a member as a file. */
static bool
scan_as_file(struct scanner *s, struct pickles_run *run, struct pickles_entry *e)
{
    const struct zip_loose_member *m = e->m;
    struct source *inner = NULL;
    char shown[STR_SHOWN];
    str_shown(shown, e->path.p, e->path.len);
    if (!m->deflated)
        return source_within(&inner, s->src, m->at, m->end - m->at, shown, s->err)
            && pickles_inner(s, inner, e->path.p, e->path.len, run->sure);
    uint64_t most = num_min(PICKLE_MAX, INFLATED_MAX);
    e->w.max = most;
    if (!window_hold(&e->w, (size_t)most, s->err))
        return false;
    if (!e->w.ended) {
        pickles_fault(s, run->member, run->member_len, ERR_LIMIT, ERR_NO_OFFSET, "deflated member exceeds the limit of %d "
            "bytes: the rest was not scanned", INFLATED_MAX);
        return pickles_run(s, run, &e->w);
    }
    return source_of_memory(&inner, e->w.p, e->w.n, shown, s->err)
        && pickles_inner(s, inner, e->path.p, e->path.len, run->sure);
}

static bool
scan_entry(struct scanner *s, struct pickles_entry *e)
{
    struct pickles_run run = { .member = e->path.p, .member_len = e->path.len, .open = e->m->open,
        .sure = is_pickle_name(e->path.p, e->path.len) };
    bool npy;
    if (!pickles_npy(s, &run, &e->w, &npy))
        return false;
    if (npy)
        return true;
    if (run.open)
        return pickles_run(s, &run, &e->w);
    if (!window_hold(&e->w, 4, s->err))
        return false;
    bool archive = str_prefixed(e->w.p, e->w.n, "PK\3\4");
    if (!run.sure && !archive && is_storage(e->path.p, e->path.len))
        run.aside = run.peek = true;
    if (run.aside)
        return pickles_run(s, &run, &e->w);
    return scan_as_file(s, &run, e);
}

static bool
scan_member(struct scanner *s, const struct zip_loose *zip, const struct zip *strict, const struct zip_loose_member *m)
{
    const char *name = zip->names.p + m->name;
    const struct zip_member *same = zip_find(strict, name, m->name_len);
    struct pickles_entry e = { .m = m, .bytes = zip_loose_open(s->src, m->at, m->end, m->deflated, s->err) };
    e.w = (struct window){ .some = zip_loose_some, .of = e.bytes, .max = PICKLE_MAX,
        .total = same ? same->nbytes : m->deflated || m->open ? 0 : m->end - m->at };
    bool ok = e.bytes && pickles_path(s, &e.path, name, m->name_len, s->err)
        && (pickles_is_program(s, e.path.p, e.path.len) || scan_entry(s, &e));
    if (ok && zip_loose_broken(e.bytes))
        pickles_fault(s, e.path.p, e.path.len, ERR_MALFORMED, m->at, "cannot be inflated completely");
    *s->read += e.w.at + e.w.n;
    window_clear(&e.w);
    zip_loose_close(e.bytes);
    str_clear(&e.path);
    return ok;
}

/* Limits the work for members that overlap, or inflate too much. */
static bool
read_enough(const struct scanner *s)
{
    return *s->read > s->read_max;
}

/* Reads the directory strictly. An error there is a fault, but all members that can be found are scanned anyway. */
static bool
judge(struct scanner *s, struct zip *zip, bool strict)
{
    struct err why;
    struct budget budget = { .limits = *s->limits };
    err_init(&why);
    if (!zip_read(zip, s->src, &budget, &why)) {
        zip_clear(zip);
        if (why.kind == ERR_MEMORY || why.kind == ERR_IO)
            *s->err = why;
        else if (strict)
            pickles_fault(s, s->member, s->member_len, why.kind, why.at, "%s", why.text);
    }
    return s->err->kind == ERR_NONE;
}

bool
pickles_zip(struct scanner *s, bool strict)
{
    struct zip_loose zip = { 0 };
    struct zip index = { 0 };
    bool ok = judge(s, &index, strict) && zip_loose_find(&zip, s->src, s->limits, s->err);
    for (size_t i = 0; ok && i < zip.n && !read_enough(s); i++) {
        const struct zip_loose_member *m = &zip.member[i], *before = i != 0 ? m - 1 : NULL;
        if (!before || before->at != m->at || before->end != m->end || before->deflated != m->deflated)
            ok = scan_member(s, &zip, &index, m);           /* the same bytes under another name are read once */
    }
    if (read_enough(s))
        pickles_fault(s, s->member, s->member_len, ERR_LIMIT, ERR_NO_OFFSET, "contents of the ZIP archive exceed the limit of "
            "16 times its size plus 1 GiB: the rest was not scanned");
    if (zip.cut)
        pickles_fault(s, s->member, s->member_len, ERR_LIMIT, ERR_NO_OFFSET, "the ZIP archive has too many members: not all "
            "of them were scanned");
    zip_loose_clear(&zip);
    zip_clear(&index);
    return ok;
}
