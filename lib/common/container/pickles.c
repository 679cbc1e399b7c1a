#include "container/pickles.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/num.h"
#include "container/container.h"
#include "container/pickle_ops.h"
#include "source/zip.h"
#include "source/zip_loose.h"

enum {
    PROBE = 512,
    STACKED = 5,                /* pickles in front of the storages of torch's form before 1.6 */
    LISTED = 4096,              /* pickles with nothing in them that are told of */
    PROTOCOL_MAX = 5
};

struct scanner {
    struct pickles *p;
    struct source *src;
    const struct limits *limits;
    const struct pickles_heard *heard;
    struct err *err;
    uint64_t read;              /* bytes of members that came out */
};

/* One run of bytes that may hold pickles. */
struct run {
    const char *member;
    size_t member_len;
    bool sure;                  /* it is one, whatever it holds: else only what can be read to its STOP, or names something */
    bool open;                  /* where it ends is not known: what follows a STOP is one only with a PROTO */
    bool gaps;                  /* other bytes lie between the pickles */
    bool whole;                 /* it is the file */
};

static bool
begins_pickle(const uint8_t *p, size_t n)
{
    return n >= 2 && p[0] == OP_PROTO && p[1] <= PROTOCOL_MAX;
}

static bool
odd_at_all(const struct pickle_scan *scan)
{
    for (size_t i = 0; i < ODDITIES; i++)
        if (scan->odd[i].count != 0)
            return true;
    return false;
}

static bool
tell(struct scanner *s, const struct run *run, uint64_t number, uint64_t at, const struct pickle_scan *scan)
{
    const struct pickle_found found = { run->member, run->member_len, number, at, scan };
    s->p->count++;
    if (s->p->count > LISTED && scan->nfindings == 0 && !odd_at_all(scan)) {
        s->p->unlisted++;
        return true;
    }
    return s->heard->pickle(s->heard->of, &found, s->err);
}

/* Go on to the next byte that may begin a pickle of protocol 2 or more; false at the end. */
static bool
next_proto(struct window *w, bool *ok, struct err *err)
{
    while ((*ok = window_hold(w, 2, err)) && w->n >= 2) {
        if (begins_pickle(w->p, w->n))
            return true;
        const uint8_t *p = memchr(w->p + 1, OP_PROTO, w->n - 1);
        window_drop(w, p ? (size_t)(p - w->p) : w->n);
    }
    return false;
}

/* Whether what was scanned, number n of the run, is a pickle. Text can look like the beginning of one: that has to end by
 * a STOP, or to call what it names. */
static bool
is_one(const struct run *run, const struct pickle_scan *scan, const struct window *w, uint64_t n)
{
    if (run->sure && n == 0)
        return true;
    if (scan->protocol >= 0)
        return scan->stopped || scan->nfindings != 0;
    for (size_t i = 0; i < scan->nfindings; i++)
        if (scan->finding[i].via != 0)
            return true;
    return scan->stopped && (scan->nfindings != 0 || w->n == scan->length);
}

/* The pickle that the window begins with, which is number *n of the run, and whether another may follow it. */
static bool
scan_one(struct scanner *s, const struct run *run, struct window *w, uint64_t *n, bool *stacked, bool *more)
{
    struct pickle_scan scan;
    bool ok = pickle_scan(&scan, w, s->err) && window_hold(w, (size_t)scan.length + 1, s->err);
    if (ok) {
        bool follows = scan.stopped && w->n > scan.length;
        *stacked = *n == 0 ? run->whole && scan.magic : *stacked;
        *more = follows && (!*stacked || *n + 1 < STACKED);
        if (*more && !run->gaps && !*stacked && !run->open)
            pickle_scan_odd(&scan, ODD_AFTER_STOP, scan.length);
        if (*more && run->whole && *n == 0 && !scan.plain_int)
            pickle_scan_odd(&scan, ODD_FIRST_PICKLE, 0);
        if (scan.odd[ODD_TOO_LARGE].count != 0)
            err_set(&s->p->fault, ERR_LIMIT, ERR_NO_OFFSET, "bytes of a pickle: more than the %" PRIu64 " that are looked "
                "at", s->limits->pickle);
        if (*stacked || is_one(run, &scan, w, *n))
            ok = tell(s, run, *n, w->at, &scan);
        ++*n;
        window_drop(w, scan.length < w->n ? (size_t)scan.length : w->n);
    }
    pickle_scan_clear(&scan);
    return ok;
}

/* All pickles of a run. */
static bool
scan_window(struct scanner *s, const struct run *run, struct window *w)
{
    bool more = true, stacked = false, ok = true;
    uint64_t n = 0;
    while (ok && more) {
        if (run->gaps && !next_proto(w, &ok, s->err))
            break;
        more = false;
        ok = window_hold(w, 2, s->err);
        if (!ok || w->n == 0 || (run->open && n != 0 && !begins_pickle(w->p, w->n)))
            break;
        ok = scan_one(s, run, w, &n, &stacked, &more);
        if (run->gaps && !more) {
            window_drop(w, w->n != 0);
            more = true;
        }
    }
    return ok;
}

