#include "hf/card.h"

#include <string.h>
#include <strings.h>

#include "base/tree.h"

struct matter_line {
    const char *p;
    size_t n;
};

/* The lines that are left. */
struct matter {
    const char *at, *end;
};

static bool
matter_next(struct matter_line *line, struct matter *m)
{
    if (m->at == m->end)
        return false;
    const char *stop = memchr(m->at, '\n', (size_t)(m->end - m->at));
    line->p = m->at;
    line->n = (size_t)((stop ? stop : m->end) - m->at);
    m->at = stop ? stop + 1 : m->end;
    if (line->n != 0 && line->p[line->n - 1] == '\r')
        line->n--;
    return true;
}

static bool
line_is(const struct matter_line *line, const char *text)
{
    return str_is(line->p, line->n, text);
}

static bool
is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static void
trim(struct matter_line *s)
{
    while (s->n != 0 && is_blank(*s->p)) {
        s->p++;
        s->n--;
    }
    while (s->n != 0 && is_blank(s->p[s->n - 1]))
        s->n--;
}

static size_t
span(const char *p, size_t n, const char *set)
{
    size_t i = 0;
    while (i < n && strchr(set, p[i]) && p[i])
        i++;
    return i;
}

/* Returns true for a plain scalar that YAML 1.1 reads as a number or a date. */
static bool
is_number(const char *p, size_t n)
{
    static const char digits[] = "0123456789";
    size_t date = span(p, n, digits);
    if (date == 4 && n >= 8 && p[4] == '-' && span(p + 5, n - 5, "0123456789-") >= 3)
        return true;
    if (n != 0 && (*p == '+' || *p == '-')) {
        p++;
        n--;
    }
    if (n > 2 && *p == '0' && (p[1] == 'x' || p[1] == 'b'))
        return span(p + 2, n - 2, "0123456789abcdefABCDEF_") == n - 2;
    size_t i = span(p, n, "0123456789_.:"), e = i + 1;
    if (i == 0 || strcspn(p, digits) >= i)
        return i != 0 && i + 3 == n && (strncasecmp(p, ".inf", 4) == 0 || strncasecmp(p, ".nan", 4) == 0);
    if (i == n)
        return true;
    if (p[i] != 'e' && p[i] != 'E')
        return false;
    e += e < n && (p[e] == '+' || p[e] == '-');
    return e < n && span(p + e, n - e, digits) == n - e;
}

/* Returns true for a plain scalar that YAML reads as a string. */
static bool
is_plain_string(const struct matter_line *s)
{
    static const char *const words[] = { "null", "true", "false", "yes", "no", "on", "off" };
    if (strchr("[]{}&*!|>%@`,?:#~", *s->p) || (*s->p == '-' && (s->n == 1 || s->p[1] == ' ')))
        return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (s->n == strlen(words[i]) && strncasecmp(s->p, words[i], s->n) == 0)
            return false;
    for (size_t i = 0; i < s->n; i++)
        if (s->p[i] == ':' && (i + 1 == s->n || is_blank(s->p[i + 1])))
            return false;
    return !is_number(s->p, s->n);
}

/* Reads a scalar on a single line: plain, or quoted without escapes. Returns a new string, or NULL for any other form. */
static json_t *
read_scalar(struct matter_line s)
{
    trim(&s);
    if (s.n == 0)
        return NULL;
    if (*s.p == '"' || *s.p == '\'') {
        const char *close = memchr(s.p + 1, *s.p, s.n - 1);
        size_t n = close ? (size_t)(close - s.p - 1) : 0;
        struct matter_line rest = { close ? close + 1 : s.p, close ? s.n - n - 2 : 0 };
        trim(&rest);
        if (!close || (rest.n != 0 && *rest.p != '#') || memchr(s.p + 1, '\\', n))
            return NULL;
        return json_stringn(s.p + 1, n);
    }
    for (size_t i = 1; i < s.n; i++)
        if (s.p[i] == '#' && is_blank(s.p[i - 1]))
            s.n = i;
    trim(&s);
    return is_plain_string(&s) ? json_stringn(s.p, s.n) : NULL;
}

