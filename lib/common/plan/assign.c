#include "plan/assign.h"

#include <stdlib.h>

#include "base/num.h"

/* A step from one option of a weight to the next on its hull. */
struct assign_step {
    size_t weight, to;
    uint64_t nbytes;            /* additional bytes */
    double gain;                /* noise removed per byte */
    size_t order;               /* position among the steps of its weight */
};

static bool
is_better(const struct assign_option *a, const struct assign_option *b)
{
    if (a->nbytes != b->nbytes)
        return a->nbytes < b->nbytes;
    return a->noise < b->noise;
}

/* Returns the smallest option, or `each`. */
static size_t
smallest(const struct assign_option *o, size_t each)
{
    size_t best = each;
    for (size_t i = 0; i < each; i++)
        if (o[i].nbytes != ASSIGN_NEVER && (best == each || is_better(&o[i], &o[best])))
            best = i;
    return best;
}

/* Writes the steps of a weight up its lower hull to `step`; returns their number. */
static size_t
hull(struct assign_step *step, const struct assign_option *o, size_t each, size_t weight, size_t from)
{
    size_t n = 0;
    for (;;) {
        size_t best = each;
        double most = 0;
        for (size_t i = 0; i < each; i++) {
            if (o[i].nbytes == ASSIGN_NEVER || o[i].nbytes <= o[from].nbytes || !(o[i].noise < o[from].noise))
                continue;
            double gain = (o[from].noise - o[i].noise) / (double)(o[i].nbytes - o[from].nbytes);
            if (best == each || gain > most) {
                best = i;
                most = gain;
            }
        }
        if (best == each)
            return n;
        step[n] = (struct assign_step){ weight, best, o[best].nbytes - o[from].nbytes, most, n };
        from = best;
        n++;
    }
}

static int
assign_compare(const void *pa, const void *pb)
{
    const struct assign_step *a = pa, *b = pb;
    if (a->gain != b->gain)
        return a->gain > b->gain ? -1 : 1;
    if (a->weight != b->weight)
        return a->weight < b->weight ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

bool
assign_encoders(size_t *pick, const struct assign_option *options, size_t n, size_t each, uint64_t most, uint64_t *least,
    struct err *err)
{
    struct assign_step *steps = calloc(n * each + 1, sizeof *steps);
    size_t *taken = calloc(n + 1, sizeof *taken), nsteps = 0;       /* steps taken so far, by weight */
    double price = 0;                                               /* noise per byte of the first step that no longer fits */
    uint64_t used = 0;
    bool ok = (steps && taken) || err_memory(err, n * each * sizeof *steps);
    for (size_t i = 0; ok && i < n; i++) {
        const struct assign_option *o = &options[i * each];
        pick[i] = smallest(o, each);
        if (pick[i] == each)
            continue;
        ok = num_add(&used, used, o[pick[i]].nbytes) || err_set(err, ERR_LIMIT, "more than 2^64 bytes");
        nsteps += hull(steps + nsteps, o, each, i, pick[i]);
    }
    *least = used;
    bool fits = ok && used <= most;
    if (fits)
        qsort(steps, nsteps, sizeof *steps, assign_compare);
    for (size_t i = 0; fits && i < nsteps; i++) {
        const struct assign_step *s = &steps[i];
        if (taken[s->weight] != s->order || s->nbytes > most - used) {
            price = price > s->gain ? price : s->gain;          /* only the first one matters */
            continue;
        }
        used += s->nbytes;
        taken[s->weight]++;
        pick[s->weight] = s->to;
    }
    free(steps);
    free(taken);
    return ok && (!fits || assign_refine(pick, options, n, each, most, price, err));
}
