/* Keys that must exist, and what they lack. */
#include <string.h>

#include "family/expr_priv.h"

enum { LETS_DEEP = 8, LACKING = 12 };

bool
family_key_decides(bool *decides, const struct model_family *family, size_t i, struct scope *scope, struct err *err)
{
    const struct family_key *row = &family->keys.at[i];
    *decides = false;
    if (!row->name || str_begins(row->name, "tokenizer."))
        return true;
    if (!expr_true(decides, row->when, scope, 0, err))
        return false;
    for (size_t k = i + 1; *decides && k < family->keys.n; k++) {
        const struct family_key *later = &family->keys.at[k];
        bool applies;
        if (!later->name || strcmp(later->name, row->name) != 0)
            continue;
        if (!expr_true(&applies, later->when, scope, 0, err))
            return false;
        *decides = !applies;
    }
    return true;
}

/* --- names without a value */

struct lacking {
    struct scope *scope;
    const char *name[LACKING];
    size_t n;
};

static const struct expr *
let_of(const struct model_family *family, const char *name)
{
    for (size_t i = 0; i < family->lets.n; i++)
        if (strcmp(family->lets.at[i].name, name) == 0)
            return family->lets.at[i].value;
    return NULL;
}

static bool
add_lacking(struct lacking *l, const char *name, struct err *err)
{
    json_t *value;
    if (!scope_value(&value, name, l->scope, 0, err))
        return false;
    bool lacks = json_is_null(value) && l->n < LACKING;
    json_decref(value);
    for (size_t i = 0; i < l->n; i++)
        lacks = lacks && strcmp(l->name[i], name) != 0;
    if (lacks)
        l->name[l->n++] = name;
    return true;
}

static bool
needed_collect(struct lacking *l, const struct expr *e, unsigned deep, struct err *err)
{
    const char *name;
    for (size_t i = 0; (name = expr_name_at(e, i)) != NULL; i++) {
        const struct expr *let = let_of(l->scope->family, name);
        if (let ? deep < LETS_DEEP && !needed_collect(l, let, deep + 1, err) : !add_lacking(l, name, err))
            return false;
    }
    return true;
}

bool
family_lacking(struct str *out, size_t *n, const struct expr *e, struct scope *scope, struct err *err)
{
    struct lacking l = { .scope = scope };
    if (!needed_collect(&l, e, 0, err))
        return false;
    for (size_t i = 0; i < l.n; i++)
        str_format(out, "%s%s", i == 0 ? "" : i + 1 == l.n ? " and " : ", ", l.name[i]);
    *n = l.n;
    return !out->failed || err_memory(err, out->room);
}
