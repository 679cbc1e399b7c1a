#include "job/job_priv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/progress.h"
#include "cli/remarks.h"

/* What is seen of it while it is made: under -v its checksum, for a test what is NaN or infinite in it. */
struct seen {
    struct checksum sum;
    struct scan scan;
    struct hook hooks[2];
    size_t nhooks;
};

static bool
see(struct seen *seen, const struct job *job, const struct pipeline *p, struct err *err)
{
    *seen = (struct seen){ .sum.kernels = p->kernels };
    if (job->cli.verbose != 0)
        seen->hooks[seen->nhooks++] = checksum_hook(&seen->sum);
    if (job->instead != JOB_TEST)
        return true;
    seen->hooks[seen->nhooks++] = scan_hook(&seen->scan);
    return scan_init(&seen->scan, p->pieces, err);
}

/* Write the output, or the part of it that is wanted; a test makes it and keeps nothing. */
static bool
write_output(const struct job *job, struct pipeline *p, const struct roles *roles, struct err *err)
{
    bool test = job->instead == JOB_TEST;
    struct seen seen;
    bool ok = see(&seen, job, p, err);
    p->hooks = seen.hooks;
    p->nhooks = seen.nhooks;
    meter_phase(p->model->meter, "opening the output", 0);
    ok = ok && (test ? sink_nowhere(&p->sink, err) : sink_open(&p->sink, &job->output, err))
        && pipeline_run(p, err);
    meter_phase(p->model->meter, "completing the output", 0);
    ok = ok && sink_commit(p->sink, err);
    sink_close(p->sink);
    if (ok) {
        if (test)
            job_warn_of_values(&job->cli, p, &seen.scan);
        job_warn_of_f16(&job->cli, p);
        job_note_scales(&job->cli, p, roles);
        job_note_end(job, p, &seen.sum);
    }
    scan_clear(&seen.scan);
    return ok;
}

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

/* One file, or standard output; or what is wanted instead. */
static bool
write_file(const struct job *job, struct pipeline *p, struct choice *choice, const struct roles *roles, struct err *err)
{
    bool prints = job->instead != JOB_OUTPUT && job->instead != JOB_TEST;
    struct pieces *pieces = pieces_new(err);
    struct writer_options layout = job->layout;
    layout.kernels = p->kernels;
    p->pieces = pieces;
    bool ok = pieces && job->writer->lay_out(pieces, choice, &layout, err)
        && cut_find(&job->cut, pieces_nbytes(pieces), PIPELINE_BLOCK, &p->from, &p->to, err)
        && (prints ? job_print(job, p, err) : write_output(job, p, roles, err));
    pieces_free(pieces);
    return ok;
}

/* A directory of files. */
static bool
write_directory(const struct job *job, struct pipeline *p, struct choice *choice, struct err *err)
{
    struct model_dir dir = job->dir;
    dir.release = CLI_VERSION;
    char shown[STR_SHOWN], size[STR_SIZE];
    if (!model_dir_write(&dir, p, choice, &job->layout, err))
        return false;
    job_warn_of_f16(&job->cli, p);
    cli_note(&job->cli, p->model->name, "%" PRIu64 " bytes (%s) of weights written to %s in %.1f s; files that were "
        "finished before: %zu", dir.nbytes, str_size(size, dir.nbytes), str_shown(shown, dir.path, strlen(dir.path)),
        meter_read(p->model->meter).age, dir.kept);
    return true;
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
    struct keys keys = { 0 };

    job->cli.bar->meter.spools = note_spool;
    job->cli.bar->meter.of = &note;
    bool ok = scheme_known(job->cli.scheme, err)
        && job_check(job, err)
        && (job->instead != JOB_OUTPUT || job->dir.path || sink_check(&job->output, err))
        && model_open(&model, job->cli.operand, &how, err)
        && model_complete(&model, err)
        && roles_assign(&roles, model.catalog, job->cli.scheme, &contents, err)
        && choice_make(&choice, model.catalog, roles, job->to, err)
        && naming_apply(&job->naming, &choice, err)
        && job_keys(&keys, job, &model, &choice, err);
    if (ok) {
        struct pipeline p = { .model = &model, .kernels = kernels, .jobs = job->jobs, .no_verify = job->no_verify };
        cli_remarks(&job->cli, model.name, model.catalog);
        ok = job->dir.path ? write_directory(job, &p, &choice, err) : write_file(job, &p, &choice, roles, err);
    }
    if (!ok && err->kind != ERR_USAGE)
        err_in_file(err, model.name ? model.name : "");
    keys_clear(&keys);
    choice_clear(&choice);
    roles_free(roles);
    model_clear(&model);
    return ok;
}

int
job_run(struct job *job)
{
    struct cli_progress progress;
    struct err err;
    err_init(&err);
    cli_progress_start(&progress, &job->cli, true);
    const struct kernels *kernels = kernels_pick(getenv("AMN_CPU"), &err);
    bool ok = kernels && run(job, kernels, &err);
    cli_progress_stop(&progress);
    naming_clear(&job->naming);
    keys_given_clear(&job->keys);
    return ok ? 0 : cli_fail(&job->cli, &err);
}
