#include "pipeline/survey_first.h"

#include <stdlib.h>

#include "base/cpus.h"
#include "base/num.h"
#include "base/thread.h"
#include "pipeline/encoder.h"

/* A weight that several threads survey. */
struct task {
    const struct pipeline *p;
    struct panels *panels;
    struct cache *cache;
    struct encoded of;
};

/* Takes part in the survey and returns the facts. Every thread of a failed survey gets the same error. */
static const float *
survey_first_take(const struct task *t, struct err *err)
{
    struct workspace bench = { 0 };
    const struct reading how = { .p = t->p, .panels = t->panels, .b = &bench, .kernels = t->p->kernels,
        .nonfinite = t->p->nonfinite_ok };
    const float *facts = NULL;
    if (workspace_init(&bench, 0, err))
        facts = encoder_facts(&how, &t->of, t->cache, err);
    workspace_clear(&bench);
    return facts;
}

static void *
help(void *of)
{
    const struct task *t = of;
    struct err ignored;
    err_init(&ignored);
    const float *facts = survey_first_take(t, &ignored);
    if (facts)
        cache_release(t->cache, facts);
    return NULL;
}

static bool
survey_first_survey(const struct task *t, unsigned jobs, struct err *err)
{
    struct encoding *e = t->of.encoding;
    pthread_t *threads = calloc(jobs, sizeof *threads);
    unsigned started = 0;
    if (!threads)
        return err_memory(err, jobs * sizeof *threads);
    while (started + 1 < jobs && thread_start(&threads[started], help, (void *)t))
        started++;
    const float *facts = survey_first_take(t, err);
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    bool ok = facts && e->encoder->survey.finish_parts(e, facts, err);        /* changes what the threads have read */
    if (facts)
        cache_release(t->cache, facts);
    free(threads);
    return ok;
}

/* Surveys the weight of one encoding. Panels identify their piece by address, so they must not outlive it: the allocator may
 * reuse the address for the next piece. */
static bool
survey_one(const struct pipeline *p, const struct chosen *c, struct cache *cache, unsigned jobs, struct err *err)
{
    const struct task task = { p, panels_new(p, err), cache, { .elements = piece_elements(c, err), .encoding = c->encoding } };
    bool ok = task.panels && task.of.elements && survey_first_survey(&task, jobs, err);
    panels_free(task.panels);
    piece_free((void *)task.of.elements);
    return ok;
}

static bool
survey_all(const struct pipeline *p, const struct choice *choice, struct cache *cache, struct err *err)
{
    unsigned jobs = (unsigned)num_max(1, num_min(p->jobs ? p->jobs : PIPELINE_JOBS, cpus_count()));
    bool ok = true;
    for (size_t i = 0; ok && i < choice->n; i++) {
        const struct chosen *c = &choice->list[i];
        if (c->encoding && c->part == 0 && c->encoding->encoder->survey.finish_parts)
            ok = survey_one(p, c, cache, jobs, err);
    }
    return ok;
}

bool
survey_first(const struct pipeline *p, const struct choice *choice, struct err *err)
{
    bool any = false;
    for (size_t i = 0; i < choice->n; i++)
        any = any || (choice->list[i].encoding && choice->list[i].encoding->encoder->survey.finish_parts);
    if (!any)
        return true;
    struct cache *cache = cache_new(ENCODER_IDLE, SIZE_MAX, err);
    bool ok = cache && model_spool(p->model, err) && survey_all(p, choice, cache, err);
    cache_free(cache);
    return ok;
}
