#include "pipeline/compare.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/cpus.h"
#include "base/num.h"
#include "base/search.h"
#include "pipeline/block.h"
#include "pipeline/compare_block.h"
#include "pipeline/crew.h"

enum {
    ELEMENTS = 32 << 10,        /* compared at a time; the sums of equal jobs are then equal */
    BLOCK = ELEMENTS * 8        /* bytes of as many of the largest elements */
};

/* A pair that is compared. */
struct compare_pair {
    size_t number;              /* in the list of differences */
    uint64_t end;               /* blocks up to the end of this pair */
};

struct compare_job {
    struct differences *d;
    struct pipeline a, b;
    struct panels *panels_a, *panels_b;
    struct compare_pair *pair;  /* n of them; owned. Pair i is piece i of both */
    size_t n;
    pthread_mutex_t lock;       /* of the results */
};

/* What one thread owns. */
struct comparer {
    struct workspace a, b;
    struct compare_block block;
};

static void
leave(void *own)
{
    struct comparer *c = own;
    workspace_clear(&c->a);
    workspace_clear(&c->b);
    free(c);
}

static void *
enter(void *of, struct err *err)
{
    struct comparer *c = calloc(1, sizeof *c);
    (void)of;
    if (!c) {
        err_memory(err, sizeof *c);
        return NULL;
    }
    if (workspace_init(&c->a, BLOCK, err) && workspace_init(&c->b, BLOCK, err))
        return c;
    leave(c);
    return NULL;
}

static uint64_t
compare_end_of(const void *list, size_t i)
{
    return ((const struct compare_pair *)list)[i].end;
}

/* Adds the results of a block to its pair. */
static void
add_results(struct compare_job *job, size_t number, const struct compare_block *c)
{
    struct difference *one = &job->d->list[number];
    pthread_mutex_lock(&job->lock);
    one->first = num_min(one->first, c->differs);
    one->count += c->count;
    one->nonfinite += c->nonfinite;
    one->bits = one->bits || c->bits;
    one->unexplained = one->unexplained || c->unexplained;
    if (c->most > one->most)
        one->most = c->most;
    pthread_mutex_unlock(&job->lock);
    losses_add(job->d->losses, number, &c->sum, c->n, one->n);
}

/* Makes elements [first, first + n) of a piece. Returns them, or NULL on failure. */
static const uint8_t *
compare_make(const struct pipeline *p, struct panels *panels, struct workspace *w, size_t piece, uint64_t first, size_t n,
    struct err *err)
{
    const struct piece *of = pieces_at(p->pieces, piece);
    size_t size = dtype_facts(of->to)->bytes;
    uint64_t from = of->at + first * size;
    if (!block_make(p, panels, w, from, from + n * size, err)) {
        err_in_file(err, p->model->name);
        return NULL;
    }
    meter_add(p->model->meter, n * size);
    return w->out;
}

static bool
compare_unit(void *of, void *own, uint64_t unit, struct err *err)
{
    struct compare_job *job = of;
    struct comparer *c = own;
    size_t i = search_end_after(job->pair, job->n, compare_end_of, unit);
    const struct difference *one = &job->d->list[job->pair[i].number];
    uint64_t first = (unit - (i != 0 ? job->pair[i - 1].end : 0)) * ELEMENTS;
    struct compare_block *block = &c->block;
    block->k = job->a.kernels;
    block->of = one;
    block->first = first;
    block->n = (size_t)num_min(one->n - first, ELEMENTS);
    block->a_type = pieces_at(job->a.pieces, i)->to;
    block->b_type = pieces_at(job->b.pieces, i)->to;
    block->a = compare_make(&job->a, job->panels_a, &c->a, i, first, block->n, err);
    if (block->a)
        block->b = compare_make(&job->b, job->panels_b, &c->b, i, first, block->n, err);
    else
        block->b = NULL;
    if (!block->b)
        return false;
    compare_block(block);
    add_results(job, job->pair[i].number, block);
    return true;
}

/* --- the job */

static bool
run_crew(struct pipeline *p, void *of, struct err *err)
{
    struct compare_job *job = of;
    const struct crew crew = { .units = job->n != 0 ? job->pair[job->n - 1].end : 0, .jobs = p->jobs, .of = job, .enter = enter,
        .work = compare_unit, .leave = leave };
    job->panels_a = panels_new(&job->a, err);
    job->panels_b = panels_new(&job->b, err);
    bool ok = job->panels_a && job->panels_b && crew_run(&crew, err);
    panels_free(job->panels_a);
    panels_free(job->panels_b);
    return ok;
}

static bool
run_b(struct pipeline *p, void *of, struct err *err)
{
    struct compare_job *job = of;
    (void)p;
    return pipeline_around(&job->b, run_crew, job, err);
}

/* Lists the pairs, with their pieces. */
static bool
list_pairs(struct compare_job *job, struct pieces *a, struct pieces *b, struct err *err)
{
    uint64_t blocks = 0;
    for (size_t i = 0; i < job->d->n; i++) {
        const struct difference *one = &job->d->list[i];
        if (!difference_is_pair(one))
            continue;
        if (!pieces_chosen(a, one->a, err) || !pieces_chosen(b, one->b, err))
            return false;
        blocks += num_ceil_div(one->n, ELEMENTS);
        job->pair[job->n++] = (struct compare_pair){ i, blocks };
    }
    job->a.to = pieces_nbytes(a);
    job->b.to = pieces_nbytes(b);
    return true;
}

bool
compare_models(struct differences *d, struct model *a, struct model *b, const struct kernels *kernels, unsigned jobs,
    struct err *err)
{
    struct pieces *of_a = pieces_new(err), *of_b = pieces_new(err);
    struct compare_job job = { .d = d, .pair = calloc(d->n + 1, sizeof *job.pair) };
    job.a = (struct pipeline){ .model = a, .pieces = of_a, .kernels = kernels, .jobs = jobs ? jobs : cpus_count(),
        .panel_bytes = PANELS_BYTES / 2 };
    job.b = job.a;
    job.b.model = b;
    job.b.pieces = of_b;
    pthread_mutex_init(&job.lock, NULL);
    bool ok = job.pair ? of_a && of_b : err_memory(err, (d->n + 1) * sizeof *job.pair);
    ok = ok && list_pairs(&job, of_a, of_b, err) && model_spool(a, err) && model_spool(b, err);
    if (ok)
        meter_phase(a->meter, "comparing", job.a.to + job.b.to);
    ok = ok && pipeline_around(&job.a, run_b, &job, err) && losses_check(d->losses, err);
    if (ok)
        differences_count(d);
    pthread_mutex_destroy(&job.lock);
    pieces_free(of_a);
    pieces_free(of_b);
    free(job.pair);
    return ok;
}
