/* The list of the output: parts of encoded weights, and weights that stay as they are stored, with their companions. */
#include <stdlib.h>
#include <string.h>

#include "plan/reduction_priv.h"

bool
reduction_spread(struct choice *choice, struct err *err)
{
    size_t n = 0;
    bool decodes = false;
    for (size_t i = 0; i < choice->n; i++)
        n += choice->list[i].encoding ? choice->list[i].encoding->nparts : 1;
    struct chosen *list = malloc((n + 1) * sizeof *list);
    if (!list)
        return err_memory(err, (n + 1) * sizeof *list);
    n = 0;
    for (size_t i = 0; i < choice->n; i++) {
        struct chosen *c = &choice->list[i];
        if (c->decode && c->kept)
            *c = (struct chosen){ .copy = c->kept->part[0], .kept = c->kept, .dtype = c->kept->part[0]->dtype, .same = c->same,
                .stored = c->stored, .why = c->why };
        decodes = decodes || c->decode || c->composed;
        if (c->encoding)
            c->encoding->number = choice->encoded++;
        do
            list[n++] = *c;
        while (c->encoding && ++c->part < c->encoding->nparts);
    }
    free(choice->list);
    choice->list = list;
    choice->n = n;
    choice->decodes = choice->decodes && decodes;
    return true;
}

/* Orders entries as their codes are ordered in the input. */
static int
compare_places(const void *a, const void *b)
{
    const struct chosen *x = a, *y = b;
    const struct tensor *s = x->copy ? x->copy : x->decode->part[0], *t = y->copy ? y->copy : y->decode->part[0];
    if (s != t)
        return (s > t) - (s < t);
    return (x->part > y->part) - (x->part < y->part);
}

/* Marks the tensors of weights that stay as they are stored: the codes, and the companions, which other weights may share. */
static size_t
mark_stored(bool *stored, const struct choice *choice)
{
    size_t n = 0;
    for (size_t i = 0; i < choice->n; i++)
        for (unsigned part = 0; choice->list[i].kept && part < SCHEME_PARTS; part++)
            if (choice->list[i].kept->part[part]) {
                stored[catalog_index(choice->input, choice->list[i].kept->part[part])] = true;
                n++;
            }
    return n;
}

bool
reduction_has_companions(const struct choice *choice)
{
    for (size_t i = 0; i < choice->n; i++)
        if (choice->list[i].kept && choice->list[i].copy && choice->list[i].copy != choice->list[i].kept->part[0])
            return true;
    return false;
}

bool
reduction_add_companions(const struct reduction *r, struct choice *choice, struct err *err)
{
    size_t ntensors = catalog_count(choice->input), n = choice->n, room = (n + ntensors + 1) * sizeof *choice->list;
    bool *stored = calloc(ntensors + 1, sizeof *stored), ok = true;
    if (!stored)
        return err_memory(err, ntensors + 1);
    if (mark_stored(stored, choice) == 0) {
        free(stored);
        return true;
    }
    struct chosen *list = realloc(choice->list, room);
    if (!list) {
        free(stored);
        return err_memory(err, room);
    }
    choice->list = list;
    for (size_t i = choice->n = 0; i < n; i++)          /* without those that are there */
        if (!list[i].kept || list[i].copy == list[i].kept->part[0])
            list[choice->n++] = list[i];
    n = choice->n;
    for (size_t i = 0; i < ntensors; i++) {
        const struct tensor *t = catalog_at(choice->input, i);
        const struct weight *w = roles_owner(choice->roles, i);
        if (roles_is_companion(choice->roles, i) && (stored[i] || stored[catalog_index(choice->input, w->part[0])]))
            list[choice->n++] = (struct chosen){ .copy = t, .kept = w, .dtype = t->dtype };
    }
    if (choice->n != n)
        qsort(list, choice->n, sizeof *list, compare_places);
    for (size_t i = 0; ok && r->names && i < choice->n; i++)
        ok = !list[i].kept || list[i].name || naming_name(r->names, choice, &list[i], err);
    free(stored);
    return ok;
}
