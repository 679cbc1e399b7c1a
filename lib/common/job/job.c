#include "job/job_priv.h"

#include <inttypes.h>
#include <stdlib.h>

#include "cli/progress.h"
#include "cli/remarks.h"
#include "container/merge.h"
#include "hf/model.h"
#include "job/budget.h"
#include "job/imatrix.h"
#include "pipeline/early.h"

struct spool_note {
    const struct cli *cli;
    const struct model *model;
};

/* struct meter: said before it is done, for it can take long. */
static void
note_spool(void *of, uint64_t nbytes)
{
    const struct spool_note *note = of;
    if (nbytes == METER_UNKNOWN)
        cli_note(note->cli, note->model->name, "the input goes to a temporary file: what it holds is listed at its end");
    else
        cli_note(note->cli, note->model->name, "%" PRIu64 " bytes go to a temporary file: the input cannot be read once, "
            "forward", nbytes);
}

/* struct contents: the bytes of a small tensor that says what a weight is. */
static bool
read_tensor(void *model, const struct tensor *t, void *buf, struct err *err)
{
    return model_read(model, t, buf, err);
}

/* What weights are decoded to. Block types of GGUF are made of F32, as llama.cpp has it; other schemes of what amn-remember
 * would write. */
static enum dtype
elements(const struct job *job)
{
    const struct encoder *e = job->reduction.encoder;
    return e && e->type != DTYPE_UNKNOWN && !job->cast ? DTYPE_F32 : job->to;
}

/* What llama.cpp has other names for. */
static bool
open_hf(struct job *job, struct hf_model *hf, struct model *model, struct err *err)
{
    if (job->writer != &writer_gguf || job->keep_quantized)
        return true;
    if (!hf_model_open(hf, model, job->pre, err))
        return false;
    if (hf->family)
        job->keys.own = &hf->keys;
    return true;
}

/* Which tensors are wanted, decoded or as they are, and under which names. */
static bool
choose(const struct job *job, struct choice *choice, struct hf_model *hf, struct model *model, const struct roles *roles,
    struct err *err)
{
    struct catalog *catalog = model->catalog;
    if (!job->keep_quantized)
        return choice_make(choice, catalog, roles, elements(job), job->cast, err)
            && hf_model_choose(hf, model, choice, job->cast ? job->to : DTYPE_UNKNOWN, job->reduction.encoder, err)
            && naming_apply(&job->naming, choice, err);
    return keep_make(choice, catalog, roles, job->writer->packed, job->writer->name, err)
        && naming_apply(&job->naming, choice, err) && keep_check(choice, roles, err);
}

/* Which of them lose precision, and what they become. */
static bool
reduce(struct job *job, struct pipeline *p, struct choice *choice, struct err *err)
{
    struct reduction *r = &job->reduction;
    struct model *model = p->model;
    const struct encoder **assigned = NULL;
    if (!r->encoder)
        return true;
    bool ok = (!job->imatrix || imatrix_read(&r->importance, job->imatrix, &job->cli.limits, model->catalog, &model->inputs,
        err)) && (job->ncandidates == 0 || budget_assign(&assigned, job, p, choice, model->catalog, err));
    r->assigned = assigned;
    ok = ok && reduction_apply(r, choice, model->catalog, err) && early_facts(p, choice, err);
    r->assigned = NULL;
    free(assigned);
    return ok;
}

/* What config.json of a directory will say, and what is worth a warning of that. */
static bool
tell_loaders(struct model_config *config, struct job *job, const struct choice *choice, struct catalog *catalog,
    struct err *err)
{
    if (!job->dir.path || choice->encoded == 0)
        return true;
    bool ok = model_config_make(config, choice, job->reduction.encoder, catalog, err);
    job->dir.quantization = ok && config->quantization.len != 0 ? config : NULL;
    return ok;
}

static bool
run(struct job *job, const struct kernels *kernels, struct err *err)
{
    struct model model = { 0 };
    const struct model_options how = { .limits = &job->cli.limits, .config = job->cli.config,
        .root = job->cli.root, .no_spool = job->no_spool, .no_verify = job->no_verify, .meter = &job->cli.bar->meter };
    const struct contents contents = { read_tensor, &model };
    struct spool_note note = { &job->cli, &model };
    struct roles *roles = NULL;
    struct choice choice = { 0 };
    struct pipeline p = { .model = &model, .kernels = kernels, .jobs = job->jobs, .no_verify = job->no_verify,
        .nonfinite_ok = job->nonfinite_ok };
    struct keys keys = { 0 };
    struct hf_model hf = { 0 };
    struct model_config config = { 0 };
    struct outputs outputs = { .inputs = &model.inputs };
    p.outputs = &outputs;

    job->cli.bar->meter.spools = note_spool;
    job->cli.bar->meter.of = &note;
    bool ok = scheme_known(job->cli.scheme, err)
        && job_check(job, err)
        && (job->instead != JOB_OUTPUT || job->dir.path || job->split.size != 0 || sink_check(&job->output, err))
        && merge_open(&model, job->cli.operands, job->cli.noperands, &how, err)
        && model_complete(&model, err)
        && open_hf(job, &hf, &model, err)
        && roles_assign(&roles, model.catalog, job->cli.scheme, &contents, err)
        && choose(job, &choice, &hf, &model, roles, err)
        && reduce(job, &p, &choice, err)
        && tell_loaders(&config, job, &choice, model.catalog, err)
        && job_keys(&keys, job, &model, &choice, err);
    if (ok) {
        cli_remarks(&job->cli, model.name, model.catalog);
        ok = job_write(job, &p, &choice, roles, err);
    }
    if (!ok && err->kind != ERR_USAGE)
        err_in_file(err, model.name ? model.name : "");
    outputs_clear(&outputs);
    keys_clear(&keys);
    model_config_clear(&config);
    job->dir.quantization = NULL;
    choice_clear(&choice);
    roles_free(roles);
    hf_model_clear(&hf);
    model_clear(&model);
    return ok;
}

enum cli_status
job_run(struct job *job)
{
    struct cli_progress progress;
    struct err err;
    err_init(&err);
    cli_progress_start(&progress, &job->cli, true);
    const struct kernels *kernels = kernels_pick(getenv("AMN_CPU"), &err);
    bool ok = kernels && job_settle(job, &err) && run(job, kernels, &err);
    cli_progress_stop(&progress);
    naming_clear(&job->naming);
    reduction_clear(&job->reduction);
    keys_given_clear(&job->keys);
    return ok ? CLI_OK : cli_fail(&job->cli, &err);
}
