#include "adapter/module_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Numbers and the rest that a name has where its pattern has letters and a star. */
struct found {
    uint64_t letter[26];
    const char *rest;
    size_t nrest;
};

/* {plus + times * major + minor}; the letters are indices, or -1. */
struct expression {
    uint64_t plus, times;
    int major, minor;
};

enum { NUMBER_MAX = 1 << 20 };

/* --- statements */

/* Sets p[0..*n) to the next word before the end of the line. */
static const char *
word(const char **at, size_t *n)
{
    *at += strspn(*at, " \t");
    const char *p = *at;
    *n = strcspn(p, " \t\n");
    *at += *n;
    return p;
}

/* Reads what follows the two names. */
static bool
read_kind(struct module_names_line *line, const char **at)
{
    static const char *const kinds[] = { "", "part", "rest", "swapped", "transposed" };
    size_t n, i = 0;
    const char *p = word(at, &n);
    while (i < sizeof kinds / sizeof *kinds && !str_is(p, n, kinds[i]))
        i++;
    line->kind = (enum module_names_kind)i;
    if (i == NAMES_PART || i == NAMES_REST) {
        p = word(at, &n);
        line->part = (unsigned)(*p - '0');
        return n == 1 && line->part <= 9;
    }
    return i < sizeof kinds / sizeof *kinds;
}

bool
module_names_next(struct module_names_line *line, const char **at, bool *ok)
{
    static const char *const statements[] = { "tower", "prefix", "detect", "unless", "name" };
    enum { STATEMENTS = sizeof statements / sizeof *statements };
    size_t n, i = 0;
    while (**at == '#' || **at == '\n')
        *at += strcspn(*at, "\n") + (strchr(*at, '\n') != NULL);
    *ok = true;
    if (!**at)
        return false;
    *line = (struct module_names_line){ .kind = NAMES_SAME };
    const char *p = word(at, &n);
    while (i < STATEMENTS && !str_is(p, n, statements[i]))
        i++;
    line->statement = i;
    line->one = word(at, &line->none);
    if (i == LINE_TOWER) {                          /* a name of two words */
        word(at, &n);
        line->none = (size_t)(*at - line->one);
    }
    if (i == LINE_NAME)
        line->two = word(at, &line->ntwo);
    *ok = i < STATEMENTS && line->none != 0 && (i != LINE_NAME || (line->ntwo != 0 && read_kind(line, at)));
    word(at, &n);
    *ok = *ok && n == 0;
    *at += **at == '\n';
    return *ok;
}

/* --- patterns */

/* Reads {n}, {1+3b} or {1+3b+j} at p, which is of length *n. */
static bool
read_expression(struct expression *e, const char *p, size_t *n)
{
    const char *end = strchr(p, '}');
    char major = 0, minor = 0;
    int len = 0;
    *e = (struct expression){ 0, 1, -1, -1 };
    if (!end)
        return false;
    *n = (size_t)(end + 1 - p);
    bool ok;
    if (*n == 3)
        ok = (major = p[1]) != 0;
    else
        ok = (sscanf(p, "{%" SCNu64 "+%" SCNu64 "%c%n", &e->plus, &e->times, &major, &len) == 3 && len == (int)*n - 1)
            || (sscanf(p, "{%" SCNu64 "+%" SCNu64 "%c+%c%n", &e->plus, &e->times, &major, &minor, &len) == 4
            && len == (int)*n - 1);
    e->major = major - 'a';
    if (minor)
        e->minor = minor - 'a';
    else
        e->minor = -1;
    return ok && e->times != 0 && 0 <= e->major && e->major < 26 && e->minor < 26;
}

/* Finds the letters of an expression in a number. */
static bool
module_names_solve(struct found *f, const struct expression *e, uint64_t number)
{
    if (number < e->plus || (e->minor < 0 && (number - e->plus) % e->times != 0))
        return false;
    f->letter[e->major] = (number - e->plus) / e->times;
    if (e->minor >= 0)
        f->letter[e->minor] = (number - e->plus) % e->times;
    return true;
}

/* Reads a decimal number without leading zeros. */
static bool
module_names_read_number(uint64_t *number, const char *p, size_t n, size_t *len)
{
    *number = 0;
    for (*len = 0; *len < n && p[*len] >= '0' && p[*len] <= '9' && *number < NUMBER_MAX; (*len)++)
        *number = *number * 10 + (uint64_t)(p[*len] - '0');
    return *len != 0 && *number < NUMBER_MAX && (p[0] != '0' || *len == 1);
}

static bool
match(struct found *f, const char *pattern, size_t npattern, const char *name, size_t n)
{
    struct expression e;
    uint64_t number;
    size_t i = 0, at = 0, len, digits;
    while (i < npattern && pattern[i] != '*') {
        if (pattern[i] != '{') {
            if (at == n || pattern[i++] != name[at++])
                return false;
            continue;
        }
        if (!read_expression(&e, pattern + i, &len) || !module_names_read_number(&number, name + at, n - at, &digits)
            || !module_names_solve(f, &e, number))
            return false;
        i += len;
        at += digits;
    }
    f->rest = name + at;
    f->nrest = n - at;
    if (i < npattern)
        return f->nrest != 0;
    return f->nrest == 0;
}

static bool
write_out(struct str *out, const char *pattern, size_t n, const struct found *f)
{
    struct expression e;
    size_t len;
    for (size_t i = 0; i < n; i += len) {
        len = 1;
        if (pattern[i] == '*') {
            str_add(out, f->rest, f->nrest);
        } else if (pattern[i] == '{') {
            if (!read_expression(&e, pattern + i, &len) || (e.minor >= 0 && f->letter[e.minor] >= e.times))
                return false;
            str_format(out, "%" PRIu64, e.plus + e.times * f->letter[e.major] + (e.minor >= 0 ? f->letter[e.minor] : 0));
        } else {
            str_add(out, pattern + i, 1);
        }
    }
    return true;
}

bool
module_names_translate(struct str *other, const char *to, size_t nto, const char *from, size_t nfrom, const char *name, size_t n)
{
    struct found f = { .rest = NULL };
    return match(&f, from, nfrom, name, n) && (!other || write_out(other, to, nto, &f));
}
