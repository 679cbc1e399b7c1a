/* What the expressions of a family refer to. */
#include <stdlib.h>
#include <string.h>

#include "family/expr_priv.h"

/* Calls `see` with an expression unless it is NULL. */
static bool
see_one(const struct expr *e, family_see *see, void *of, struct err *err)
{
    return !e || see(of, e, err);
}

static bool
see_row(const struct family_row *row, family_see *see, void *of, struct err *err)
{
    if (!see_one(row->when, see, of, err))
        return false;
    for (size_t i = 0; i < row->nshift; i++)
        if (!see_one(row->shift[i], see, of, err))
            return false;
    for (size_t k = 0; k < row->nparts; k++)
        for (size_t i = 0; i < row->part[k].n; i++)
            for (uint32_t j = 0; j < row->part[k].verb[i].nargs; j++)
                if (!see_one(row->part[k].verb[i].arg[j], see, of, err))
                    return false;
    return true;
}

/* Calls `see` with all that makes the output. */
static bool
see_output(const struct model_family *family, family_see *see, void *of, struct err *err)
{
    for (size_t i = 0; i < family->keys.n; i++)
        if (!see_one(family->keys.at[i].value, see, of, err) || !see_one(family->keys.at[i].when, see, of, err))
            return false;
    for (size_t i = 0; i < family->lets.n; i++)
        if (!see_one(family->lets.at[i].value, see, of, err))
            return false;
    for (size_t i = 0; i < family->rows.n; i++)
        if (!see_row(&family->rows.at[i], see, of, err))
            return false;
    return see_one(family->vocab_size, see, of, err);
}

bool
family_each_expr(const struct model_family *family, family_see *see, void *of, struct err *err)
{
    if (!see_output(family, see, of, err))
        return false;
    for (size_t i = 0; i < family->refuses.n; i++)
        if (!see_one(family->refuses.at[i].when, see, of, err))
            return false;
    for (size_t i = 0; i < family->warns.n; i++)
        if (!see_one(family->warns.at[i].when, see, of, err))
            return false;
    return true;
}

struct use {
    const char *word;
    bool found;
};

static bool
uses(void *of, const struct expr *e, struct err *err)
{
    struct use *use = of;
    const char *name;
    size_t n = strlen(use->word);
    (void)err;
    for (size_t i = 0; (name = expr_name_at(e, i)) != NULL; i++)
        use->found = use->found || (strncmp(name, use->word, n) == 0 && (name[n] == '\0' || name[n] == '.'));
    return true;
}

bool
family_uses(const struct model_family *family, const char *word)
{
    struct use use = { word, false };
    struct err ignored;
    err_init(&ignored);
    return see_output(family, uses, &use, &ignored) && use.found;
}

/* --- the way back */

/* What verbs need, directly or through lets. */
struct recovery {
    const struct model_family *family;
    bool *need;                 /* for each let; owned */
    struct names *out;
    bool more;                  /* a let was added */
};

static bool
is_named(const char *member, const char *name)
{
    size_t n = strlen(member);
    return strncmp(name, member, n) == 0 && (name[n] == '\0' || name[n] == '.');
}

/* Returns true if a row gives the member a value on the way back. */
static bool
is_recovered(const struct model_family *f, const char *name)
{
    static const char *const always[] = { "vocab_size", "layers", "main" };
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        if (strcmp(name, always[i]) == 0)
            return true;
    for (size_t i = 0; i < f->keys.n; i++)
        if (f->keys.at[i].name && !f->keys.at[i].each && expr_member(f->keys.at[i].value)
                && is_named(expr_member(f->keys.at[i].value), name))
            return true;
    for (size_t i = 0; i < f->back.n; i++)
        if (is_named(f->back.at[i].name, name))
            return true;
    for (size_t i = 0; i < f->defaults.n; i++)
        if (is_named(f->defaults.at[i].name, name))
            return true;
    for (size_t i = 0; i < f->consts.n; i++)
        if (is_named(f->consts.at[i].name, name))
            return true;
    return false;
}

/* Notes the lets that an expression needs, and its members that no row recovers. */
static bool
see_needed(void *of, const struct expr *e, struct err *err)
{
    struct recovery *r = of;
    const char *name;
    for (size_t i = 0; (name = expr_name_at(e, i)) != NULL; i++) {
        char first[64];
        size_t n = strcspn(name, "."), k = 0;
        snprintf(first, sizeof first, "%.*s", (int)n, name);
        while (k < r->family->lets.n && strcmp(r->family->lets.at[k].name, first) != 0)
            k++;
        if (k < r->family->lets.n) {
            r->more = r->more || !r->need[k];
            r->need[k] = true;
        } else if (!scope_is_builtin(first) && !is_recovered(r->family, name) && !names_add(r->out, name, strlen(name), err))
            return false;
    }
    return true;
}

static bool
see_verbs(struct recovery *r, struct err *err)
{
    for (size_t i = 0; i < r->family->rows.n; i++) {
        struct family_row row = r->family->rows.at[i];
        row.when = NULL;
        if (!see_row(&row, see_needed, r, err))
            return false;
    }
    return true;
}

bool
family_unrecovered(const struct model_family *family, struct names *out, struct err *err)
{
    struct recovery r = { .family = family, .need = calloc(family->lets.n + 1, sizeof *r.need), .out = out };
    if (!r.need)
        return err_memory(err, family->lets.n);
    bool ok = see_verbs(&r, err), *done = calloc(family->lets.n + 1, sizeof *done);
    ok = ok && (done || err_memory(err, family->lets.n));
    while (ok && r.more) {
        r.more = false;
        for (size_t i = 0; ok && i < family->lets.n; i++)
            if (r.need[i] && !done[i]) {
                done[i] = true;
                ok = see_needed(&r, family->lets.at[i].value, err);
            }
    }
    free(done);
    free(r.need);
    names_sort(out);
    return ok;
}
