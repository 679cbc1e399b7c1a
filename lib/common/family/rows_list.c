/* The outputs of a family in the order of the file. */
#include <stdlib.h>
#include <string.h>

#include "family/compose.h"
#include "family/config.h"
#include "family/rows_priv.h"

enum dtype
rows_list_type(const struct rows_work *w)
{
    if (w->how->matrices != DTYPE_UNKNOWN || w->how->exact)
        return w->how->matrices;
    for (size_t i = 0; i < family_sources_count(w->sources); i++) {
        const struct family_source *e = family_sources_at(w->sources, i);
        if (e->t.shape.rank >= 2 && (e->chosen.dtype == DTYPE_BF16 || e->chosen.dtype == DTYPE_F16))
            return e->chosen.dtype;
    }
    return DTYPE_F16;
}

static int
compare_members(const void *pa, const void *pb)
{
    const struct row_member *a = pa, *b = pb;
    if (a->output != b->output)
        return (a->output > b->output) - (a->output < b->output);
    return (a->match.x > b->match.x) - (a->match.x < b->match.x);
}

/* Gives the stacks their members in order, and the place of their group. */
static void
sort_members(struct rows_work *w)
{
    if (w->nmembers != 0)
        qsort(w->member, w->nmembers, sizeof *w->member, compare_members);
    for (size_t i = 0; i < w->nmembers; i++) {
        struct row_output *out = &w->out[w->member[i].output];
        if (out->nmembers++ == 0)
            out->member = i;
        out->place = w->group[out->group].place;
    }
}

/* An output that is made, before the list is in order. */
struct listed_output {
    struct chosen chosen;
    const struct row_output *out;
    const struct family_source *last;   /* its last source */
    bool blocks;                        /* is kept as blocks */
};

/* Kept blocks come first, in the order of the names of their sources; the others in the order of their sources. */
static int
compare_outputs(const void *pa, const void *pb)
{
    const struct listed_output *a = pa, *b = pb;
    if (a->blocks != b->blocks)
        return a->blocks ? -1 : 1;
    int order;
    if (a->blocks)
        order = str_compare(a->last->t.name, a->last->t.name_len, b->last->t.name, b->last->t.name_len);
    else
        order = (a->out->place > b->out->place) - (a->out->place < b->out->place);
    if (order != 0)
        return order;
    return (a->out->row > b->out->row) - (a->out->row < b->out->row);
}

/* Makes the entry of a `make` row. */
static bool
add_made(struct chosen *chosen, const struct family_made *made, struct catalog *memory, struct err *err)
{
    const uint64_t dim[] = { made->rows, made->n };
    const bool table = made->rows != 0;
    size_t n = strlen(made->name) + 1;
    char *name = catalog_alloc(memory, n, err);         /* the family may be freed before */
    return name && compose_numbers(chosen, memcpy(name, made->name, n), table ? made->table : made->x, &dim[!table],
        1 + table, memory, err);
}

static bool
make_tensors(struct chosen *list, size_t *n, const struct rows_work *w, struct err *err)
{
    struct family_made made;
    bool ok = true;
    for (size_t i = 0; ok && w->how->config && !w->how->mtp_only && i < w->family->makes.n; i++) {
        const struct family_make *make = &w->family->makes.at[i];
        bool applies = false;
        made.table = NULL;
        ok = expr_true(&applies, make->when, w->scope, 0, err) && (!applies || (family_make(&made, w->how->config, make, err)
            && add_made(&list[*n], &made, w->memory, err)));
        free(made.table);
        *n += ok && applies;
    }
    return ok;
}

/* Makes all outputs, and puts them in order. Sets *n to their number. */
static bool
make_outputs(struct listed_output *list, size_t *n, struct rows_work *w, struct err *err)
{
    sort_members(w);
    for (size_t i = 0; i < w->nout; i++) {
        struct listed_output *one = &list[*n];
        if (!rows_join(&one->chosen, w, &w->out[i], err))
            return false;
        one->out = &w->out[i];
        one->last = family_sources_at(w->sources, w->out[i].place);
        one->blocks = one->chosen.dtype == DTYPE_NVFP4 || one->chosen.dtype == DTYPE_MXFP4;
        *n += one->chosen.name != NULL;
    }
    if (*n != 0)
        qsort(list, *n, sizeof *list, compare_outputs);
    return true;
}

bool
rows_list(struct choice *choice, struct rows_work *w, struct err *err)
{
    size_t most = w->nout * (1 + ROWS_SCALES) + w->family->makes.n + 1, n = 0, nmade = 0, i = 0;
    struct listed_output *made = calloc(w->nout + 1, sizeof *made);
    struct chosen *list = calloc(most, sizeof *list);
    bool ok = (made && list) || err_memory(err, most * sizeof *list);
    ok = ok && make_outputs(made, &nmade, w, err);
    choice->matrices = w->matrices;
    for (; ok && i < nmade && made[i].blocks; i++) {
        list[n++] = made[i].chosen;
        ok = made[i].chosen.dtype != DTYPE_NVFP4 || rows_blocks_add_scales(list, &n, w, made[i].out, err);
        choice->matrices = made[i].chosen.dtype;        /* of the file, whatever the others have */
    }
    ok = ok && make_tensors(list, &n, w, err);
    for (; ok && i < nmade; i++)
        if (!made[i].out->merged)
            list[n++] = made[i].chosen;
    free(made);
    if (!ok) {
        free(list);
        return false;
    }
    free(choice->list);
    choice->list = list;
    choice->n = n;
    return true;
}
