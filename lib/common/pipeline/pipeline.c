#include "pipeline/pipeline.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/cpus.h"
#include "base/num.h"
#include "base/thread.h"
#include "base/trim.h"
#include "pipeline/block.h"
#include "pipeline/changed.h"
#include "pipeline/encoder.h"
#include "pipeline/scatter.h"
#include "pipeline/ticket.h"
#include "pipeline/verify.h"
#include "plan/streaming.h"

enum { KEEP_MAX = 16 << 20 };           /* companions of a pipe held in memory; larger ones are spooled */

enum { HOOKS = 2 * PIECES_HOOKS };

_Static_assert(PIPELINE_DIRECT_BLOCK % SINK_ALIGN == 0, "blocks go past the page cache whole");
_Static_assert((size_t)SCHEME_BACK <= (size_t)SOURCE_BACK, "a pipe keeps what a run goes back to");

/* State shared by the workers of a job. */
struct shared {
    struct pipeline *p;
    struct panels *panels;
    const struct hook *hook[HOOKS];     /* nhooks */
    size_t nhooks;
    size_t block;                       /* output bytes per block */
    uint64_t nblocks;
    atomic_uint_fast64_t next;          /* next block to take */
    atomic_bool stop;                   /* a block failed; take no more blocks */
    struct ticket ticket;
    bool direct;                        /* blocks are written out of order */
    struct err *err;                    /* error of the lowest failed block, */
    uint64_t failed;                    /* and its number */
};

/* --- one block */

struct pipeline_block {
    uint8_t *p;                         /* bytes [from, to) of the output */
    uint64_t from, to;
    bool late;                          /* contains bytes of LATE pieces */
    uint64_t digest[HOOKS];
};

static void
digest(const struct shared *s, struct pipeline_block *b)
{
    for (size_t i = 0; i < s->nhooks; i++) {
        const struct hook *h = s->hook[i];
        if (h->digest)
            b->digest[i] = h->digest(h->of, b->from, b->p, (size_t)(b->to - b->from));
        else
            b->digest[i] = 0;
    }
}

static void
show(const struct shared *s, const struct pipeline_block *b)
{
    for (size_t i = 0; i < s->nhooks; i++)
        s->hook[i]->see(s->hook[i]->of, b->from, b->p, (size_t)(b->to - b->from), b->digest[i]);
}

/* Digests and shows bytes [from, to) of a block to the hooks. */
static void
show_some(const struct shared *s, const struct pipeline_block *b, uint64_t from, uint64_t to)
{
    struct pipeline_block some = { .p = b->p + (from - b->from), .from = from, .to = to };
    if (from == to)
        return;
    digest(s, &some);
    show(s, &some);
}

/* In turn: generates the LATE pieces of a block, each after the hooks have seen everything before it. */
static void
make_late(const struct shared *s, const struct pipeline_block *b)
{
    const struct pieces *pieces = s->p->pieces;
    for (uint64_t at = b->from, next; at < b->to; at = next) {
        next = num_min(pieces_next_late(pieces, at), b->to);
        show_some(s, b, at, next);
        if (next == b->to)
            break;
        const struct piece *piece = pieces_at(pieces, pieces_find(pieces, at = next));
        next = num_min(piece->at + piece->nbytes, b->to);
        piece->of.late->make(piece->of.late->of, at - piece->at, b->p + (at - b->from), (size_t)(next - at));
        show_some(s, b, at, next);
    }
}

/* Out of turn: generates all of a block except LATE pieces. */
static bool
pipeline_make(const struct shared *s, struct workspace *bench, struct pipeline_block *b, struct err *err)
{
    b->p = bench->out;
    b->late = pieces_next_late(s->p->pieces, b->from) < b->to;
    if (!block_make(s->p, s->panels, bench, b->from, b->to, err))
        return false;
    if (!b->late)
        digest(s, b);
    return true;
}

/* In turn: shows the block to the hooks and, unless direct, appends it to the output. */
static bool
take_turn(const struct shared *s, const struct pipeline_block *b, struct err *err)
{
    if (b->late)
        make_late(s, b);
    else
        show(s, b);
    return s->direct || sink_write(s->p->sink, b->p, (size_t)(b->to - b->from), err);
}

