/* Checks of a whole family. */
#include <stdlib.h>
#include <string.h>

#include "family/read_priv.h"

/* --- lets */

static int
compare_lets(const void *a, const void *b)
{
    return strcmp(((const struct family_let *)a)->name, ((const struct family_let *)b)->name);
}

/* Returns the number of the let that a name begins with, or the number of lets. The lets are sorted. */
static size_t
find_let(const struct model_family *family, const char *name)
{
    char first[FAMILY_NAME];
    size_t n = strcspn(name, ".");
    struct family_let key = { .name = first };
    if (n >= sizeof first || family->lets.n == 0)
        return family->lets.n;
    memcpy(first, name, n);
    first[n] = '\0';
    const struct family_let *let = bsearch(&key, family->lets.at, family->lets.n, sizeof key, compare_lets);
    if (let)
        return (size_t)(let - family->lets.at);
    return family->lets.n;
}

/* Visits lets depth first, on an explicit stack: state 0 not seen, 1 being visited, 2 done. */
struct let_walk {
    struct let_frame {
        size_t let, name;       /* the next name in its expression */
    } *stack;
    uint8_t *state;
};

static bool
visit(struct family_reader *r, const struct let_walk *walk, size_t first)
{
    const struct model_family *family = r->family;
    size_t n = 0;
    walk->stack[n++] = (struct let_frame){ first, 0 };
    walk->state[first] = 1;
    while (n != 0) {
        struct let_frame *top = &walk->stack[n - 1];
        const struct family_let *let = &family->lets.at[top->let];
        const char *name = expr_name_at(let->value, top->name++);
        if (!name) {
            walk->state[top->let] = 2;
            n--;
            continue;
        }
        size_t next = find_let(family, name);
        if (next == family->lets.n || walk->state[next] == 2)
            continue;
        if (walk->state[next] == 1) {
            r->where = expr_where(family->lets.at[next].value);
            return family_expected(r, family->lets.at[next].name, strlen(family->lets.at[next].name),
                "a let that does not refer to itself");
        }
        walk->state[next] = 1;
        walk->stack[n++] = (struct let_frame){ next, 0 };
    }
    return true;
}

static bool
check_lets(struct family_reader *r)
{
    struct model_family *family = r->family;
    size_t n = family->lets.n;
    bool ok = true;
    if (n == 0)
        return true;
    qsort(family->lets.at, n, sizeof *family->lets.at, compare_lets);
    struct let_walk walk = { .stack = calloc(n, sizeof *walk.stack), .state = calloc(n, 1) };
    if (!walk.stack || !walk.state)
        ok = err_memory(r->err, n * sizeof *walk.stack);
    for (size_t i = 0; ok && i < n; i++)
        ok = walk.state[i] == 2 || visit(r, &walk, i);
    free(walk.stack);
    free(walk.state);
    return ok;
}

/* --- rows */

static const char *
source_name(const void *of, uint32_t number, size_t *n)
{
    char *const *names = of;
    *n = strlen(names[number]);
    return names[number];
}

static bool
same_text(const struct expr *a, const struct expr *b)
{
    return a == b || (a && b && strcmp(expr_text(a), expr_text(b)) == 0);
}

static bool
same_verb(const struct verb *a, const struct verb *b)
{
    if (a->kind != b->kind || a->nargs != b->nargs)
        return false;
    for (uint32_t i = 0; i < a->nargs; i++)
        if (!same_text(a->arg[i], b->arg[i]) || a->perm[i] != b->perm[i])
            return false;
    return true;
}

/* Returns the number of verbs before `part`, or all of them plus 1 if there is none. */
static size_t
verbs_before_part(const struct row_part *part)
{
    size_t i = 0;
    while (i < part->n && part->verb[i].kind != VERB_PART)
        i++;
    if (i < part->n)
        return i;
    return part->n + 1;
}

static bool
check_agreement(struct family_reader *r, const struct row_part *a, const struct family_row *row)
{
    for (size_t k = 0; k < row->nparts; k++) {
        const struct row_part *b = &row->part[k];
        size_t n = verbs_before_part(a), m = verbs_before_part(b);
        bool same = n == m;
        if (n > a->n || m > b->n)
            continue;
        for (size_t i = 0; same && i < n; i++)
            same = same_verb(&a->verb[i], &b->verb[i]);
        r->where = row->where;
        if (!same)
            return family_expected(r, row->hf, strlen(row->hf), "the same verbs before 'part' in all rows of a source");
    }
    return true;
}

/* Returns a text that identifies the source of a row and its condition, or both its names if `gguf`. Rows of one source with
 * different conditions are alternatives, whose verbs may differ. */
static char *
identity(const struct family_row *row, bool gguf, struct err *err)
{
    struct str s = { 0 };
    const char *when = "";
    if (row->when)
        when = expr_text(row->when);
    str_format(&s, "%s@%s %s", row->hf, str_or(row->kept, ""), gguf ? row->gguf : when);
    if (s.failed) {
        err_memory(err, s.room);
        str_clear(&s);
        return NULL;
    }
    return s.p;
}

/* Compares each row with the first of the same source, or the first of the same row. */
static bool
check_same(struct family_reader *r, char **names, bool gguf)
{
    const struct model_family *family = r->family;
    struct table table = { 0 };
    bool ok = true;
    for (size_t i = 0; ok && i < family->rows.n; i++) {
        const struct family_row *row = &family->rows.at[i];
        uint32_t first = (uint32_t)i;
        bool again = false;
        free(names[i]);
        names[i] = identity(row, gguf, r->err);
        ok = names[i] && table_add(&table, source_name, names, names[i], strlen(names[i]), &first, &again, r->err);
        const struct family_row *other = &family->rows.at[first];
        r->where = row->where;
        if (ok && gguf && again && !row->when && !other->when)
            ok = family_expected(r, row->gguf, strlen(row->gguf), "one row for the same two names, or 'when'");
        if (ok && !gguf)
            ok = check_agreement(r, &other->part[0], row);
    }
    table_clear(&table);
    return ok;
}

static bool
check_rows(struct family_reader *r)
{
    size_t n = r->family->rows.n;
    char **names = calloc(n + 1, sizeof *names);
    bool ok;
    if (names)
        ok = check_same(r, names, true) && check_same(r, names, false);
    else
        ok = err_memory(r->err, n * sizeof *names);
    for (size_t i = 0; names && i < n; i++)
        free(names[i]);
    free(names);
    return ok;
}

/* --- statements that must exist */

static bool
lacks(struct family_reader *r, const char *word)
{
    return err_set(r->err, ERR_MALFORMED, "%s: found the end of the file, expected the statement '%s'",
        r->where, word);
}

bool
family_check(struct family_reader *r)
{
    const struct model_family *f = r->family;
    if (!f->name)
        return lacks(r, "family");
    if (!f->arch && f->image)
        return lacks(r, "arch");
    if (f->image)
        return f->image->detect.n != 0 || lacks(r, "detect");
    if (f->classes.n == 0)
        return lacks(r, "class");
    if (!f->arch)
        return lacks(r, "arch");
    return (f->vocab.n != 0 || f->tower || lacks(r, "vocab")) && check_lets(r) && check_rows(r);
}
