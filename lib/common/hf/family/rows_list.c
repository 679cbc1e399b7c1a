/* The outputs of a family in the order of the file. */
#include <stdlib.h>
#include <string.h>

#include "hf/family/config.h"
#include "hf/family/rows_priv.h"

enum dtype
rows_type(const struct rows_work *w)
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
    return a->output != b->output ? (a->output > b->output) - (a->output < b->output)
        : (a->match.x > b->match.x) - (a->match.x < b->match.x);
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

static int
compare_outputs(const void *pa, const void *pb)
{
    const struct row_output *a = *(const struct row_output *const *)pa, *b = *(const struct row_output *const *)pb;
    return a->place != b->place ? (a->place > b->place) - (a->place < b->place) : (a->row > b->row) - (a->row < b->row);
}

/* Makes the entry of a generated tensor. */
static bool
add_made(struct chosen *chosen, const struct family_made *made, struct catalog *memory, struct err *err)
{
    struct composed *composed = catalog_alloc(memory, sizeof *composed, err);
    uint8_t *packed = catalog_alloc(memory, SHAPE_DIM, err);
    float *x = catalog_alloc(memory, made->n * sizeof *x + 1, err);
    size_t n = strlen(made->name);
    char *name = catalog_alloc(memory, n + 1, err);     /* the family may be freed before */
    if (!composed || !packed || !x || !name)
        return false;
    memcpy(x, made->x, made->n * sizeof *x);
    memcpy(name, made->name, n + 1);
    shape_pack(packed, &(const uint64_t){ made->n }, 1);
    *composed = (struct composed){ .shape = { 1, packed }, .numbers = x, .name = name };
    *chosen = (struct chosen){ .composed = composed, .dtype = DTYPE_F32, .name = name, .name_len = (uint32_t)n };
    return true;
}

static bool
make_tensors(struct chosen *list, size_t *n, const struct rows_work *w, struct err *err)
{
    struct family_made made;
    bool ok = true;
    for (size_t i = 0; ok && w->how->config && !w->how->mtp_only && i < w->family->makes.n; i++) {
        const struct family_make *make = &w->family->makes.at[i];
        bool applies = false;
        ok = expr_true(&applies, make->when, w->scope, 0, err) && (!applies || (family_make(&made, w->how->config, make, err)
            && add_made(&list[*n], &made, w->memory, err)));
        *n += ok && applies;
    }
    return ok;
}

bool
rows_list(struct choice *choice, struct rows_work *w, struct err *err)
{
    struct row_output **order = malloc((w->nout + 1) * sizeof *order);
    struct chosen *list = calloc(w->nout + w->family->makes.n + 1, sizeof *list);
    size_t n = 0;
    bool ok = (order && list) || err_memory(err, (w->nout + 1) * sizeof *list);
    ok = ok && make_tensors(list, &n, w, err);
    sort_members(w);
    for (size_t i = 0; ok && i < w->nout; i++)
        order[i] = &w->out[i];
    if (ok)
        qsort(order, w->nout, sizeof *order, compare_outputs);
    for (size_t i = 0; ok && i < w->nout; i++) {
        ok = rows_join(&list[n], w, order[i], err);
        n += ok && list[n].name;
    }
    free(order);
    if (!ok) {
        free(list);
        return false;
    }
    free(choice->list);
    choice->list = list;
    choice->n = n;
    choice->matrices = w->matrices;
    return true;
}