/* --- workers */

/* Records a failed block. Earlier blocks may still be in progress; if one of them fails, its error replaces this one. */
static void
pipeline_fail(struct shared *s, uint64_t block, const struct err *err)
{
    pthread_mutex_lock(&s->ticket.lock);
    if (!atomic_load(&s->stop) || block < s->failed) {
        *s->err = *err;
        s->failed = block;
    }
    atomic_store(&s->stop, true);
    pthread_mutex_unlock(&s->ticket.lock);
}

/* Generates blocks until none is left or one fails. Writes each in its turn, or after its turn if the sink is direct. */
static void
work(struct shared *s, struct workspace *bench)
{
    struct pipeline *p = s->p;
    struct err err;
    err_init(&err);
    uint64_t i;
    while (!atomic_load(&s->stop) && (i = atomic_fetch_add(&s->next, 1)) < s->nblocks) {
        struct pipeline_block b = { .from = p->from + i * s->block };
        b.to = num_min(p->to, b.from + s->block);
        bool made = pipeline_make(s, bench, &b, &err);
        ticket_wait(&s->ticket, i);
        bool wanted = !atomic_load(&s->stop), ok = !wanted || (made && take_turn(s, &b, &err));
        if (!ok)
            pipeline_fail(s, i, &err);
        ticket_pass(&s->ticket, i);
        if (!ok || !wanted)
            continue;
        if (s->direct && !sink_write_at(p->sink, b.from - p->from, b.p, (size_t)(b.to - b.from), &err))
            pipeline_fail(s, i, &err);
        else
            meter_add(p->model->meter, b.to - b.from);
    }
    pthread_mutex_lock(&s->ticket.lock);
    p->infinite += bench->values.infinite;
    changed_values_add(&p->changed, &bench->changed);
    pthread_mutex_unlock(&s->ticket.lock);
}

/* Runs a further worker if there is enough memory for its buffers. */
static void *
help(void *of)
{
    struct shared *s = of;
    struct workspace bench = { 0 };
    struct err ignored;
    err_init(&ignored);
    if (workspace_init(&bench, s->block, &ignored))
        work(s, &bench);
    workspace_clear(&bench);
    return NULL;
}

/* Returns how many workers keep a sink busy. */
static uint64_t
workers_for(const struct sink *sink)
{
    if (sink_is_pipe(sink))
        return 1;
    if (sink_is_direct(sink))
        return PIPELINE_DIRECT_JOBS;
    return PIPELINE_JOBS;
}

static unsigned
worker_count(const struct pipeline *p, uint64_t nblocks)
{
    bool direct = sink_is_direct(p->sink);
    uint64_t n = p->jobs ? p->jobs : workers_for(p->sink);
    for (uint32_t i = 0; i < p->model->nsrc; i++)
        if (!source_seekable(p->model->src[i]))
            return 1;
    return (unsigned)num_max(1, num_min(direct ? n : num_min(n, cpus_count()), nblocks));
}

static void
list_hooks(struct shared *s, const struct hook *hooks, size_t n)
{
    for (size_t i = 0; i < n; i++)
        s->hook[s->nhooks++] = &hooks[i];
}

/* Starts up to n threads and returns how many. If a thread cannot be started or lacks memory, the running ones do its work. */
static unsigned
start_helpers(pthread_t *threads, unsigned n, struct shared *s)
{
    unsigned started = 0;
    while (started < n && thread_start(&threads[started], help, s))
        started++;
    return started;
}

/* Runs all workers. This thread is one of them and always works. */
static bool
run_workers(struct shared *s, struct err *err)
{
    unsigned n = worker_count(s->p, s->nblocks);
    struct workspace bench = { 0 };
    if (!workspace_init(&bench, s->block, err))
        return false;
    pthread_t *threads = calloc(n, sizeof *threads);
    if (!threads) {
        workspace_clear(&bench);
        return err_memory(err, n * sizeof *threads);
    }
    ticket_init(&s->ticket, !s->direct);
    unsigned started = start_helpers(threads, n - 1, s);
    work(s, &bench);
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    ticket_clear(&s->ticket);
    workspace_clear(&bench);
    free(threads);
    return err->kind == ERR_NONE;
}

