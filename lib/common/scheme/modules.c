#include "scheme/modules.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/str.h"

enum {
    PARTS_MAX = 16              /* dotted parts of a plain entry that can match inside a path */
};

/* The steps take seconds; 20 expressions on 100 000 names need a tenth of them. */
const struct modules_cost modules_cost_most = { .states = 4096, .steps = 1 << 28 };

static int
modules_compare(const void *pa, const void *pb)
{
    const struct module_name *a = pa, *b = pb;
    return str_compare(a->p, a->n, b->p, b->n);
}

static bool
modules_begins(const struct module_name *name, const char *p, size_t n)
{
    return name->n >= n && memcmp(name->p, p, n) == 0;
}

static bool
modules_add_name(struct module_name **list, size_t *count, size_t *room, struct module_name name, struct err *err)
{
    struct module_name *moved = array_grow(*list, *count, room, sizeof *moved, err);
    if (!moved)
        return false;
    *list = moved;
    (*list)[(*count)++] = name;
    return true;
}

static bool
add_matcher(struct modules *m, const char *text, size_t n, bool glob, struct err *err)
{
    struct matcher *matchers = array_grow(m->matchers, m->nmatchers, &m->room_matchers, sizeof *matchers, err);
    if (!matchers)
        return false;
    m->matchers = matchers;
    struct matcher *matcher = &matchers[m->nmatchers];
    if (!matcher_read(matcher, text, n, glob)) {
        if (!m->unknown)
            m->unknown = text;
        return true;
    }
    m->nmatchers++;
    if (matcher->nstates > m->cost->states)
        return err_set(err, ERR_LIMIT, "config.json: the expressions in its module lists are too "
            "complex (limit: %" PRIu64 " states); --config none ignores the file",
            modules_cost_most.states);
    m->cost->states -= matcher->nstates;
    return true;
}

bool
modules_add(struct modules *m, const json_t *entry, struct err *err)
{
    const char *p = json_string_value(entry);
    size_t n = json_string_length(entry);
    if (!p || n == 0)
        return true;
    if (n > 3 && memcmp(p, "re:", 3) == 0)
        return add_matcher(m, p + 3, n - 3, false, err);
    size_t wild = strcspn(p, "*?[");
    if (wild == n - 1 && p[wild] == '*')
        return modules_add_name(&m->prefix, &m->nprefix, &m->room_prefix, (struct module_name){ p, n - 1 }, err);
    if (wild < n)
        return add_matcher(m, p, n, true, err);
    for (; n != 0 && p[n - 1] == '.'; n--)
        ;
    for (; n != 0 && *p == '.'; p++, n--)
        ;
    return n == 0 || modules_add_name(&m->plain, &m->nplain, &m->room_plain, (struct module_name){ p, n }, err);
}

void
modules_seal(struct modules *m)
{
    if (m->nplain != 0)
        qsort(m->plain, m->nplain, sizeof *m->plain, modules_compare);
    if (m->nprefix != 0)
        qsort(m->prefix, m->nprefix, sizeof *m->prefix, modules_compare);
    /* Drop prefixes that start with another. After that, only the last one that sorts up to a name can be its prefix. */
    size_t kept = 0;
    for (size_t i = 0; i < m->nprefix; i++)
        if (kept == 0 || !modules_begins(&m->prefix[i], m->prefix[kept - 1].p, m->prefix[kept - 1].n))
            m->prefix[kept++] = m->prefix[i];
    m->nprefix = kept;
}

void
modules_clear(struct modules *m)
{
    free(m->plain);
    free(m->prefix);
    free(m->matchers);
    *m = (struct modules){ 0 };
}

/* Returns how many names sort before p[0..n); with `equal`, including itself. */
static size_t
rank(const struct module_name *list, size_t count, const char *p, size_t n, bool equal)
{
    size_t lo = 0, hi = count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int by = str_compare(list[mid].p, list[mid].n, p, n);
        if (by < 0 || (equal && by == 0))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Returns true if some plain entry is the run of dotted parts that starts at p. */
static bool
has_run(const struct modules *m, const char *p, const char *end)
{
    const char *stop = p;
    for (int parts = 0; parts < PARTS_MAX; parts++, stop++) {
        const char *dot = memchr(stop, '.', (size_t)(end - stop));
        if (dot)
            stop = dot;
        else
            stop = end;
        size_t n = (size_t)(stop - p), at = rank(m->plain, m->nplain, p, n, false);
        if (at == m->nplain || !modules_begins(&m->plain[at], p, n))
            return false;                   /* no longer run can match either */
        if (m->plain[at].n == n)
            return true;
        if (stop == end)
            return false;
    }
    return false;
}

static bool
has_plain(const struct modules *m, const char *module, size_t n)
{
    const char *end = module + n;
    size_t at = rank(m->plain, m->nplain, module, n, false);
    if (at < m->nplain && m->plain[at].n == n && modules_begins(&m->plain[at], module, n))
        return true;                        /* the module itself, with any number of parts */
    for (const char *p = module; m->nplain != 0; p++) {
        if (has_run(m, p, end))
            return true;
        p = memchr(p, '.', (size_t)(end - p));
        if (!p)
            break;
    }
    return false;
}

bool
modules_cost_left(const struct modules_cost *cost, struct err *err)
{
    return cost->steps != 0 || err_set(err, ERR_LIMIT, "config.json: matching the expressions in its "
        "module lists exceeds the limit of %" PRIu64 " steps; --config none ignores the file",
        modules_cost_most.steps);
}

bool
modules_have(const struct modules *m, const char *module, size_t n, bool *have, struct err *err)
{
    size_t at = rank(m->prefix, m->nprefix, module, n, true);
    struct module_name name = { module, n };
    *have = (at != 0 && modules_begins(&name, m->prefix[at - 1].p, m->prefix[at - 1].n)) || has_plain(m, module, n);
    for (size_t i = 0; i < m->nmatchers && !*have && m->cost->steps != 0; i++)
        *have = matcher_match(&m->matchers[i], module, n, &m->cost->steps);
    if (!modules_cost_left(m->cost, err))
        return false;
    if (*have || !m->unknown)
        return true;
    char shown[STR_SHOWN], text[STR_SHOWN];
    return err_set(err, ERR_UNSUPPORTED, "config.json: expression %s, which may match module %s, is not "
        "supported; --config none ignores the file", str_shown(text, m->unknown, strlen(m->unknown)),
        str_shown(shown, module, n));
}
