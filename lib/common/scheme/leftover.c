#include "scheme/roles_priv.h"

#include <limits.h>
#include <string.h>

#include "base/str.h"
#include "scheme/fp8.h"
#include "scheme/table.h"

/* Returns the companions that a row needs and the module lacks, and the first of them in *lack. An alias is as good. */
static unsigned
count_lacking(const struct claims *c, const struct part_name *p, const struct scheme_row *row, const char **lack)
{
    unsigned n = 0;
    for (size_t i = 0; table_has(row, i); i++) {
        const struct companion *with = &row->companions[i];
        if (with->presence == OPTIONAL || with->presence == ALIAS)
            continue;
        const struct tensor *t = claims_find(c, p->base, p->base_len, with->suffix);
        for (size_t k = i + 1; !t && table_has(row, k) && row->companions[k].presence == ALIAS; k++)
            t = claims_find(c, p->base, p->base_len, row->companions[k].suffix);
        if (!t || !dtype_in(with->dtypes, t->dtype))
            *lack = n++ == 0 ? with->suffix : *lack;
    }
    return n;
}

/* Returns the suffix of the first companion that codes lack, of the row that lacks the fewest. Empty for other tensors. */
static const char *
find_lack(const struct claims *c, const struct tensor *t, const struct part_name *p)
{
    const struct scheme *s;
    const char *least = "";
    unsigned fewest = UINT_MAX;
    for (size_t i = 0; (s = table_scheme(i)) != NULL; i++)
        for (size_t j = 0; j < s->nrows; j++) {
            const struct scheme_row *row = &s->rows[j];
            const char *lack = "";
            if (!row->codes || strcmp(row->codes, p->suffix) != 0 || !dtype_in(row->dtypes, t->dtype))
                continue;
            unsigned n = count_lacking(c, p, row, &lack);
            if (n < fewest)
                least = lack;
            fewest = n < fewest ? n : fewest;
        }
    return least;
}

static bool
missing(const struct claims *c, const struct tensor *t, const struct part_name *p, const char *weight,
    const struct tensor *found, struct err *err)
{
    char shown[STR_SHOWN], base[STR_SHOWN];
    const char *lack = find_lack(c, t, p);
    str_shown(shown, t->name, t->name_len);
    str_shown(base, p->base, p->base_len);
    if (found && found != t)
        return claims_missing(c, t->extent.at, err, "tensor %s: belongs to a quantized weight, but %s%s is %s and the "
            "other parts are missing", shown, base, weight, dtype_name(found->dtype));
    return claims_missing(c, t->extent.at, err, "tensor %s: belongs to the quantized weight %s%s, which is missing or "
        "incomplete%s%s; if the model has several files, give the directory or the index", shown, base, weight,
        *lack ? " without " : "", *lack ? lack + 1 : "");
}

/* Checks one tensor that no weight claimed and that is beside none. *warned counts the harmless ones. */
static bool
check(const struct claims *c, const struct tensor *t, size_t *warned, struct err *err)
{
    struct part_name p;
    const struct left_name *name = claims_left(c, t, &p);
    if (!name || siblings_is_beside(c, t))
        return true;
    const struct tensor *weight = claims_find(c, p.base, p.base_len, name->weight);
    bool packed = name->left == LEFT_PACKED || name->left == LEFT_WORDS || (name->left == LEFT_BLOCK_SCALES && dtype_is_float8(t->dtype));
    if (!packed && (weight ? dtype_is_float(weight->dtype) : fp8_fused_is_unused(c, t)))
        *warned += name->left != LEFT_METHOD;      /* a common word, as in norm.scale */
    else if (!claims_is_report_on_shard(c))
        return missing(c, t, &p, name->weight, weight, err);
    return true;
}

bool
leftover_check(const struct roles *roles, struct claims *c, struct err *err)
{
    const struct catalog *catalog = c->catalog;
    size_t warned = 0;
    if (strcmp(catalog_facts_of(catalog)->format, "GGUF") == 0)    /* GGUF: other writers, other names */
        return true;
    for (size_t i = 0; i < catalog_count(catalog); i++)
        if (!roles_weight_of(roles, i) && !roles_is_companion(roles, i)
            && !check(c, catalog_at(catalog, i), &warned, err))
            return false;
    if (warned != 0)
        claims_warn(c, "scales or zero points of unquantized weights, copied unchanged: %zu", warned);
    return true;
}
