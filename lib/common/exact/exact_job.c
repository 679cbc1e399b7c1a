#include "exact/exact_job.h"

#include <stdlib.h>

#include "exact/exact_priv.h"
#include "kernel/hints.h"

/* Decides for one entry of the choice. `offers`: the reduction, with an encoder. */
static bool
decide(struct exact_job *job, const struct reduction *offers, size_t place, struct err *err)
{
    const struct chosen *c = &job->choice->list[place];
    const bool quantized = chosen_is_quantized(c);
    bool tries = false;
    if (c->kept || (!quantized && !job->unquantized))
        return true;
    if (!reduction_offers(offers, job->choice, place, &tries, err))
        return false;
    if (!tries && !(quantized && job->whole))
        return true;
    return model_spool(job->p->model, err) && (tries ? exact_choose : exact_choose_type)(job, place, err);
}

bool
exact_job_run(struct exact_job *job, const struct pipeline *p, struct choice *choice, struct err *err)
{
    struct reduction offers = *job->reduction;
    job->hints = kernels_hints(p->kernels, err);
    if (!job->hints || !reduction_meet(&offers, choice, err) || !naming_check(&job->inexact, choice, err))
        return false;
    unsigned *owned = reduction_count_owned(choice);
    if (!owned)
        return err_memory(err, catalog_count(choice->input) * sizeof *owned);
    if (!offers.encoder)
        offers.encoder = job->name[0];
    job->p = p;
    job->choice = choice;
    job->owned = owned;
    bool ok = true;
    for (size_t i = 0; ok && i < choice->n; i++)
        ok = decide(job, &offers, i, err);
    free(owned);
    job->owned = NULL;                  /* weights that share a scale are encoded together */
    return ok && (offers.apart || exact_share(job, err)) && reduction_finish(job->reduction, choice, err);
}

void
exact_job_clear(struct exact_job *job)
{
    for (size_t i = 0; i < job->nrows; i++)
        exact_row_clear(&job->rows[i]);
    free(job->rows);
    free(job->hints);
    str_clear(&job->witness);
    naming_clear(&job->inexact);
    *job = (struct exact_job){ 0 };
}