/* --- NumPy's arrays -------------------------------------------------------------------------------------- */

/* Pass over the header of a .npy file; *objects says whether a pickle follows it: what is no header counts as one. */
static bool
pass_npy(struct window *w, bool *is_npy, bool *objects, struct err *err)
{
    if (!window_hold(w, 12, err))
        return false;
    *is_npy = w->n >= 10 && memcmp(w->p, "\x93NUMPY", 6) == 0;
    if (!*is_npy)
        return true;
    uint64_t n = w->p[6] == 1 || w->n < 12 ? 10 + (uint64_t)load_le16(w->p + 8) : 12 + (uint64_t)load_le32(w->p + 8);
    n = num_min(n, UINT64_C(1) << 20);          /* as much as a header of NumPy can have */
    if (!window_hold(w, (size_t)n + 2, err))
        return false;
    size_t header = (size_t)num_min(n, w->n);
    /* No other word of a header has this letter: 'descr': '|O'. */
    *objects = memchr(w->p, 'O', header) != NULL || begins_pickle(w->p + header, w->n - header);
    window_drop(w, header);
    return true;
}

/* --- members --------------------------------------------------------------------------------------------- */

static bool
ends_in(const char *p, size_t n, const char *suffix)
{
    size_t len = strlen(suffix);
    return n >= len && memcmp(p + n - len, suffix, len) == 0;
}

static bool
is_pickle_name(const char *p, size_t n)
{
    static const char *const suffixes[] = { ".pkl", ".PKL", ".pickle", ".debug_pkl" };
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (ends_in(p, n, suffixes[i]))
            return true;
    return false;
}

/* PREFIX/data/KEY: a storage, of which only the first bytes are looked at. */
static bool
is_storage(const char *p, size_t n)
{
    const char *slash = memchr(p, '/', n);
    size_t rest = slash ? n - (size_t)(slash - p) : 0;
    return rest > 6 && memcmp(slash, "/data/", 6) == 0;
}

/* A member that comes through a window: whatever in it is a pickle. */
static bool
scan_member(struct scanner *s, struct run *run, struct window *w)
{
    bool npy, objects;
    if (!pass_npy(w, &npy, &objects, s->err))
        return false;
    run->sure = run->sure || is_pickle_name(run->member, run->member_len);
    if (npy) {
        run->sure = objects;
        return !objects || scan_window(s, run, w);
    }
    if (!run->sure && !begins_pickle(w->p, w->n) && is_storage(run->member, run->member_len))
        return true;
    return scan_window(s, run, w);
}

static bool
scan_zip_member(struct scanner *s, const struct zip_loose *zip, const struct zip_loose_member *m)
{
    struct run run = { .member = zip->names.p + m->name, .member_len = m->name_len, .open = m->open };
    struct zip_loose_bytes *bytes = zip_loose_open(s->src, m->at, m->end, m->deflated, s->err);
    struct window w = { .some = zip_loose_some, .of = bytes, .max = s->limits->pickle };
    bool ok = bytes && scan_member(s, &run, &w);
    s->read += w.at + w.n;
    window_clear(&w);
    zip_loose_close(bytes);
    return ok;
}

/* Members that overlap, or inflate to too much, are not read without an end. */
static bool
read_enough(const struct scanner *s)
{
    return s->read / 16 > source_size(s->src) + (UINT64_C(64) << 20);
}

/* What the reader of archives has against this one. */
static void
judge_zip(struct scanner *s)
{
    struct zip zip = { 0 };
    struct budget budget = { .limits = *s->limits };
    if (!zip_read(&zip, s->src, &budget, &s->p->fault))
        err_in_file(&s->p->fault, source_name(s->src));
    zip_clear(&zip);
}

static bool
scan_zip(struct scanner *s)
{
    struct zip_loose zip = { 0 };
    s->p->format = "ZIP";
    judge_zip(s);
    bool ok = s->p->fault.kind != ERR_MEMORY && s->p->fault.kind != ERR_IO;
    if (!ok)
        *s->err = s->p->fault;
    ok = ok && zip_loose_find(&zip, s->src, s->limits, s->err);
    for (size_t i = 0; ok && i < zip.n && !read_enough(s); i++) {
        const struct zip_loose_member *m = &zip.member[i], *before = i != 0 ? m - 1 : NULL;
        if (!before || before->at != m->at || before->end != m->end || before->deflated != m->deflated)
            ok = scan_zip_member(s, &zip, m);           /* the same under another name is read once */
    }
    if (read_enough(s))
        err_set(&s->p->fault, ERR_LIMIT, ERR_NO_OFFSET, "bytes of members of the ZIP archive: more than 16 times those of "
            "the file, and 1 GiB, are not looked at");
    if (zip.cut)
        err_set(&s->p->fault, ERR_LIMIT, ERR_NO_OFFSET, "members of the ZIP archive: there are more than are looked at");
    zip_loose_clear(&zip);
    return ok;
}

/* --- tar ------------------------------------------------------------------------------------------------- */

