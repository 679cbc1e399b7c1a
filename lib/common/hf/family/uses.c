/* What the expressions of a family refer to. */
#include <string.h>

#include "hf/family/family.h"

/* Calls `see` with an expression; NULL is none. */
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
