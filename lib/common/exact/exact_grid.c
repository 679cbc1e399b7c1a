#include "exact/exact_grid.h"

#include <assert.h>
#include <stdlib.h>

#include "exact/exact_priv.h"
#include "kernel/hints.h"

/* A scheme that is tried. Scales of F32 hold every scale of 16 bits, too. Schemes of integers are tried without zero points first, then
 * with zero points. */
struct grid_try {
    unsigned bits;                      /* in thousandths of a bit */
    struct encode_options how;
    const struct encoder *encoder;
};

enum { TRIES = 32 };

/* Schemes, the fewest bits first. */
struct grid_tries {
    struct grid_try list[TRIES];
    size_t n;
};

static void
tries_add(struct grid_tries *tries, const struct encoder *e, uint64_t group)
{
    struct grid_try t = { e->grid.bits, { .group_size = group }, e };
    size_t at = tries->n;
    if (e->grid.groups == GROUPS_CHOSEN)
        t.bits += 16000 / (unsigned)group;
    if (e->grid.types)
        t.how.scale_type = 1 + (uint64_t)DTYPE_F32;
    assert(tries->n < TRIES);
    for (; at > 0 && tries->list[at - 1].bits > t.bits; at--)
        tries->list[at] = tries->list[at - 1];
    tries->list[at] = t;
    tries->n++;
}

static void
tries_fill(struct grid_tries *tries)
{
    const struct encoder *e;
    for (size_t i = 0; (e = encode_at(i)) != NULL; i++) {
        bool chosen = e->grid.groups == GROUPS_CHOSEN;
        for (uint64_t group = 128; e->grid.bits != 0 && chosen && group >= 32; group /= 2)
            tries_add(tries, e, group);
        if (e->grid.bits != 0 && !chosen)
            tries_add(tries, e, e->grid.most_group);
    }
}

/* Finds the first scheme that holds a weight. */
static bool
exact_grid_find(struct exact_grid *g, struct exact_attempt *a, const struct grid_tries *tries, struct err *err)
{
    for (size_t i = 0; i < tries->n; i++) {
        const struct grid_try *t = &tries->list[i];
        a->given = &t->how;
        if (!exact_attempt_name(a, t->encoder, err))
            return false;
        if (a->out.fail.cause == EXACT_HOLDS) {
            g->scheme = t->encoder->name;
            g->group = t->how.group_size;
            g->zeros = a->how.asymmetric;
            return true;
        }
    }
    return true;
}

bool
exact_grid_each(struct model *model, const struct roles *roles, const struct kernels *kernels,
    void (*see)(void *of, const struct tensor *t, const struct exact_grid *g), void *of, struct err *err)
{
    static const struct reduction all = { 0 };
    struct choice choice = { 0 };
    struct kernels *hints = kernels_hints(kernels, err);
    const struct pipeline p = { .model = model, .kernels = kernels };
    struct exact_job job = { .reduction = &all, .p = &p, .choice = &choice };
    struct exact_terms terms = { .source = { .codes = EXACT_DENSE }, .hints = hints };
    struct grid_tries tries = { .n = 0 };
    tries_fill(&tries);
    bool ok = hints && model_spool(model, err) && choice_make(&choice, model->catalog, roles, KEEPS_NONE, DTYPE_BF16, false, err);
    for (size_t i = 0; ok && i < choice.n; i++) {
        const struct chosen *c = &choice.list[i];
        const struct tensor t = chosen_source(c);
        struct exact_attempt a = { .job = &job, .place = i, .trial = *c, .terms = &terms };
        if (c->decode || (t.dtype != DTYPE_BF16 && t.dtype != DTYPE_F16 && t.dtype != DTYPE_F32) || t.shape.rank < 2)
            continue;
        if (t.dtype == DTYPE_BF16)
            terms.level = EXACT_BF16;
        else if (t.dtype == DTYPE_F16)
            terms.level = EXACT_F16;
        else
            terms.level = EXACT_F32;
        struct exact_grid g = { .level = terms.level };
        ok = exact_grid_find(&g, &a, &tries, err);
        if (ok)
            see(of, &t, &g);
    }
    choice_clear(&choice);
    free(hints);
    return ok;
}
