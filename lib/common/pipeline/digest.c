#include "pipeline/digest.h"

#include <stdlib.h>

#include "base/cpus.h"
#include "base/num.h"
#include "base/sha256.h"
#include "pipeline/block.h"
#include "pipeline/crew.h"

enum {
    BLOCK = 256 << 10,          /* bytes of a piece that are made at a time */
    WIDE = 4096                 /* elements that are converted at a time */
};

/* Bytes that are read once, and their digests. */
struct digest_unit {
    uint32_t tensor;            /* in the catalog */
    uint32_t piece;
    uint64_t nbytes;
    bool stored, values;
};

struct digest_job {
    struct pipeline p;
    struct pieces *pieces;
    struct digests *digests;
    struct sha256_library library;
    struct digest_unit *unit;   /* n of them; owned */
    size_t n;
};

/* What one thread owns. */
struct digester {
    struct workspace bench;
    struct panels *panels;
    struct sha256 stored, values;
    uint8_t wide[WIDE * sizeof(float)], half[WIDE * 2];
};

/* --- units */

static bool
add_unit(struct digest_job *job, const struct chosen *chosen, struct digest_unit unit, struct err *err)
{
    if (!pieces_chosen(job->pieces, chosen, err))
        return false;
    unit.piece = (uint32_t)(pieces_count(job->pieces) - 1);
    unit.nbytes = pieces_at(job->pieces, unit.piece)->nbytes;
    job->unit[job->n++] = unit;
    return true;
}

/* Fails for a tensor whose size is unknown or not in whole bytes. */
static bool
has_bytes(const struct tensor *t, struct err *err)
{
    uint64_t nbytes;
    bool whole;
    char name[STR_SHOWN];
    return (t->dtype != DTYPE_UNKNOWN && shape_nbytes(&t->shape, t->dtype, &nbytes, &whole) && whole)
        || err_at(err, ERR_UNSUPPORTED, t->extent.at, "tensor %s: type %s has no digest, because its size in bytes is unknown",
            str_shown(name, t->name, t->name_len), dtype_name(t->dtype));
}

/* Adds the units of a tensor. A plain one is read once for both digests. */
static bool
digest_add_tensor(struct digest_job *job, size_t i, struct err *err)
{
    const struct digests *d = job->digests;
    const struct tensor *t = catalog_at(d->catalog, i);
    const struct weight *w = roles_weight_of(d->roles, i);
    const struct chosen copy = { .copy = t, .dtype = t->dtype }, decode = { .decode = w, .dtype = DTYPE_F32 };
    unsigned which = d->which & ~d->list[i].have;
    struct digest_unit unit = { .tensor = (uint32_t)i, .stored = which & DIGESTS_STORED,
        .values = which & DIGESTS_VALUES && !roles_owner(d->roles, i) };
    if ((unit.stored || unit.values) && (!has_bytes(t, err) || !add_unit(job, &copy, unit, err)))
        return false;
    return !w || !(which & DIGESTS_VALUES)
        || add_unit(job, &decode, (struct digest_unit){ .tensor = (uint32_t)i, .values = true }, err);
}

static int
compare_units(const void *pa, const void *pb)
{
    const struct digest_unit *a = pa, *b = pb;
    if (a->nbytes != b->nbytes)
        return (a->nbytes < b->nbytes) - (a->nbytes > b->nbytes);
    return (a->piece > b->piece) - (a->piece < b->piece);
}

/* --- threads */

static void
leave(void *own)
{
    struct digester *h = own;
    panels_free(h->panels);
    workspace_clear(&h->bench);
    free(h);
}

/* Panels are not shared: threads work on different tensors, and would evict each other's panels. */
static void *
enter(void *of, struct err *err)
{
    struct digest_job *job = of;
    struct digester *h = calloc(1, sizeof *h);
    if (!h) {
        err_memory(err, sizeof *h);
        return NULL;
    }
    h->panels = panels_new(&job->p, err);
    if (h->panels && workspace_init(&h->bench, BLOCK, err))
        return h;
    leave(h);
    return NULL;
}

static bool
is_half(enum dtype type)
{
    return type == DTYPE_F16 || type == DTYPE_BF16;
}