/* Appends a string to a list; frees the list and returns NULL if it is not one. */
static json_t *
append(json_t *list, json_t *item)
{
    if (item && json_array_append_new(list, item) == 0)
        return list;
    json_decref(list);
    return NULL;
}

/* Reads a list in brackets on one line. */
static json_t *
read_flow(struct matter_line s)
{
    json_t *list = json_array();
    trim(&s);
    if (s.n < 2 || s.p[s.n - 1] != ']') {
        json_decref(list);
        return NULL;
    }
    for (const char *p = s.p + 1, *end = s.p + s.n - 1; list && p < end;) {
        const char *stop = memchr(p, ',', (size_t)(end - p));
        struct matter_line item = { p, (size_t)((stop ? stop : end) - p) };
        trim(&item);
        if (item.n != 0 || stop)
            list = append(list, read_scalar(item));
        p = stop ? stop + 1 : end;
    }
    return list;
}

/* Returns true if a line continues the member before it. */
static bool
goes_on(const struct matter_line *line)
{
    return line->n == 0 || is_blank(*line->p) || *line->p == '#' || (*line->p == '-' && (line->n == 1 || is_blank(line->p[1])));
}

/* Reads the lines of a list, "- ITEM". */
static json_t *
read_block(struct matter m)
{
    json_t *list = json_array();
    struct matter_line line;
    while (list && matter_next(&line, &m) && !line_is(&line, "---") && goes_on(&line)) {
        trim(&line);
        bool item = line.n > 1 && *line.p == '-' && is_blank(line.p[1]);
        struct matter_line text = { line.p + 1, line.n - 1 };
        trim(&text);
        if (item && str_is(text.p, text.n, "no"))       /* the language, as gguf-py has it */
            list = append(list, json_string("no"));
        else if (item)
            list = append(list, read_scalar(text));
        else if (line.n != 0 && *line.p != '#')
            list = append(list, NULL);
    }
    return list;
}

/* Skips the lines that belong to a member. Returns true if there are any. */
static bool
skip(struct matter *m)
{
    struct matter_line line;
    struct matter next = *m;
    bool any = false;
    while (matter_next(&line, &next) && !line_is(&line, "---") && goes_on(&line)) {
        any = any || (line.n != 0 && *line.p != '#');
        *m = next;
    }
    return any;
}

/* Reads the member whose first line this is. */
static bool
add_member(json_t *front, const struct matter_line *line, struct matter *m, struct err *err)
{
    size_t n = 0;
    while (n < line->n && !(line->p[n] == ':' && (n + 1 == line->n || is_blank(line->p[n + 1]))))
        n++;
    struct matter_line rest = { line->p + n + 1, n < line->n ? line->n - n - 1 : 0 };
    trim(&rest);
    const struct matter lines = *m;
    bool more = skip(m), list = rest.n == 0 || *rest.p == '#';
    json_t *value = NULL;
    if (n == line->n || n == 0 || !str_is_utf8(line->p, line->n))
        return true;
    if (list)
        value = read_block(lines);
    else if (!more && *rest.p == '[')
        value = read_flow(rest);
    else if (!more)
        value = read_scalar(rest);
    return json_object_setn_new(front, line->p, n, value ? value : json_null()) == 0 || err_memory(err, n);
}

bool
hf_front_matter(json_t **front, const struct hf_text *card, struct err *err)
{
    struct matter m = { card->p, card->p ? card->p + card->n : NULL };
    struct matter_line line;
    tree_guard();
    *front = json_object();
    if (!*front)
        return err_memory(err, 0);
    if (!card->p || !matter_next(&line, &m) || !line_is(&line, "---"))
        return true;
    while (matter_next(&line, &m) && !line_is(&line, "---"))
        if (!goes_on(&line) && !add_member(*front, &line, &m, err))
            return false;
    return true;
}
