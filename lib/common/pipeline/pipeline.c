#include "pipeline/pipeline.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/num.h"
#include "base/str.h"
#include "pipeline/block.h"

enum {
    SPIN_NS = 100000,                   /* how long a worker looks at the ticket before it sleeps */
    SPIN_LOOKS = 64,                    /* looks between two looks at the clock */
    KEEP_MAX = 16 << 20                 /* companions of a pipe held in memory; more of them are spooled */
};

_Static_assert(PIPELINE_DIRECT_BLOCK % SINK_ALIGN == 0, "blocks go past the page cache whole");

/* What the workers of one job share. */
struct shared {
    struct pipeline *p;
    size_t block;                       /* output bytes of one */
    uint64_t nblocks;
    atomic_uint_fast64_t next;          /* block that nobody has taken */
    atomic_uint_fast64_t turn;          /* block that may be written */
    atomic_uint sleepers;               /* workers that sleep until their turn */
    atomic_bool stop;                   /* a block failed: no further ones are made */
    pthread_mutex_t lock;
    pthread_cond_t turned;
    struct err *err;                    /* of the lowest failing block, */
    uint64_t failed;                    /* which is this one */
};

uint64_t
pipeline_size(const struct pipeline *p)
{
    return p->header_len + plan_data_bytes(p->plan);
}

static uint64_t
now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Look at the ticket for a while. */
static bool
spin(struct shared *s, uint64_t block)
{
    for (uint64_t end = now_ns() + SPIN_NS; now_ns() < end;)
        for (int i = 0; i < SPIN_LOOKS; i++) {
            if (atomic_load_explicit(&s->turn, memory_order_acquire) == block)
                return true;
#ifdef __x86_64__
            __builtin_ia32_pause();
#endif
        }
    return false;
}

/* Sleep until at least this turn. */
static void
sleep_until(struct shared *s, uint64_t turn)
{
    pthread_mutex_lock(&s->lock);
    atomic_fetch_add(&s->sleepers, 1);
    while (atomic_load(&s->turn) < turn)
        pthread_cond_wait(&s->turned, &s->lock);
    atomic_fetch_sub(&s->sleepers, 1);
    pthread_mutex_unlock(&s->lock);
}

/* A wake-up costs as much as writing a block. So whoever is not the next one sleeps, is woken one turn early,
 * and looks at the ticket while the block before its own is written. A direct sink waits for the disk in any case. */
static void
wait_turn(struct shared *s, uint64_t block)
{
    bool looks = !sink_is_direct(s->p->sink);
    if (looks && atomic_load(&s->turn) + 1 < block)
        sleep_until(s, block - 1);
    if (!looks || !spin(s, block))
        sleep_until(s, block);
}

static void
pass_turn(struct shared *s, uint64_t block)
{
    atomic_store(&s->turn, block + 1);
    if (atomic_load(&s->sleepers) == 0)
        return;
    pthread_mutex_lock(&s->lock);
    pthread_cond_broadcast(&s->turned);
    pthread_mutex_unlock(&s->lock);
}

/* A block failed. Those before it have been made and may be on their way to the disk: if one of them fails yet, it
 * counts. */
static void
fail(struct shared *s, uint64_t block, const struct err *err)
{
    pthread_mutex_lock(&s->lock);
    if (!atomic_load(&s->stop) || block < s->failed) {
        *s->err = *err;
        s->failed = block;
    }
    atomic_store(&s->stop, true);
    pthread_mutex_unlock(&s->lock);
}

/* The part in turn of a block that was made: what sees the bytes in order, and the write that appends. */
static bool
take_turn(struct shared *s, const struct bench *bench, uint64_t from, uint64_t to, struct err *err)
{
    struct pipeline *p = s->p;
    if (!sink_is_direct(p->sink) && !sink_write(p->sink, bench->out, (size_t)(to - from), err))
        return false;
    if (p->progress)
        p->progress(p->progress_of, to - p->from, p->to - p->from);
    return true;
}

/* Make blocks until none is left or one fails. They are written in turn, or where the sink is direct behind it. */
static void
work(struct shared *s, struct bench *bench)
{
    struct pipeline *p = s->p;
    struct err err;
    err_init(&err);
    uint64_t block;
    while (!atomic_load(&s->stop) && (block = atomic_fetch_add(&s->next, 1)) < s->nblocks) {
        uint64_t from = p->from + block * s->block, to = num_min(p->to, from + s->block);
        bool made = block_make(p, bench, from, to, &err);
        wait_turn(s, block);
        bool wanted = !atomic_load(&s->stop), ok = !wanted || (made && take_turn(s, bench, from, to, &err));
        if (!ok)
            fail(s, block, &err);
        pass_turn(s, block);
        if (ok && wanted && sink_is_direct(p->sink)
            && !sink_write_at(p->sink, from - p->from, bench->out, (size_t)(to - from), &err))
            fail(s, block, &err);
    }
    pthread_mutex_lock(&s->lock);
    p->infinite += bench->infinite;
    pthread_mutex_unlock(&s->lock);
}

