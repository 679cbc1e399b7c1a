#include <inttypes.h>
#include <string.h>

#include "base/num.h"
#include "container/torch/pickle_ops.h"
#include "scan/pickles_priv.h"

enum {
    STACKED = 5,                /* pickles before the storages in torch's format before 1.6 */
    LISTED = 4096,              /* limit for reporting pickles without findings and oddities */
    PROTOCOL_MAX = 5,
    LINE_MAX = 256              /* longest module or name, in bytes, in a search for text opcodes */
};

/* The state of a run. */
struct progress {
    uint64_t n;                 /* pickles so far */
    bool stacked;               /* the first one is torch's magic number */
    bool reported;                  /* the last one was reported */
    bool stopped;               /* and ended with its STOP */
};

static bool
begins_pickle(const uint8_t *p, size_t n)
{
    return n >= 2 && p[0] == OP_PROTO && p[1] <= PROTOCOL_MAX;
}

/* --- what counts as a pickle ----------------------------------------------------------------------------- */

static bool
has_oddity(const struct pickle_scan *scan)
{
    for (size_t i = 0; i < ODDITIES; i++)
        if (scan->odd[i].count != 0)
            return true;
    return false;
}

static bool
report(struct scanner *s, const struct pickles_run *run, uint64_t number, uint64_t at, const struct pickle_scan *scan)
{
    const struct pickle_found found = { run->member, run->member_len, number, at, scan };
    s->p->count++;
    if (s->p->count > LISTED && scan->nfindings == 0 && !has_oddity(scan)) {
        s->p->unlisted++;
        return true;
    }
    return s->callback->pickle(s->callback->of, &found, s->err);
}

/* Checks whether a Python module or attribute can have this name. Weights that happen to look like an opcode with a name
 * almost always contain control characters. */
static bool
can_exist(const char *p, size_t n)
{
    if (!p || n == 0 || n > LINE_MAX || !str_is_utf8(p, n))
        return false;
    for (size_t i = 0; i < n; i++)
        if ((uint8_t)p[i] < 0x20 || p[i] == 0x7F)
            return false;
    return true;
}

/* Checks whether Python, which fails at `fatal`, reaches a global and could find it. */
static bool
is_looked_up(const struct pickle_finding *f, uint64_t fatal)
{
    if (f->offset >= fatal)
        return false;
    if (!f->module || !f->name)
        return f->opcode == OP_STACK_GLOBAL || f->via != 0;
    return can_exist(f->module, f->module_len) && can_exist(f->name, f->name_len);
}

/* Checks whether a pickle in bytes of another format would have an effect: it looks up something dangerous, or calls
 * something not allowed. If it was found by a search, it may begin earlier, so its stack is unknown. */
static bool
does_harm(const struct pickle_scan *scan, bool searched)
{
    for (size_t i = 0; i < scan->nfindings; i++) {
        const struct pickle_finding *f = &scan->finding[i];
        if (is_looked_up(f, searched ? UINT64_MAX : scan->fatal) && (f->verdict == VERDICT_DANGEROUS
                || (f->verdict == VERDICT_SUSPICIOUS && f->via != 0 && !searched)))
            return true;
    }
    return false;
}

/* Checks whether the bytes scanned, number n of the run, are a pickle. Text can look like the start of one; such a pickle
 * must end with a STOP, or call what it names. */
static bool
is_one(const struct pickles_run *run, const struct pickle_scan *scan, const struct window *w, uint64_t n)
{
    if (run->sure && n == 0)
        return true;
    if (run->aside)
        return does_harm(scan, run->gaps);
    if (scan->protocol >= 0)
        return scan->stopped || scan->nfindings != 0;
    for (size_t i = 0; i < scan->nfindings; i++)
        if (scan->finding[i].via != 0 && scan->finding[i].offset < scan->fatal)
            return true;
    return does_harm(scan, false) || (scan->stopped && (scan->nfindings != 0 || w->n == scan->length));
}

/* --- pickles back to back -------------------------------------------------------------------------------- */

static void
note_oddities(const struct pickles_run *run, const struct progress *p, const struct window *w, struct pickle_scan *scan)
{
    bool follows = scan->stopped && w->n > scan->length;
    if (follows && !run->gaps && !p->stacked && !run->open)
        pickle_scan_odd(scan, ODD_AFTER_STOP, scan->length);
    if (follows && run->whole && p->n == 0 && !scan->plain_int)
        pickle_scan_odd(scan, ODD_FIRST_PICKLE, 0);
}

/* Scans the pickle at the start of the window. */
static bool
scan_one(struct scanner *s, const struct pickles_run *run, struct window *w, struct progress *p)
{
    struct pickle_scan scan;
    bool ok = pickle_scan(&scan, w, s->err) && window_hold(w, (size_t)scan.length + 1, s->err)
        && (!s->shards || !scan.stopped || run->gaps || pickles_allow_shards(s, &scan, w->p));
    if (ok) {
        if (p->n == 0)
            p->stacked = run->whole && scan.magic;
        p->stopped = scan.stopped;
        note_oddities(run, p, w, &scan);
        if (scan.odd[ODD_TOO_LARGE].count != 0 && !run->peek)
            pickles_fault(s, run->member, run->member_len, ERR_LIMIT, ERR_NO_OFFSET, "a pickle exceeds the limit of %" PRIu64
                " bytes: the rest was not scanned", w->max);
        p->reported = p->stacked || is_one(run, &scan, w, p->n);
        if (p->reported)
            ok = report(s, run, p->n, w->at, &scan);
        p->n++;
        if (p->reported || run->gaps)
            window_drop(w, scan.length < w->n ? (size_t)scan.length : w->n);
    }
    pickle_scan_clear(&scan);
    return ok;
}

