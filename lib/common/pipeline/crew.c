#include "pipeline/crew.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/num.h"
#include "base/thread.h"

struct crew_run {
    const struct crew *crew;
    atomic_uint_fast64_t next;          /* next unit to take */
    atomic_bool stop;                   /* a unit failed; take no more */
    pthread_mutex_t lock;
    struct err *err;                    /* error of the lowest failed unit, */
    uint64_t failed;                    /* and its number */
};

static void
crew_fail(struct crew_run *run, uint64_t unit, const struct err *err)
{
    pthread_mutex_lock(&run->lock);
    if (!atomic_load(&run->stop) || unit < run->failed) {
        *run->err = *err;
        run->failed = unit;
    }
    atomic_store(&run->stop, true);
    pthread_mutex_unlock(&run->lock);
}

static void
work(struct crew_run *run, void *own)
{
    const struct crew *crew = run->crew;
    struct err err;
    uint64_t unit;
    err_init(&err);
    while (!atomic_load(&run->stop) && (unit = atomic_fetch_add(&run->next, 1)) < crew->units)
        if (!crew->work(crew->of, own, unit, &err)) {
            crew_fail(run, unit, &err);
            return;
        }
}

static void *
help(void *of)
{
    struct crew_run *run = of;
    struct err ignored;
    err_init(&ignored);
    void *own = run->crew->enter(run->crew->of, &ignored);
    if (own) {
        work(run, own);
        run->crew->leave(own);
    }
    return NULL;
}

bool
crew_run(const struct crew *crew, struct err *err)
{
    struct crew_run run = { .crew = crew, .err = err };
    unsigned n = (unsigned)num_min(crew->jobs, crew->units), started = 0;
    void *own = crew->enter(crew->of, err);
    if (!own)
        return false;
    pthread_t *threads = calloc(n + 1, sizeof *threads);
    pthread_mutex_init(&run.lock, NULL);
    while (threads && started + 1 < n && thread_start(&threads[started], help, &run))
        started++;
    work(&run, own);
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    pthread_mutex_destroy(&run.lock);
    free(threads);
    crew->leave(own);
    return err->kind == ERR_NONE;
}