/* One more worker, if there is memory for it. */
static void *
help(void *of)
{
    struct shared *s = of;
    struct bench bench = { 0 };
    struct err ignored;
    err_init(&ignored);
    if (bench_init(&bench, s->block, &ignored))
        work(s, &bench);
    bench_clear(&bench);
    return NULL;
}

/* Processors that this process may run on: a worker more would spin against the others. */
static uint64_t
cpu_count(void)
{
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return (uint64_t)CPU_COUNT(&set);
#endif
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (uint64_t)n : 1;
}

static unsigned
worker_count(const struct pipeline *p, uint64_t nblocks)
{
    bool direct = sink_is_direct(p->sink);
    uint64_t n = p->jobs ? p->jobs : sink_is_pipe(p->sink) ? 1 : direct ? PIPELINE_DIRECT_JOBS : PIPELINE_JOBS;
    for (uint32_t i = 0; i < p->model->nsrc; i++)
        if (!source_seekable(p->model->src[i]))
            return 1;
    return (unsigned)num_max(1, num_min(direct ? n : num_min(n, cpu_count()), nblocks));
}

static bool
run_blocks(struct pipeline *p, struct err *err)
{
    size_t block = sink_is_direct(p->sink) ? PIPELINE_DIRECT_BLOCK : PIPELINE_BLOCK;
    struct shared s = { .p = p, .block = block, .nblocks = num_ceil_div(p->to - p->from, block), .err = err };
    unsigned n = worker_count(p, s.nblocks), started = 0;
    struct bench bench = { 0 };
    if (!bench_init(&bench, block, err))
        return false;
    pthread_t *threads = calloc(n, sizeof *threads);
    if (!threads) {
        bench_clear(&bench);
        return err_memory(err, n * sizeof *threads);
    }
    pthread_mutex_init(&s.lock, NULL);
    pthread_cond_init(&s.turned, NULL);
    /* A thread that cannot be started, or has no memory, leaves its work to the others; this one always works. */
    while (started + 1 < n && pthread_create(&threads[started], NULL, help, &s) == 0)
        started++;
    work(&s, &bench);
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    pthread_cond_destroy(&s.turned);
    pthread_mutex_destroy(&s.lock);
    bench_clear(&bench);
    free(threads);
    return err->kind == ERR_NONE;
}

static bool
refuse_own_input(const struct pipeline *p, struct err *err)
{
    uint64_t dev, ino;
    return !sink_identity(p->sink, &dev, &ino) || model_spares(p->model, dev, ino, err);
}

static int
compare_extents(const void *pa, const void *pb)
{
    const struct extent *a = pa, *b = pb;
    return (a->at > b->at) - (a->at < b->at);
}

/* Whether a pipe can run as it comes: nothing is needed before it has arrived, and what is needed later is
 * little. Then those companions are kept. *streams tells; false is a failure. */
static bool
keep_companions(const struct pipeline *p, struct source *src, bool *streams, struct err *err)
{
    size_t n = 0, steps = catalog_count(plan_output(p->plan));
    uint64_t total = 0;
    struct extent *keep = malloc((steps * (SCHEME_PARTS - 1) + 1) * sizeof *keep);
    if (!keep)
        return err_memory(err, steps * sizeof *keep);
    *streams = plan_is_forward(p->plan);
    for (size_t i = 0; i < steps && *streams; i++)
        for (unsigned part = 1; part < SCHEME_PARTS; part++) {
            const struct step *step = plan_step(p->plan, i);
            const struct tensor *codes = step_part(step, 0), *t = step_part(step, part);
            if (!t)
                continue;
            keep[n++] = t->extent;
            total += t->extent.nbytes;
            if (t->extent.at > codes->extent.at || total > KEEP_MAX)
                *streams = false;
        }
    qsort(keep, n, sizeof *keep, compare_extents);
    bool ok = true;
    for (size_t i = 0; *streams && ok && i < n; i++)
        if (i == 0 || keep[i].at != keep[i - 1].at)         /* weights may share one */
            ok = source_keep(src, keep[i].at, keep[i].nbytes, err);
    free(keep);
    return ok;
}

/* Make a pipe ready: keep what comes early, or put the whole of it aside. */
static bool
prepare_pipe(const struct pipeline *p, struct err *err)
{
    struct source *src = p->model->src[0];
    bool streams;
    if (p->model->nsrc != 1 || source_seekable(src))
        return true;
    return keep_companions(p, src, &streams, err) && (streams || model_spool(p->model, err));
}

bool
pipeline_run(struct pipeline *p, struct err *err)
{
    bool ok = refuse_own_input(p, err) && prepare_pipe(p, err) && sink_expect(p->sink, p->to - p->from, err)
        && run_blocks(p, err);
    return ok && (p->to < pipeline_size(p) || model_finish(p->model, err)) && model_unchanged(p->model, err);
}
