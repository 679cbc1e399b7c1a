#include "exact/exact_try.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpus.h"
#include "base/num.h"
#include "base/str.h"
#include "base/thread.h"
#include "kernel/hints.h"
#include "kernel/rounded.h"
#include "pipeline/crew.h"
#include "pipeline/encoder.h"

enum { EXACT_JOBS = 64 };               /* at most */

/* One pass over a weight: over its regions, or over its codes. */
struct exact_pass {
    struct encoder_trial trial;
    bool checks;                        /* the codes */
    bool ordered;                       /* later items are later blocks: the first failure ends the pass */
    uint64_t n, each, grains;           /* items; grains of an item, and all of them */
    atomic_bool over;                   /* no other item matters */
    pthread_mutex_t lock;               /* of *out */
    struct exact_outcome *out;
};

/* What one thread owns. */
struct exact_bench {
    struct workspace b;
    uint8_t *y;                         /* the bytes of an item, if codes are checked */
};

static void
leave_pass(void *own)
{
    struct exact_bench *bench = own;
    workspace_clear(&bench->b);
    free(bench->y);
    free(bench);
}

static void *
enter_pass(void *of, struct err *err)
{
    const struct exact_pass *s = of;
    size_t size = 0;
    if (s->checks)
        size = s->each * s->trial.of.encoding->part[s->trial.of.part].grain;
    struct exact_bench *bench = calloc(1, sizeof *bench);
    if (!bench || (s->checks && !(bench->y = malloc(size)))) {
        free(bench);
        err_memory(err, size + sizeof *bench);
        return NULL;
    }
    if (workspace_init(&bench->b, 0, err))
        return bench;
    leave_pass(bench);
    return NULL;
}

/* Adds the outcome of an item. */
static void
add_outcome(struct exact_pass *s, const struct exact_outcome *out)
{
    struct exact_fail *fail = &s->out->fail;
    pthread_mutex_lock(&s->lock);
    if (out->fail.cause != EXACT_HOLDS && (fail->cause == EXACT_HOLDS || out->fail.block < fail->block))
        *fail = out->fail;
    if (out->way > s->out->way)
        s->out->way = out->way;
    atomic_store(&s->over, s->ordered && fail->cause != EXACT_HOLDS);
    pthread_mutex_unlock(&s->lock);
}

static bool
run_item(void *of, void *own, uint64_t i, struct err *err)
{
    struct exact_pass *s = of;
    struct exact_bench *bench = own;
    struct exact_outcome out = { .way = EXACT_MOVED };
    const uint64_t first = i * s->each;
    if (atomic_load(&s->over))
        return true;
    bool ok;
    if (s->checks)
        ok = encoder_check(&s->trial, &bench->b, first, num_min(s->each, s->grains - first), bench->y, &out.fail, &out.way,
            err);
    else
        ok = encoder_survey(&s->trial, &bench->b, i, s->trial.facts, &out.fail, &out.way, err);
    add_outcome(s, &out);
    return ok;
}

static bool
run_pass(struct exact_pass *s, struct err *err)
{
    unsigned jobs;
    if (s->trial.p->jobs)
        jobs = s->trial.p->jobs;
    else
        jobs = cpus_count();
    const struct crew crew = { .units = s->n, .jobs = (unsigned)num_min(jobs, EXACT_JOBS), .of = s,
        .enter = enter_pass, .work = run_item, .leave = leave_pass };
    pthread_mutex_init(&s->lock, NULL);
    bool ok = crew_run(&crew, err);
    pthread_mutex_destroy(&s->lock);
    return ok;
}

unsigned
exact_try_codes(const struct encoding *e)
{
    unsigned p = 0;
    while (!e->part[p].codes)
        p++;
    return p;
}

static bool
exact_try_check(struct exact_pass *s, struct err *err)
{
    const struct encoding *e = s->trial.of.encoding;
    s->checks = true;
    s->trial.of.part = exact_try_codes(e);
    const struct encode_part *part = &e->part[s->trial.of.part];
    s->ordered = part->elems != 0;
    s->grains = num_ceil_div(encode_part_nbytes(part), part->grain);
    s->each = num_max(1, (part->elems ? ENCODE_FLOATS / part->elems : ENCODE_FLOATS / 8));
    s->n = num_ceil_div(s->grains, s->each);
    return run_pass(s, err);
}

/* Keeps the facts of an encoding that is exact. */
static bool
keep_facts(struct encoding *e, const float *facts, struct err *err)
{
    size_t size = (size_t)e->nfacts * sizeof *facts;
    float *kept = NULL;
    if (size != 0)
        kept = catalog_alloc(e->memory, size, err);
    if (size != 0 && !kept)
        return false;
    if (kept)
        memcpy(kept, facts, size);
    e->facts = kept;
    return true;
}