/* --- pickles between other bytes ------------------------------------------------------------------------- */

/* Returns the length of a line of p[0..n) that could be a name, with its line feed; otherwise 0. */
static size_t
name_line(const uint8_t *p, size_t n)
{
    const uint8_t *end = memchr(p, '\n', num_min(n, LINE_MAX));
    if (end && can_exist((const char *)p, (size_t)(end - p)))
        return (size_t)(end - p) + 1;
    return 0;
}

/* Checks whether a pickle may begin here: with a PROTO, or with a GLOBAL or INST in text form. */
static bool
may_begin(const uint8_t *p, size_t n)
{
    if (begins_pickle(p, n))
        return true;
    if (n < 3 || (*p != OP_GLOBAL && *p != OP_INST))
        return false;
    size_t module = name_line(p + 1, n - 1);
    return module != 0 && name_line(p + 1 + module, n - 1 - module) != 0;
}

/* Moves to the next byte at which a pickle may begin; false at the end. */
static bool
next_begin(struct window *w, bool *ok, struct err *err)
{
    while ((*ok = window_hold(w, 2 * LINE_MAX + 2, err)) && w->n >= 2) {
        size_t sure;
        if (w->ended)
            sure = w->n;
        else
            sure = w->n - (2 * LINE_MAX + 1);
        for (size_t i = 0; i < sure; i++)
            if (may_begin(w->p + i, w->n - i)) {
                window_drop(w, i);
                return true;
            }
        window_drop(w, sure);
    }
    return false;
}

/* Searches the remaining bytes for pickles. Most candidates have no PROTO, so only those that would do harm count. */
static bool
pickles_run_search(struct scanner *s, const struct pickles_run *run, struct window *w, struct progress *p)
{
    bool ok = true;
    while (ok && next_begin(w, &ok, s->err)) {
        struct pickles_run one = *run;
        one.gaps = true;
        one.sure = one.whole = false;
        one.aside = !begins_pickle(w->p, w->n);
        uint64_t before = w->at;
        p->stacked = false;
        ok = scan_one(s, &one, w, p);
        if (w->at == before)
            window_drop(w, w->n != 0);
    }
    return ok;
}

/* --- a run ----------------------------------------------------------------------------------------------- */

/* Notes trailing bytes after the pickles of a run, and searches them. */
static bool
pickles_run_finish(struct scanner *s, const struct pickles_run *run, struct window *w, struct progress *p, bool any)
{
    if (!window_hold(w, 1, s->err))
        return false;
    if (!any || run->aside || p->stacked)
        return true;
    if (!p->stopped)
        pickles_fault(s, run->member, run->member_len, ERR_MALFORMED, w->at, "pickle ends before its STOP (truncated or "
            "damaged): what follows cannot be scanned reliably");
    else if (w->n != 0)
        pickles_fault(s, run->member, run->member_len, ERR_MALFORMED, w->at, "trailing bytes after the last pickle");
    return pickles_run_search(s, run, w, p);
}

bool
pickles_run(struct scanner *s, const struct pickles_run *run, struct window *w)
{
    enum { PEEK = 64 << 10 };
    struct progress p = { 0 };
    bool any = false, ok = true, more = true;
    if (run->peek)
        w->max = PEEK;
    while (ok && more) {
        ok = window_hold(w, 2, s->err);
        if (!ok || (p.n != 0 && w->n == 0) || (run->open && p.n != 0 && !begins_pickle(w->p, w->n)))
            break;
        bool stopped = p.stopped;
        ok = scan_one(s, run, w, &p);
        any = any || p.reported;
        more = p.reported && p.stopped && (!p.stacked || p.n < STACKED);
        if (!p.reported)
            p.stopped = stopped;
    }
    if (ok && run->gaps)
        return pickles_run_search(s, run, w, &p);
    if (ok && p.stacked) {
        bool accounted;
        ok = pickles_account(s, &container_stacked, &accounted)
            && (accounted || pickles_run_search(s, run, w, &p));
    }
    return ok && pickles_run_finish(s, run, w, &p, any);
}

bool
pickles_run_at(struct scanner *s, const struct pickles_run *run, uint64_t at, uint64_t n)
{
    struct zip_loose_bytes *bytes = zip_loose_open(s->src, at, at + n, false, s->err);
    struct window w = { .some = zip_loose_some, .of = bytes, .max = PICKLE_MAX, .total = n };
    bool ok = bytes && pickles_run(s, run, &w);
    *s->read += w.at + w.n;
    window_clear(&w);
    zip_loose_close(bytes);
    return ok;
}
