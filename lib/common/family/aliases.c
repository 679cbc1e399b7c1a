/* Tensors of a GGUF file that other writers name otherwise, or join: `alias` and `split`. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "family/expr_priv.h"
#include "family/pattern.h"
#include "family/sources_priv.h"

/* Sets the name of a source to a pattern for layer b. */
static bool
set_name(struct family_source *e, const char *pattern, uint64_t b, struct catalog *memory, struct err *err)
{
    struct str s = { 0 };
    pattern_fill(&s, pattern, b, 0);
    return pattern_name(&e->t.name, &e->t.name_len, &s, memory, err);
}

/* Makes a source of `rows` rows of a tensor, from row *from on, which is moved after them. */
static bool
cut(struct family_source *e, const struct family_source *whole, uint64_t *from, uint64_t rows, struct catalog *memory,
    struct err *err)
{
    uint64_t dim[LAYOUT_RANK], numel, all = shape_dim(&whole->t.shape, 0);
    uint32_t rank = whole->t.shape.rank;
    uint8_t *packed = catalog_alloc(memory, (size_t)rank * SHAPE_DIM, err);
    if (!packed || !shape_numel(&whole->t.shape, &numel))
        return packed ? err_set(err, ERR_LIMIT, "too many elements") : false;
    for (uint32_t i = 0; i < rank; i++)
        dim[i] = i == 0 ? rows : shape_dim(&whole->t.shape, i);
    shape_pack(packed, dim, rank);
    *e = *whole;
    e->t.shape = (struct shape){ rank, packed };
    e->slice = true;
    e->first = *from * (numel / all);
    *from += rows;
    return true;
}

/* Sets *rows to the rows of each part of a tensor; checks that they are all of it. */
static bool
count_rows(uint64_t *rows, const struct family_stored *row, const struct family_source *e, struct scope *scope, uint64_t b,
    struct err *err)
{
    uint64_t all = e->t.shape.rank != 0 ? shape_dim(&e->t.shape, 0) : 0, sum = 0;
    char shown[STR_SHOWN];
    for (size_t i = 0; i < row->n; i++)
        if (!expr_size(&rows[i], row->part[i].rows, scope, b, err))
            return false;
    for (size_t i = 0; i < row->n; i++)
        if (rows[i] == 0 || !num_add(&sum, sum, rows[i]))
            sum = UINT64_MAX;
    if (sum == all && e->t.shape.rank <= LAYOUT_RANK)
        return true;
    return err_set(err, ERR_MALFORMED, ERR_TENSOR "it has %" PRIu64 " rows, but those of %s and the others of its "
        "layer are %" PRIu64 " by the keys", str_shown(shown, e->name, e->name_len), all, row->part[0].name, sum);
}

/* Replaces element i of a list with room by the parts of a `split`. */
static bool
split(struct family_sources *s, size_t i, const struct family_stored *row, struct scope *scope, uint64_t b, struct err *err)
{
    const struct family_source whole = s->list[i];
    uint64_t from = 0, *rows = calloc(row->n, sizeof *rows);
    struct family_source *list = realloc(s->list, (s->n + row->n + 1) * sizeof *list);
    if (list)
        s->list = list;
    bool ok = (rows && list) || err_memory(err, (s->n + row->n) * sizeof *list);
    ok = ok && count_rows(rows, row, &whole, scope, b, err);
    for (size_t k = 0; ok && k < row->n; k++) {
        struct family_source *e = &s->list[k == 0 ? i : s->n++];
        ok = cut(e, &whole, &from, rows[k], s->model->catalog, err)
            && set_name(e, row->part[k].name, b, s->model->catalog, err);
    }
    free(rows);
    return ok;
}

/* Applies the first statement that a tensor matches. */
static bool
aliases_apply(struct family_sources *s, size_t i, struct scope *scope, struct err *err)
{
    const struct family_source *e = &s->list[i];
    for (size_t k = 0; k < scope->family->stored.n; k++) {
        const struct family_stored *row = &scope->family->stored.at[k];
        uint64_t b = 0;
        bool applies;
        if (!pattern_matches(row->other, e->name, e->name_len, &b))
            continue;
        if (!expr_true(&applies, row->when, scope, b, err))
            return false;
        if (applies)
            return row->part[0].rows ? split(s, i, row, scope, b, err)
                : set_name(&s->list[i], row->part[0].name, b, s->model->catalog, err);
    }
    return true;
}

bool
sources_alias(struct family_sources *s, struct scope *scope, struct err *err)
{
    bool ok = true;
    for (size_t i = 0, n = s->n; ok && i < n; i++)
        ok = aliases_apply(s, i, scope, err);
    return ok;
}
