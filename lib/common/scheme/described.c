#include "scheme/roles_priv.h"

#include <stdio.h>

#include "base/str.h"
#include "scheme/fp8.h"
#include "scheme/table.h"

/* One member: the tensor it names, and the word for it. */
struct described {
    const char *file;
    const struct pull_text *name;
    const char *word;
    const struct scheme *scheme;        /* one of the word */
};

/* Returns true if the model has P.weight for a missing tensor P.x. */
static bool
has_weight(const struct claims *c, const struct pull_text *name)
{
    size_t n = name->n;
    while (n != 0 && name->p[n - 1] != '.')
        n--;
    return n != 0 && !str_is(name->p + n, name->n - n, "quant_type")
        && claims_find(c, name->p, n - 1, ".weight") != NULL;
}

/* Returns the weight that is made of a tensor of codes with its scales, or NULL. */
static const struct weight *
weight_of(const struct claims *c, const struct tensor *t)
{
    const struct weight *w = roles_weight_of(c->roles, catalog_index(c->catalog, t));
    if (w && !(fp8_is(w) && !fp8_is_scaled(w)))
        return w;
    return NULL;
}

/* Returns true if weights of a scheme need a tensor of this name. */
static bool
is_part(const struct scheme *scheme, const struct tensor *t)
{
    struct part_name p;
    for (size_t i = 0; i < scheme->nrows; i++)
        for (size_t k = 0; table_has(&scheme->rows[i], k); k++)
            if (scheme->rows[i].companions[k].presence < OPTIONAL && claims_strip_name(t, scheme->rows[i].companions[k].suffix, &p))
                return true;
    return false;
}

static bool
check_exists(const struct claims *c, const struct described *d, struct err *err)
{
    char name[STR_SHOWN];
    return catalog_find(c->catalog, d->name->p, d->name->n) || !has_weight(c, d->name) || claims_missing(c, 0, err,
        "tensor %s: is missing, although %s declares it (%s)", str_shown(name, d->name->p, d->name->n), d->file, d->word);
}

/* Checks that a weight has the tensor if it needs one of the name. */
static bool
check_part(const struct claims *c, const struct described *d, struct err *err)
{
    const struct tensor *t = catalog_find(c->catalog, d->name->p, d->name->n);
    char name[STR_SHOWN], shape[SHAPE_TEXT];
    return !t || claims_is_taken(c, t) || table_is_idle(t) || !has_weight(c, d->name) || !is_part(d->scheme, t)
        || err_at(err, ERR_MALFORMED, t->extent.at, "tensor %s: %s declares it as a part of %s, but %s %s does not fit its weight",
            str_shown(name, t->name, t->name_len), d->file, d->word, dtype_name(t->dtype), shape_text(shape, &t->shape));
}

/* Checks that integers and small floats are a weight with scales, of a scheme of the word. */
static bool
check_weight(const struct claims *c, const struct described *d, struct err *err)
{
    const struct tensor *t = catalog_find(c->catalog, d->name->p, d->name->n);
    char name[STR_SHOWN];
    struct part_name p;
    if (!t || !claims_strip_name(t, ".weight", &p) || dtype_is_float(t->dtype))
        return true;
    const struct weight *w = weight_of(c, t);
    str_shown(name, t->name, t->name_len);
    if (!w)
        return claims_missing(c, t->extent.at, err, "tensor %s: %s declares it as %s, but it has no weight_scale that fits", name, d->file,
            d->word);
    return !w->scheme->decode || words_has(w->scheme, WORD_DESCRIPTION, d->word) || err_at(err, ERR_MALFORMED, t->extent.at,
        "tensor %s: %s declares it as %s, but its tensors are those of %s", name, d->file, d->word, w->scheme->name);
}

/* Checks that a weight that is declared as a float is not integers. */
static bool
check_plain(const struct claims *c, const struct described *d, struct err *err)
{
    const struct tensor *t = catalog_find(c->catalog, d->name->p, d->name->n);
    char name[STR_SHOWN], shape[SHAPE_TEXT];
    struct part_name p;
    return !t || !claims_strip_name(t, ".weight", &p) || dtype_facts(t->dtype)->kind != DTYPE_IS_INT
        || err_at(err, ERR_MALFORMED, t->extent.at, "tensor %s: %s declares it as %s, but it is %s %s",
            str_shown(name, t->name, t->name_len), d->file, d->word, dtype_name(t->dtype), shape_text(shape, &t->shape));
}

typedef bool described_one(const struct claims *c, const struct described *d, struct err *err);

/* Calls `one` for each member that declares a tensor as quantized in a scheme that is decoded, or as not quantized. */
static bool
check_file(const struct claims *c, const struct catalog_config *file, bool quantized, described_one *one, struct err *err)
{
    struct pull json;
    struct pull_text name, value;
    char word[SCHEME_DETAIL];
    bool ok = true;
    pull_init(&json, file->text, file->n, 0);
    if (pull_next(&json) == PULL_OBJECT)
        while (ok && words_next_member(&json, &name, &value)) {
            struct described d = { file->name, &name, word, NULL };
            snprintf(word, sizeof word, "%.*s", (int)(value.n < sizeof word ? value.n : 0), value.p);
            if (!name.escaped && !value.escaped && words_find(WORD_DESCRIPTION, word, &d.scheme)
                && (quantized ? d.scheme && d.scheme->decode : !d.scheme))
                ok = one(c, &d, err);
        }
    return ok;
}

bool
described_check(const struct claims *c, struct err *err)
{
    bool ok = true;
    for (size_t i = 0; ok && !c->forced && !claims_is_report_on_shard(c) && i < catalog_config_count(c->catalog); i++) {
        const struct catalog_config *file = catalog_config_at(c->catalog, i);
        if (str_begins(file->name, CATALOG_DESCRIPTION))
            ok = check_file(c, file, true, check_exists, err) && check_file(c, file, true, check_part, err)
                && check_file(c, file, true, check_weight, err) && check_file(c, file, false, check_plain, err);
    }
    return ok;
}
