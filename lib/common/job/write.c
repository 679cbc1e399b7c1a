/* How the output is written: one file, several, a directory; or what is wanted instead. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "job/job_priv.h"
#include "job/report_file.h"

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

/* Opens the one file of the output, when no other job has left anything of it. */
static bool
open_output(const struct job *job, struct pipeline *p, struct err *err)
{
    if (!outputs_add(p->outputs, job->output.path, err))
        return false;
    outputs_sweep(p->outputs);
    return outputs_open(p->outputs, &p->sink, &job->output, err);
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
    ok = ok && (test ? sink_nowhere(&p->sink, err) : open_output(job, p, err)) && pipeline_run(p, err);
    meter_phase(p->model->meter, "completing the output", 0);
    if (ok)
        outputs_made(p->outputs);
    ok = ok && outputs_commit(p->outputs, p->sink, err);
    sink_close(p->sink);
    if (ok) {
        if (test)
            job_warn_of_values(&job->cli, p, &seen.scan);
        job_warn_of_range(job, p);
        job_note_scales(&job->cli, p, roles);
        job_note_end(job, p, &seen.sum);
    }
    scan_clear(&seen.scan);
    return ok;
}

/* One file, or standard output; or what is wanted instead. */
static bool
write_file(const struct job *job, struct pipeline *p, struct choice *choice, const struct roles *roles,
    const struct writer_options *layout, struct err *err)
{
    bool prints = job->instead != JOB_OUTPUT && job->instead != JOB_TEST;
    struct pieces *pieces = pieces_new(err);
    p->pieces = pieces;
    bool ok = pieces && job->writer->lay_out(pieces, choice, layout, err)
        && cut_find(&job->cut, pieces_nbytes(pieces), PIPELINE_BLOCK, &p->from, &p->to, err)
        && (prints ? job_print(job, p, choice, err) : write_output(job, p, roles, err));
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
    job_warn_of_range(job, p);
    if (dir.complete)
        cli_note(&job->cli, p->model->name, "%s is complete already: %" PRIu64 " bytes (%s) of weights compared",
            str_shown(shown, dir.path, strlen(dir.path)), dir.nbytes, str_size(size, dir.nbytes));
    else
        cli_note(&job->cli, p->model->name, "%" PRIu64 " bytes (%s) of weights written to %s in %.1f s; files that were "
            "finished before: %zu", dir.nbytes, str_size(size, dir.nbytes), str_shown(shown, dir.path, strlen(dir.path)),
            meter_read(p->model->meter).age, dir.kept);
    return true;
}

/* The files of a split model. */
static bool
write_split(const struct job *job, struct pipeline *p, struct choice *choice, const struct writer_options *layout,
    struct err *err)
{
    struct split_files split = job->split;
    char size[STR_SIZE];
    if (!split_files_write(&split, p, choice, layout, err))
        return false;
    job_warn_of_range(job, p);
    cli_note(&job->cli, p->model->name, "%" PRIu64 " bytes (%s) written to %zu files in %.1f s", split.nbytes,
        str_size(size, split.nbytes), split.n, meter_read(p->model->meter).age);
    return true;
}

/* One file or several, or what is wanted instead. */
static bool
write_files(const struct job *job, struct pipeline *p, struct choice *choice, const struct roles *roles, struct err *err)
{
    struct writer_options layout = job->layout;
    layout.kernels = p->kernels;
    if (!job->dir.path && job->split.size == 0)
        return write_file(job, p, choice, roles, &layout, err);
    if (job->instead == JOB_DRY_RUN)
        return job_preview_files(job, p, choice, &layout, err);
    return job->dir.path ? write_directory(job, p, choice, err) : write_split(job, p, choice, &layout, err);
}

/* Tells whether the losses of encoding are added up: for a report, or the note at the end. They are those of a whole
 * output. A directory that is resumed is made in part only, unless a report asks for all of it. */
static bool
counts(const struct job *job, const struct choice *choice)
{
    return choice->encoded != 0 && (job->instead == JOB_OUTPUT || job->instead == JOB_TEST) && !job->cut.range
        && job->cut.part == 0 && (job->report || (!job->dir.resume && !job->cli.quiet));
}

bool
job_write(const struct job *job, struct pipeline *p, struct choice *choice, const struct roles *roles, struct err *err)
{
    struct report_file report = { .job = job, .p = p, .choice = choice };
    if (!counts(job, choice))
        return write_files(job, p, choice, roles, err);
    p->losses = losses_new(choice->encoded, err);
    bool ok = p->losses && report_file_open(&report, err) && write_files(job, p, choice, roles, err);
    if (ok && losses_check(p->losses, &report.err))
        job_tell_cost(job, p, choice);
    ok = ok && report_file_commit(&report, err);
    report_file_close(&report);
    losses_free(p->losses);
    p->losses = NULL;
    return ok;
}