enum { BLOCK = 512, SIZE_AT = 124, SIZE_LEN = 12, NAME_LEN = 100, MAGIC_AT = 257 };

/* Octal digits, or a big-endian number behind a byte 0x80. */
static uint64_t
tar_size(const uint8_t *p)
{
    uint64_t n = 0;
    for (size_t i = *p & 0x80 ? 4 : 0; i < SIZE_LEN; i++)
        if (*p & 0x80)
            n = n << 8 | p[i];
        else if (p[i] >= '0' && p[i] <= '7')
            n = n << 3 | (uint64_t)(p[i] - '0');
    return n;
}

/* Torch's form before 0.1.10: pickles with numbers and storages between them. What a pax header says of a size is not
 * looked at: where that matters, no header follows, and the rest is one run. */
static bool
scan_tar(struct scanner *s)
{
    uint8_t head[BLOCK];
    uint64_t size = source_size(s->src);
    bool ok = true;
    s->p->format = "tar";
    for (uint64_t at = 0, next; ok && at + BLOCK <= size; at = next) {
        if (!source_read(s->src, at, head, BLOCK, s->err))
            return false;
        uint64_t end = size, n = tar_size(head + SIZE_AT);
        bool header = memcmp(head + MAGIC_AT, "ustar", 5) == 0, empty = head[0] == '\0' && !header;
        if (header && (!num_add(&end, at + BLOCK, n) || end > size)) {
            err_set(&s->p->fault, ERR_MALFORMED, at, "the tar archive: a member goes beyond the end of the file (the "
                "download or copy is incomplete)");
            end = size;
        }
        next = empty ? at + BLOCK : header ? num_min(size, end + (BLOCK - end % BLOCK) % BLOCK) : size;
        if (empty)
            continue;
        const char *name = (const char *)head;
        struct run run = { .member = name, .member_len = strnlen(name, NAME_LEN), .gaps = true };
        uint64_t from = header ? at + BLOCK : at;
        struct zip_loose_bytes *bytes = zip_loose_open(s->src, from, end, false, s->err);
        struct window w = { .some = zip_loose_some, .of = bytes, .max = s->limits->pickle };
        ok = bytes && scan_window(s, &run, &w);
        window_clear(&w);
        zip_loose_close(bytes);
    }
    return ok;
}

/* --- the file -------------------------------------------------------------------------------------------- */

/* The file as it is: pickles one behind the other, or an array of NumPy's. */
static bool
scan_plain(struct scanner *s, bool sure)
{
    struct zip_loose_bytes *bytes = zip_loose_open(s->src, 0, source_size(s->src), false, s->err);
    struct window w = { .some = zip_loose_some, .of = bytes, .max = s->limits->pickle };
    struct run run = { .sure = sure, .whole = true };
    bool npy = false, objects = false;
    bool ok = bytes && pass_npy(&w, &npy, &objects, s->err);
    s->p->format = npy ? "NPY" : "pickle";
    run.whole = !npy;
    run.sure = sure || npy;
    ok = ok && (npy && !objects ? true : scan_window(s, &run, &w));
    window_clear(&w);
    zip_loose_close(bytes);
    return ok;
}

/* Neither an archive nor a pickle by its first bytes: an old pickle, which has no magic, an archive behind other bytes,
 * or nothing that is known. */
static bool
scan_unknown(struct scanner *s)
{
    const struct container *container;
    bool ends;
    if (!zip_loose_ends(s->src, &ends, s->err))
        return false;
    if (ends)
        return scan_zip(s);
    if (!scan_plain(s, false) || s->p->count != 0)
        return s->err->kind == ERR_NONE;
    if (!container_detect(&container, s->src, s->err))
        return false;
    return err_set(s->err, ERR_MALFORMED, ERR_NO_OFFSET, "this is no model file of a known format, and no pickle");
}

bool
pickles_scan(struct pickles *p, struct source *src, const struct limits *limits, const struct pickles_heard *heard,
    struct err *err)
{
    struct scanner s = { p, src, limits, heard, err, 0 };
    const uint8_t *head;
    uint64_t have;
    *p = (struct pickles){ 0 };
    err_init(&p->fault);
    if (!source_head(src, PROBE, &head, &have, err))
        return false;
    size_t probe = (size_t)have;
    const struct container *const without[] = { &container_gguf, &container_safetensors };
    for (size_t i = 0; i < sizeof without / sizeof *without; i++)
        if (without[i]->probe(head, probe, source_size(src))) {
            p->format = without[i]->name;
            return true;
        }
    bool zip = probe >= 2 && memcmp(head, "PK", 2) == 0;
    bool tar = probe >= MAGIC_AT + 5 && memcmp(head + MAGIC_AT, "ustar", 5) == 0;
    bool pickle = begins_pickle(head, probe) || (probe >= 6 && memcmp(head, "\x93NUMPY", 6) == 0);
    source_head_done(src, 0);
    if (!source_spool(src, SOURCE_SIZE_UNKNOWN, true, err))
        return false;
    return zip ? scan_zip(&s) : tar ? scan_tar(&s) : pickle ? scan_plain(&s, true) : scan_unknown(&s);
}