/* Adds values of a plain tensor as F32, rounded to `to` if that is narrower, or as they are. */
static void
add_values(struct digester *h, const struct kernels *k, const struct piece *piece, enum dtype to, const uint8_t *p, size_t n)
{
    size_t size = dtype_facts(piece->to)->bytes;
    enum dtype from = piece->to;
    bool rounds = is_half(to) && from != to && (from == DTYPE_F32 || is_half(from));
    if (!rounds && !is_half(from)) {
        sha256_add(&h->values, p, n);
        return;
    }
    for (size_t left = n / size, now; left != 0; left -= now, p += now * size) {
        now = (size_t)num_min(left, WIDE);
        if (rounds)
            kernels_cast(k, from, to, h->half, p, now);
        kernels_cast(k, rounds ? to : from, DTYPE_F32, h->wide, rounds ? h->half : p, now);
        sha256_add(&h->values, h->wide, now * sizeof(float));
    }
}

static bool
hash_unit(void *of, void *own, uint64_t number, struct err *err)
{
    struct digest_job *job = of;
    struct digester *h = own;
    const struct digest_unit *u = &job->unit[number];
    const struct piece *piece = pieces_at(job->pieces, u->piece);
    struct digest_pair *out = &job->digests->list[u->tensor];
    sha256_begin(&h->stored, &job->library);
    sha256_begin(&h->values, &job->library);
    for (uint64_t done = 0, n; done < piece->nbytes; done += n) {
        n = num_min(piece->nbytes - done, BLOCK);
        if (!block_make(&job->p, h->panels, &h->bench, piece->at + done, piece->at + done + n, err))
            return false;
        if (u->stored)
            sha256_add(&h->stored, h->bench.out, (size_t)n);
        if (u->values)
            add_values(h, job->p.kernels, piece, job->digests->to, h->bench.out, (size_t)n);
        meter_add(job->p.model->meter, n);
    }
    if (u->stored)
        sha256_end(&h->stored, out->stored);
    if (u->values)
        sha256_end(&h->values, out->values);
    return true;
}

/* Digests the largest tensors first, so that all threads end at about the same time; the tensors of a pipe in their order. */
static bool
hash_units(struct pipeline *p, void *of, struct err *err)
{
    struct digest_job *job = of;
    bool seekable = true;
    for (uint32_t i = 0; i < p->model->nsrc; i++)
        seekable = seekable && source_seekable(p->model->src[i]);
    if (seekable)
        qsort(job->unit, job->n, sizeof *job->unit, compare_units);
    const struct crew crew = { .units = job->n, .jobs = seekable ? p->jobs : 1, .of = job, .enter = enter, .work = hash_unit,
        .leave = leave };
    return crew_run(&crew, err);
}

bool
digest_model(struct digests *d, struct model *model, const struct kernels *kernels, unsigned jobs, struct err *err)
{
    size_t count = catalog_count(d->catalog), room = (2 * count + 1) * sizeof(struct digest_unit);
    struct digest_job job = { .digests = d, .unit = malloc(room), .pieces = pieces_new(err),
        .p = { .model = model, .kernels = kernels, .jobs = jobs ? jobs : cpus_count() } };
    job.p.panel_bytes = num_max(PANELS_BYTES / job.p.jobs, PANELS_BYTES / 8);
    job.p.pieces = job.pieces;
    bool ok;
    if (job.unit)
        ok = job.pieces != NULL;
    else
        ok = err_memory(err, room);
    ok = ok && sha256_open(&job.library, err) && (!(d->which & DIGESTS_VALUES) || roles_decodable(d->roles, KEEPS_NONE, NULL, err));
    for (size_t i = 0; ok && i < count; i++)
        ok = digest_add_tensor(&job, i, err);
    job.p.to = 0;
    if (ok) {
        job.p.to = pieces_nbytes(job.pieces);
        meter_phase(model->meter, "hashing", job.p.to);
    }
    ok = ok && pipeline_around(&job.p, hash_units, &job, err) && digests_total(d, &job.library, err);
    sha256_close(&job.library);
    pieces_free(job.pieces);
    free(job.unit);
    return ok;
}