static bool
run_blocks(struct pipeline *p, void *of, struct err *err)
{
    (void)of;
    bool direct = sink_is_direct(p->sink);
    size_t block = PIPELINE_BLOCK;
    if (direct)
        block = PIPELINE_DIRECT_BLOCK;
    struct shared s = { .p = p, .block = block, .nblocks = num_ceil_div(p->to - p->from, block), .direct = direct,
        .err = err };
    const struct hook *hooks;
    size_t n = pieces_hooks(p->pieces, &hooks);
    list_hooks(&s, hooks, n);
    list_hooks(&s, p->hooks, p->nhooks);
    s.panels = panels_new(p, err);
    p->facts = cache_new(ENCODER_IDLE, SIZE_MAX, err);
    bool again = p->shifts && shifts_again(p->shifts);
    if (again)
        p->bare_facts = cache_new(ENCODER_IDLE, SIZE_MAX, err);
    else
        p->bare_facts = NULL;
    struct scatter *scatter = NULL;
    bool ok = s.panels && p->facts && (p->bare_facts || !again) && scatter_new(&scatter, p, s.panels, err);
    if (scatter)
        ok = ok && scatter_run(scatter, worker_count(p, s.nblocks), err);
    else
        ok = ok && run_workers(&s, err);
    scatter_free(scatter);
    cache_free(p->facts);
    cache_free(p->bare_facts);
    p->facts = p->bare_facts = NULL;
    panels_free(s.panels);
    return ok;
}

/* Prepares a pipe: keeps companions that come early in memory if they are small, otherwise spools the whole input. */
static bool
prepare_pipe(const struct pipeline *p, struct err *err)
{
    struct source *src = p->model->src[0];
    struct streaming a;
    bool forward;
    if (p->model->nsrc != 1)
        return model_spool(p->model, err);
    if (source_seekable(src))
        return true;
    bool ok = streaming_order(&a, p->pieces, &forward, err);
    if (ok && (!forward || a.nbytes > KEEP_MAX))
        ok = model_spool(p->model, err);
    else
        for (size_t i = 0; ok && i < a.n; i++)
            ok = source_keep(src, a.keep[i].at, a.keep[i].nbytes, err);
    streaming_clear(&a);
    return ok;
}

/* Verifies checksums here only for seekable inputs; for a pipe, the reader does so as the data passes. */
static bool
run_verified(struct pipeline *p, bool (*make)(struct pipeline *p, void *of, struct err *err), void *of, struct err *err)
{
    bool ok = p->no_verify || !source_seekable(p->model->src[0])
        || verify_new(&p->verify, p->model, p->pieces, p->kernels, err);
    ok = ok && make(p, of, err)
        && (!p->verify || verify_end(p->verify, p->from == 0 && p->to == pieces_nbytes(p->pieces), err));
    verify_free(p->verify);
    p->verify = NULL;
    return ok;
}

bool
pipeline_run(struct pipeline *p, struct err *err)
{
    uint64_t size = pieces_nbytes(p->pieces);
    bool ok = pieces_can_make(p->pieces, p->from, p->to, err) && prepare_pipe(p, err)
        && sink_expect(p->sink, p->to - p->from, err);
    if (ok && !p->one_of_many)
        meter_phase(p->model->meter, sink_is_nowhere(p->sink) ? "testing" : "writing", p->to - p->from);
    if (!p->one_of_many)
        trim_memory();
    ok = ok && run_verified(p, run_blocks, NULL, err);
    return ok && (p->to < size || model_finish(p->model, err)) && model_unchanged(p->model, err);
}

bool
pipeline_around(struct pipeline *p, bool (*make)(struct pipeline *p, void *of, struct err *err), void *of, struct err *err)
{
    bool ok = prepare_pipe(p, err) && sink_nowhere(&p->sink, err) && run_verified(p, make, of, err)
        && model_finish(p->model, err) && model_unchanged(p->model, err);
    sink_close(p->sink);
    p->sink = NULL;
    return ok;
}
