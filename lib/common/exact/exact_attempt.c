#include "exact/exact_priv.h"
#include "exact/exact_source.h"
#include "scheme/roles.h"

static bool
read_second(void *of, const struct tensor *t, void *buf, struct err *err)
{
    return model_read(of, t, buf, err);
}

bool
exact_attempt_terms(struct exact_attempt *a, struct err *err)
{
    struct model *model = a->job->p->model;
    const struct exact_reader reader = { model->catalog, read_second, model };
    a->terms = catalog_alloc(model->catalog, sizeof *a->terms, err);
    if (!a->terms)
        return false;
    a->terms->level = a->job->level;
    a->terms->hints = a->job->hints;
    return exact_source_find(&a->terms->source, &a->trial, &reader, err);
}

bool
exact_attempt_begin(struct exact_attempt *a, struct err *err)
{
    a->trial = a->job->choice->list[a->place];
    a->trial.encoding = NULL;
    a->quantized = chosen_is_quantized(&a->trial);
    if (a->quantized)
        a->trial.dtype = DTYPE_F32;
    return exact_source_upright(&a->trial, a->job->p->model->catalog, err) && exact_attempt_terms(a, err);
}

/* Returns true if the weight is stored as the encoding of the trial would be. Schemes that loaders configure once per model are never
 * kept weight by weight. */
static bool
is_stored(const struct exact_attempt *a)
{
    const struct exact_job *job = a->job;
    const struct encoding *e = a->trial.encoding;
    const struct weight *w = job->choice->list[a->place].decode;
    if (!job->owned || !e || !w || e->encoder->held != KEEPS_CODES || e->encoder->loaders.joint || e->encoder->loaders.fuses || job->reduction->uniform)
        return false;
    return roles_is_kept(w, job->reduction->keeps) && reduction_is_stored(e, w, job->choice, job->owned);
}

/* Sets up the encoding of the last name with a->how and tries it. */
static bool
try_once(struct exact_attempt *a, const struct exact_terms *terms, struct err *err)
{
    const struct exact_job *job = a->job;
    struct catalog *memory = job->p->model->catalog;
    if (!reduction_try(job->reduction, &a->trial, a->place, &a->how, a->last, terms, exact_source_type(&a->trial), memory, err))
        return false;
    a->why = a->trial.why;
    a->stored = false;
    if (is_stored(a) && !exact_try_finite(&a->stored, job->p, &a->trial, err))
        return false;
    a->out = (struct exact_outcome){ .fail = { .cause = a->stored ? EXACT_HOLDS : EXACT_LAYOUT }, .way = EXACT_MOVED };
    return a->stored || !a->trial.encoding || exact_try(&a->out, job->p, &a->trial, err);
}

bool
exact_attempt_name(struct exact_attempt *a, const struct encoder *e, struct err *err)
{
    const struct encode_options *given;
    if (a->given)
        given = a->given;
    else
        given = &a->job->reduction->how;
    const struct tensor t = chosen_source(&a->trial);
    const uint64_t cols = shape_dim(&t.shape, t.shape.rank - 1);
    struct exact_terms *terms = a->terms;
    struct encode_options how;
    a->last = e;
    a->shares = NULL;
    if (!e->exact.solve) {
        a->why = "only a weight that has this type already can have it";
        a->out = (struct exact_outcome){ .fail = { .cause = EXACT_LAYOUT } };
        return true;
    }
    if (terms->source.seconds && !e->exact.seconds) {             /* values alone */
        if ((terms = catalog_alloc(a->job->p->model->catalog, sizeof *terms, err)) == NULL)
            return false;
        *terms = *a->terms;
        terms->source = (struct exact_source){ .codes = EXACT_OTHER, .has_input = a->terms->source.has_input,
            .input_why = "matrices that are stacked have scales of activations of their own" };
    }
    for (unsigned variant = 0; exact_source_options(&how, given, e, &terms->source, cols, variant); variant++) {
        how.exact = 1 + (uint64_t)terms->level;
        a->how = how;
        if (!try_once(a, terms, err))
            return false;
        if (a->out.fail.cause == EXACT_HOLDS || !a->trial.encoding)
            return true;
    }
    return true;
}

bool
exact_attempt_level(bool *holds, const struct exact_attempt *a, const struct encoder *e, enum exact_level level, struct err *err)
{
    struct exact_attempt other = *a;
    struct exact_terms terms = *a->terms;
    terms.level = level;
    other.terms = &terms;
    bool ok = exact_attempt_name(&other, e, err);
    *holds = ok && other.out.fail.cause == EXACT_HOLDS;
    return ok;
}