/* Calls see() with all elements of a weight in order, as values or as what the kernels of a hint yield, until it returns true. */
static bool
read_all(const struct pipeline *p, const struct kernels *hint, const struct chosen *c,
    bool (*see)(void *of, uint64_t at, const float *x, size_t n), void *of, struct err *err)
{
    const struct encoding *e = c->encoding;
    uint64_t count = e->rows * e->cols;
    struct workspace b = { 0 };
    float *x = malloc(ENCODE_FLOATS * sizeof *x);
    struct panels *panels = panels_new(p, err);
    const struct reading how = { .p = p, .panels = panels, .b = &b, .kernels = hint ? hint : p->kernels,
        .what = hint ? READING_HINTS : READING_VALUES, .nonfinite = true };
    struct piece *elements = (void *)piece_elements(c, err);
    bool done = false, ok = panels && elements && (x || err_memory(err, ENCODE_FLOATS * sizeof *x)) && workspace_init(&b, 0, err);
    for (uint64_t at = 0, n; ok && !done && at < count; at += n) {
        n = num_min(ENCODE_FLOATS, count - at);
        ok = block_floats(&how, elements, at, (size_t)n, x, err);
        done = ok && see(of, at, x, (size_t)n);
    }
    workspace_clear(&b);
    panels_free(panels);
    piece_free(elements);
    free(x);
    return ok;
}

struct sought {
    enum dtype type;                    /* values are compared after rounding to it */
    struct exact_fail *fail;
};

static bool
find_value(void *of, uint64_t at, const float *x, size_t n)
{
    struct sought *s = of;
    for (size_t i = 0; i < n; i++)
        if ((double)fabsf(rounded(s->type, x[i])) == fabs(s->fail->value) || (double)fabsf(x[i]) == fabs(s->fail->value)) {
            s->fail->index = at + i;
            s->fail->value = (double)x[i];
            return true;
        }
    return false;
}

/* Finds the first element with the magnitude at fault; failures of a whole weight report only a magnitude. */
static bool
find_index(struct exact_pass *s, const struct chosen *c, struct err *err)
{
    enum exact_level level = c->encoding->exact->level;
    struct sought sought = { level == EXACT_BF16 ? DTYPE_BF16 : level == EXACT_F16 ? DTYPE_F16 : DTYPE_F32, &s->out->fail };
    return read_all(s->trial.p, NULL, c, find_value, &sought, err);
}

static bool
try_all(struct exact_pass *s, const struct chosen *c, struct err *err)
{
    struct encoding *e = s->trial.of.encoding;
    struct exact_fail *fail = &s->out->fail;
    s->n = e->nregions;
    s->ordered = true;
    if (e->nfacts != 0 && !run_pass(s, err))
        return false;
    for (int round = 0; fail->cause == EXACT_HOLDS && e->encoder->exact.resolve && e->nfacts != 0 && round < 2; round++) {
        if (e->encoder->exact.resolve(e, s->trial.facts, fail))
            break;
        if (fail->cause != EXACT_HOLDS)
            return find_index(s, c, err);
        if (!run_pass(s, err))
            return false;
    }
    if (fail->cause == EXACT_HOLDS && !e->solved && !exact_try_check(s, err))
        return false;
    return fail->cause != EXACT_HOLDS || keep_facts(e, s->trial.facts, err);
}

bool
exact_try(struct exact_outcome *out, const struct pipeline *p, const struct chosen *c, struct err *err)
{
    struct encoding *e = c->encoding;
    *out = (struct exact_outcome){ .way = EXACT_MOVED };
    struct exact_pass s = { .trial = { p, panels_new(p, err), { .elements = piece_elements(c, err), .encoding = e }, NULL },
        .out = out };
    s.trial.facts = calloc((size_t)num_max(e->nfacts, 1), sizeof *s.trial.facts);
    bool ok = s.trial.panels && s.trial.of.elements && (s.trial.facts || err_memory(err, (uint64_t)e->nfacts * sizeof(float)))
        && try_all(&s, c, err);
    panels_free(s.trial.panels);
    piece_free((void *)s.trial.of.elements);
    free(s.trial.facts);
    return ok;
}

struct counted {
    float code;
    uint64_t n;
};

static bool
count_code(void *of, uint64_t at, const float *x, size_t n)
{
    struct counted *c = of;
    (void)at;
    for (size_t i = 0; i < n; i++)
        c->n += x[i] == c->code;
    return false;
}

bool
exact_try_count_code(uint64_t *n, const struct pipeline *p, const struct chosen *c, unsigned code, struct err *err)
{
    struct counted counted = { (float)code, 0 };
    bool ok = read_all(p, &c->encoding->exact->hints[HINT_CODE], c, count_code, &counted, err);
    *n = counted.n;
    return ok;
}

struct finite {
    const struct kernels *kernels;
    bool *all;
};

/* Stops at the first piece with a value that is not finite. */
static bool
see_finite(void *of, uint64_t at, const float *x, size_t n)
{
    const struct finite *f = of;
    float most = 0;
    (void)at;
    f->kernels->encode_absmax(&most, x, n, n);
    *f->all = isfinite(most);
    return !*f->all;
}

bool
exact_try_finite(bool *finite, const struct pipeline *p, const struct chosen *c, struct err *err)
{
    struct finite seen = { p->kernels, finite };
    *finite = true;
    return read_all(p, NULL, c, see_finite, &seen, err);
}
