/* Reads the text of a family: lines, words, includes. */
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "family/read_priv.h"

/* --- memory */

enum { CHUNK = 16 << 10 };

struct family_chunk {
    struct family_chunk *older;
    size_t n, room;
    _Alignas(max_align_t) unsigned char p[];
};

void *
family_alloc(struct family_owner *owner, size_t n, struct err *err)
{
    struct family_chunk *chunk = owner->newest;
    n = (n + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    if (!chunk || chunk->room - chunk->n < n) {
        size_t room = (size_t)num_max(n, CHUNK);
        chunk = calloc(1, sizeof *chunk + room);
        if (!chunk) {
            err_memory(err, room);
            return NULL;
        }
        chunk->older = owner->newest;
        chunk->room = room;
        owner->newest = chunk;
    }
    chunk->n += n;
    return chunk->p + chunk->n - n;
}

const char *
family_copy(struct family_reader *r, const char *p, size_t n)
{
    char *copy = family_alloc(r->owner, n + 1, r->err);
    if (copy)
        memcpy(copy, p, n);
    return copy;
}

size_t
family_room(size_t n)
{
    size_t room = 64;           /* as array_grow() begins */
    while (room < n)
        room *= 2;
    if (n == 0)
        return 0;
    return room;
}

void
family_free(struct model_family *family)
{
    struct family_owner *owner = (struct family_owner *)family;
    if (!family)
        return;
    for (size_t i = 0; i < owner->nexprs; i++)
        expr_free(owner->exprs[i]);
    free(owner->exprs);
    for (size_t i = 0; i < family->consts.n; i++)
        json_decref(family->consts.at[i].value);
    void *const lists[] = { family->classes.at, family->vocab.at, family->hf.at, family->pre.at, family->special.at,
        family->defaults.at, family->back.at, family->consts.at, family->lets.at, family->renames.at, family->members.at, family->variants.at, family->mtp.at,
        family->drop.at, family->zero.at, family->archs.at, family->fallbacks.at, family->stored.at, family->same.at,
        family->rows.at, family->makes.at, family->needs.at, family->older.at, family->ignores.at, family->keys.at,
        family->refuses.at, family->warns.at };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        free(lists[i]);
    family_free_image(family->image);
    while (owner->newest) {
        struct family_chunk *older = owner->newest->older;
        free(owner->newest);
        owner->newest = older;
    }
    free(owner);
}

/* --- words */

bool
family_expected(struct family_reader *r, const char *found, size_t n, const char *expected)
{
    char shown[STR_SHOWN];
    return err_set(r->err, ERR_MALFORMED, "%s: found '%s', expected %s", r->where, str_shown(shown, found, n),
        expected);
}

bool
family_miscounted(struct family_reader *r, const char *word, size_t n, size_t fewest, size_t most)
{
    const char *bound = "at most ";
    if (n < fewest)
        bound = "at least ";
    return err_set(r->err, ERR_MALFORMED, "%s: found %zu arguments of '%s', expected %s%zu", r->where, n, word,
        fewest == most ? "" : bound, n < fewest ? fewest : most);
}

bool
family_word_is(const struct family_reader *r, size_t i, const char *text)
{
    return i < r->nwords && str_is(r->word[i].p, r->word[i].n, text);
}

bool
family_expr(struct family_reader *r, struct expr **e, const char *p, size_t n)
{
    struct family_owner *o = r->owner;
    struct expr **list = array_grow(o->exprs, o->nexprs, &o->room, sizeof *list, r->err);
    if (!list)
        return false;
    o->exprs = list;
    if (!expr_parse(e, p, n, r->where, r->err))
        return false;
    list[o->nexprs++] = *e;
    return true;
}

bool
family_words_expr(struct family_reader *r, struct expr **e, size_t first)
{
    const struct family_word *last = &r->word[r->nwords - 1];
    if (first >= r->nwords)
        return err_set(r->err, ERR_MALFORMED, "%s: found the end of the line, expected an expression", r->where);
    return family_expr(r, e, r->word[first].p, (size_t)(last->p + last->n - r->word[first].p));
}

bool
family_string(struct family_reader *r, const char **out, size_t word)
{
    const struct family_word *w = &r->word[word];
    json_error_t why;
    json_t *value = NULL;
    if (w->n != 0 && *w->p == '"')
        value = json_loadb(w->p, w->n, JSON_DECODE_ANY, &why);
    bool ok = json_is_string(value);
    if (ok)
        *out = family_copy(r, json_string_value(value), json_string_length(value));
    else
        *out = NULL;
    json_decref(value);
    if (ok)
        return *out != NULL;
    return family_expected(r, w->p, w->n, "a string in double quotes");
}

/* Returns the end of the word at p, where blanks in strings do not end it; NULL if a string is not closed. */
static const char *
word_end(const char *p, const char *end)
{
    bool quoted = false;
    for (; p < end && (quoted || (*p != ' ' && *p != '\t')); p++) {
        if (*p == '"')
            quoted = !quoted;
        else if (quoted && *p == '\\' && p + 1 < end)
            p++;
    }
    if (quoted)
        return NULL;
    return p;
}

/* Splits a line into the words before `when` and the expression after it. */
static bool
split(struct family_reader *r, const char *p, const char *end)
{
    r->nwords = 0;
    r->rest = (struct family_word){ NULL, 0 };
    for (;;) {
        while (p < end && (*p == ' ' || *p == '\t'))
            p++;
        if (p == end || *p == '#')
            return true;
        const char *next = word_end(p, end);
        if (!next)
            return family_expected(r, p, (size_t)(end - p), "a string that ends with a double quote");
        if (r->rest.p)
            r->rest.n = (size_t)(next - r->rest.p);
        else if (str_is(p, (size_t)(next - p), "when"))
            r->rest = (struct family_word){ next, 0 };
        else
            r->word[r->nwords++] = (struct family_word){ p, (size_t)(next - p) };
        p = next;
    }
}

/* --- lines */

static bool
set_where(struct family_reader *r, const char *file, size_t line)
{
    struct str s = { 0 };
    char shown[STR_SHOWN];
    str_format(&s, "%s:%zu", str_shown(shown, file, strlen(file)), line);
    if (s.failed)
        r->where = NULL;
    else
        r->where = family_copy(r, s.p, s.len);
    str_clear(&s);
    return r->where || err_memory(r->err, 0);
}

static bool
read_line(struct family_reader *r, const char *p, const char *end)
{
    if (end > p && end[-1] == '\r')
        end--;
    if (end - p > FAMILY_LINE)
        return err_set(r->err, ERR_LIMIT, "%s: found a line of %zu bytes, expected at most %d", r->where,
            (size_t)(end - p), FAMILY_LINE);
    if (memchr(p, '\0', (size_t)(end - p)) || !str_is_utf8(p, (size_t)(end - p)))
        return err_set(r->err, ERR_MALFORMED, "%s: found bytes that are not UTF-8 text, expected UTF-8",
            r->where);
    if (!split(r, p, end))
        return false;
    if (r->nwords == 0 && !r->rest.p)
        return true;
    if (++r->statements > FAMILY_STATEMENTS)
        return err_set(r->err, ERR_LIMIT, "%s: found more than %d statements", r->where, FAMILY_STATEMENTS);
    return family_statement(r);
}

static bool
read_text(struct family_reader *r, const char *file, const char *text, size_t n)
{
    const char *end = text + n;
    size_t line = 0;
    if (n > FAMILY_TEXT)
        return err_set(r->err, ERR_LIMIT, "%s: found %zu bytes, expected at most %d", file, n, FAMILY_TEXT);
    for (const char *p = text, *next; p < end || line == 0; p = next) {
        const char *stop = NULL;
        if (p < end)
            stop = memchr(p, '\n', (size_t)(end - p));
        if (!stop)
            stop = end;
        if (stop < end)
            next = stop + 1;
        else
            next = end;
        if (!set_where(r, file, ++line) || !read_line(r, p, stop))
            return false;
    }
    return true;
}

bool
family_read_include(struct family_reader *r, const char *name)
{
    const char *text = NULL, *where = r->where;
    bool fragment = r->fragment;
    struct str file = { 0 };
    size_t n = 0;
    for (size_t i = 1; i < r->nfiles; i++)
        if (strcmp(r->file[i], name) == 0)
            return family_expected(r, name, strlen(name), "a fragment that does not include itself");
    if (r->nfiles > FAMILY_INCLUDES)
        return family_expected(r, name, strlen(name), "at most 4 includes inside each other");
    if (r->include && !r->include(r->include_of, name, &text, &n, r->err))
        return false;
    if (!text)
        return family_expected(r, name, strlen(name), "the name of a fragment that exists");
    str_format(&file, "%s.family", name);
    r->file[r->nfiles++] = name;
    r->fragment = true;
    bool ok;
    if (file.failed)
        ok = err_memory(r->err, file.room);
    else
        ok = read_text(r, file.p, text, n);
    r->fragment = fragment;
    r->nfiles--;
    r->where = where;
    str_clear(&file);
    return ok;
}

bool
family_read(struct model_family **family, const char *file, const char *text, size_t n, family_include *include, void *of,
    struct err *err)
{
    struct family_owner *owner = calloc(1, sizeof *owner);
    struct family_reader *r = calloc(1, sizeof *r);         /* too large for the stack */
    bool ok = owner && r;
    *family = NULL;
    if (!ok)
        err_memory(err, sizeof *owner + sizeof *r);
    if (ok) {
        *r = (struct family_reader){ .owner = owner, .family = &owner->family, .include = include, .include_of = of, .err = err,
            .file = { file }, .nfiles = 1 };
        ok = read_text(r, file, text, n) && family_check(r);
        table_clear(&r->lets);
    }
    free(r);
    if (ok)
        *family = &owner->family;
    else if (owner)
        family_free(&owner->family);
    return ok;
}
