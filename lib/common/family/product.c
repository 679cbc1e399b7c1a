#include "family/product.h"

#include <stdlib.h>

#include "base/limits.h"
#include "family/compose.h"
#include "family/pattern.h"

enum { PRODUCT_MAX = 1 << 20 };

/* Sets *name to the name of the other tensor of a row for layer b. */
static bool
product_other_name(const char **name, uint32_t *n, struct scope *scope, const struct family_row *row, uint64_t b,
    struct catalog *memory, struct err *err)
{
    struct str text = { 0 };
    json_t *value;
    if (!expr_value(&value, row->by, scope, b, err))
        return false;
    const char *pattern = json_string_value(value);
    if (pattern)
        pattern_fill(&text, pattern, b, 0);
    bool ok = pattern || err_set(err, ERR_MALFORMED, "%s: by: expected the name of a tensor in quotes", row->where);
    json_decref(value);
    if (ok)
        return pattern_name(name, n, &text, memory, err);
    return false;
}

/* Finds the other tensor, which has n elements. */
static bool
product_find(const struct family_source **other, const struct rows_work *w, const struct row_output *out, uint64_t n, struct err *err)
{
    const struct family_row *row = &w->family->rows.at[out->row];
    char shown[STR_SHOWN], what[STR_SHOWN + 64];
    const char *name;
    uint32_t length;
    uint64_t numel;
    if (!product_other_name(&name, &length, w->scope, row, out->match.b, w->memory, err))
        return false;
    *other = family_sources_find(w->sources, name, length);
    if (!*other) {
        snprintf(what, sizeof what, "the model lacks %s, which is multiplied by it", str_shown(shown, name, length));
        return rows_fail(out->match.source, ERR_MALFORMED, what, err);
    }
    return (shape_numel(&(*other)->t.shape, &numel) && numel == n)
        || rows_fail(*other, ERR_MALFORMED, "its elements are not as many as those that it is multiplied by", err);
}

bool
product_make(struct chosen *chosen, const struct rows_work *w, const struct row_output *out, const struct composed_part *part,
    const uint64_t *dim, uint32_t rank, struct err *err)
{
    const struct family_source *source = out->match.source, *other;
    const uint64_t n = part->end;
    uint64_t numel;
    if (!shape_numel(&source->t.shape, &numel) || part->layout || part->nops != 0 || numel != n)
        return err_set(err, ERR_UNSUPPORTED, "%s: by: only whole tensors, as they are stored, are multiplied",
            w->family->rows.at[out->row].where);
    if (!limits_check(n, PRODUCT_MAX, "elements of a tensor that 'by' multiplies", err) || !product_find(&other, w, out, n, err))
        return false;
    double *x = malloc((size_t)n * sizeof *x), *y = malloc((size_t)n * sizeof *y);
    float *xy = malloc((size_t)n * sizeof *xy);
    bool ok = (x && y && xy) || err_memory(err, n * sizeof *x);
    ok = ok && family_sources_read(w->sources, &source->t, 0, x, (size_t)n, err)
        && family_sources_read(w->sources, &other->t, 0, y, (size_t)n, err);
    for (uint64_t i = 0; ok && i < n; i++)
        xy[i] = (float)x[i] * (float)y[i];
    ok = ok && compose_numbers(chosen, out->name, xy, dim, rank, w->memory, err);
    free(x);
    free(y);
    free(xy);
    return ok;
}

/* Adds the ones of a row for layer b, if its tensor exists. */
static bool
product_add(struct back_work *w, const struct family_row *row, uint64_t b, struct err *err)
{
    const char *name;
    uint32_t length;
    uint64_t n;
    if (!rows_output_name(&name, &length, w->scope, row, b, w->memory, err))
        return false;
    const struct family_source *t = family_sources_find(w->tensors, name, length);
    if (!t)
        return true;
    if (!shape_numel(&t->t.shape, &n) || n > PRODUCT_MAX)
        return rows_fail(t, ERR_LIMIT, "too many elements", err);
    struct chosen *out = back_rows_new(w, err);
    float *ones = malloc((size_t)n * sizeof *ones + 1);
    bool ok = ones || err_memory(err, n * sizeof *ones);
    for (uint64_t i = 0; ok && i < n; i++)
        ones[i] = 1;
    ok = ok && out && product_other_name(&name, &length, w->scope, row, b, w->memory, err)
        && compose_numbers(out, name, ones, &n, 1, w->memory, err);
    free(ones);
    if (!ok)
        return false;
    out->dtype = w->how->matrices;
    w->nout++;
    return true;
}

bool
product_add_ones(struct back_work *w, struct err *err)
{
    for (size_t i = 0; i < w->family->rows.n; i++) {
        const struct family_row *row = &w->family->rows.at[i];
        uint64_t layers = 1;
        if (row->layered)
            layers = w->main;
        for (uint64_t b = 0; row->by && b < layers; b++)
            if (!product_add(w, row, b, err))
                return false;
    }
    return true;
}
