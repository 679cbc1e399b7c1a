/* Writes the output as one file, several files or a directory, or prints what was asked for instead. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "command/command_priv.h"
#include "command/manifest_file.h"
#include "command/report_file.h"
#include "command/transcode.h"
#include "output/in_place.h"
#include "output/outputs.h"

/* Hooks that see the output as it is made: digests for a manifest, a checksum under -v, NaN or infinite values for --test. */
struct write_seen {
    struct checksum sum;
    struct nonfinite_scan scan;
    struct hook hooks[3];
    size_t nhooks;
};

static bool
write_see(struct write_seen *seen, const struct command *cmd, const struct pipeline *p, struct err *err)
{
    *seen = (struct write_seen){ .sum.kernels = p->kernels };
    for (size_t i = 0; i < p->nhooks; i++)
        seen->hooks[seen->nhooks++] = p->hooks[i];
    if (cmd->cli.verbose != 0)
        seen->hooks[seen->nhooks++] = checksum_hook(&seen->sum);
    if (cmd->instead != COMMAND_TEST)
        return true;
    seen->hooks[seen->nhooks++] = scan_hook(&seen->scan);
    return scan_init(&seen->scan, p->pieces, err);
}

/* Removes what killed jobs left of this output, and opens its file. */
static bool
open_output(struct job *job, struct err *err)
{
    const struct sink_options *output = &job->output;
    if (!outputs_add(&job->outputs, output->path, err))
        return false;
    outputs_sweep(&job->outputs);
    return outputs_open(&job->outputs, &job->p.sink, output, err);
}

/* Writes the output or the wanted part of it; --test makes it and discards it. */
static bool
write_output(struct job *job, struct err *err)
{
    const struct command *cmd = job->cmd;
    struct pipeline *p = &job->p;
    bool test = cmd->instead == COMMAND_TEST;
    char shown[STR_SHOWN];
    struct write_seen seen;
    bool ok = write_see(&seen, cmd, p, err);
    p->hooks = seen.hooks;
    p->nhooks = seen.nhooks;
    meter_phase(p->model->meter, "opening the output", 0);
    ok = ok && (test ? sink_nowhere(&p->sink, err) : open_output(job, err)) && pipeline_run(p, err);
    meter_phase(p->model->meter, "completing the output", 0);
    bool complete = ok && sink_was_complete(p->sink);
    if (ok)
        outputs_made(&job->outputs);
    ok = ok && outputs_commit(&job->outputs, p->sink, err);
    sink_close(p->sink);
    if (ok) {
        if (test)
            command_warn_of_values(&cmd->cli, p, &seen.scan);
        if (complete)
            cli_say(&cmd->cli, NULL, "%s is already complete", str_shown(shown, job->output.path, strlen(job->output.path)));
        command_warn_of_range(cmd, p);
        command_note_scales(&cmd->cli, p, job->roles);
        command_note_end(cmd, p, &seen.sum);
        if (!complete && !test)
            command_tell_end(job, p->to - p->from, job->output.path);
    }
    scan_clear(&seen.scan);
    return ok;
}

/* Replaces the header of the input. */
static bool
write_in_place(struct job *job, struct err *err)
{
    const struct cli *cli = &job->cmd->cli;
    uint64_t n;
    if (!in_place_write(&n, cli->operands[0], &job->model, job->writer, job->p.pieces, err))
        return false;
    if (n == 0)
        cli_say(cli, job->model.name, "nothing to change");
    else if (cli_is_watched(cli) || cli->verbose != 0)
        cli_say(cli, job->model.name, "%" PRIu64 " bytes of the header changed in place", n);
    return true;
}

/* Writes one file or standard output, or prints what was asked for instead. */
static bool
write_file(struct job *job, struct err *err)
{
    const struct command *cmd = job->cmd;
    struct pipeline *p = &job->p;
    bool prints = cmd->instead != COMMAND_OUTPUT && cmd->instead != COMMAND_TEST;
    struct pieces *pieces = pieces_new(err);
    p->pieces = pieces;
    bool ok = pieces && job->writer->lay_out(pieces, &job->choice, &job->layout, err)
        && byte_range_find(&cmd->cut, pieces_nbytes(pieces), PIPELINE_BLOCK, &p->from, &p->to, err)
        && (prints ? command_print(job, err) : cmd->in_place ? write_in_place(job, err) : write_output(job, err));
    pieces_free(pieces);
    return ok;
}

/* Writes a directory. */
static bool
write_directory(struct job *job, struct err *err)
{
    const struct command *cmd = job->cmd;
    const struct pipeline *p = &job->p;
    struct model_dir *dir = &job->dir;
    dir->release = CLI_VERSION;
    char shown[STR_SHOWN], size[STR_SIZE];
    const struct catalog *catalog = p->model->catalog;
    size_t said = catalog_remark_count(catalog);
    if (!model_dir_write(dir, &job->p, &job->choice, &job->layout, err))
        return false;
    cli_remarks(&cmd->cli, p->model->name, catalog, said);
    command_warn_of_range(cmd, p);
    if (!dir->complete)
        command_tell_end(job, dir->nbytes, dir->path);
    if (dir->complete)
        cli_say(&cmd->cli, NULL, "%s is already complete: %" PRIu64 " bytes (%s) of weights compared",
            str_shown(shown, dir->path, strlen(dir->path)), dir->nbytes, str_size(size, dir->nbytes));
    else
        cli_note(&cmd->cli, p->model->name, "%" PRIu64 " bytes (%s) of weights written to %s in %.1f s; files already "
            "complete: %zu", dir->nbytes, str_size(size, dir->nbytes), str_shown(shown, dir->path, strlen(dir->path)),
            meter_read(p->model->meter).age, dir->kept);
    return true;
}

/* Writes the files of a split model. */
static bool
write_split(struct job *job, struct err *err)
{
    const struct command *cmd = job->cmd;
    const struct pipeline *p = &job->p;
    struct split_files *split = &job->split;
    char size[STR_SIZE];
    if (!split_files_write(split, &job->p, &job->choice, &job->layout, err))
        return false;
    command_warn_of_range(cmd, p);
    command_tell_end(job, split->nbytes, split->path);
    cli_note(&cmd->cli, p->model->name, "%" PRIu64 " bytes (%s) written to %zu files in %.1f s", split->nbytes,
        str_size(size, split->nbytes), split->n, meter_read(p->model->meter).age);
    return true;
}

/* Writes one file, several files or a directory, or prints what was asked for instead. */
static bool
write_files(struct job *job, struct err *err)
{
    job->layout.kernels = job->p.kernels;
    if (!job->dir.path && job->split.size == 0)
        return write_file(job, err);
    if (job->cmd->instead == COMMAND_DRY_RUN)
        return command_preview_files(job, err);
    if (job->dir.path)
        return write_directory(job, err);
    return write_split(job, err);
}

/* Returns true if a whole output is made, for a report or for the last notes. A resumed directory is made only in part, so it counts
 * only if a report requires it. */
static bool
counts(const struct job *job)
{
    const struct command *cmd = job->cmd;
    return (cmd->instead == COMMAND_OUTPUT || cmd->instead == COMMAND_TEST) && !cmd->cut.range && cmd->cut.part == 0
        && (cmd->report || (!job->dir.resume && !cmd->cli.quiet));
}

/* Returns true if it is measured how adapters show in the output: an encoder needs the values without the change, too, for which a
 * pipe is not read again without need. */
static bool
measures(const struct job *job, size_t ndeltas)
{
    const struct command *cmd = job->cmd;
    bool again = job->choice.encoded != 0 && !cmd->report && job->model.nsrc == 1 && !source_seekable(job->model.src[0]);
    return ndeltas != 0 && counts(job) && !job->is_exact && !again;
}

/* Writes the output with its sums. */
static bool
write_summed(struct job *job, struct report_file *report, struct err *err)
{
    const struct command *cmd = job->cmd;
    const struct pipeline *p = &job->p;
    bool ok = report_file_open(report, err) && write_files(job, err);
    if (ok && job->is_exact && job->recasting.to == RECAST_NONE && (cmd->instead == COMMAND_OUTPUT || cmd->instead == COMMAND_TEST))
        transcode_tell(job);
    if (ok && p->losses && !job->is_exact && losses_check(p->losses, &report->err))
        command_tell_error(job);
    if (ok && job->adapters && !cmd->cli.quiet && (!p->shifts || shifts_check(p->shifts, &report->err)))
        command_tell_shift(job);
    ok = ok && report_file_commit(report, err);
    report_file_close(report);
    return ok;
}

/* Writes the output and collects, for a report or the last notes, quantization errors and how adapters show. */
static bool
write_counted(struct job *job, struct err *err)
{
    const struct command *cmd = job->cmd;
    struct pipeline *p = &job->p;
    struct shift_report shift = { .n = 0 };
    shift.delta = adapters_deltas(job->adapters, &shift.n);
    bool losses = job->choice.encoded != 0 && (!job->is_exact || job->exact.ninexact != 0) && counts(job);
    bool shifts = measures(job, shift.n);
    struct report_file report = { .job = job, .adapters = shifts ? &shift : NULL };
    if (losses)
        p->losses = losses_new(job->choice.encoded, err);
    else
        p->losses = NULL;
    if (shifts)
        p->shifts = shifts_new(shift.n, cmd->report && losses, err);
    else
        p->shifts = NULL;
    shift.shifts = p->shifts;
    bool ok = (p->losses || !losses) && (p->shifts || !shifts) && write_summed(job, &report, err);
    losses_free(p->losses);
    shifts_free(p->shifts);
    p->losses = NULL;
    p->shifts = NULL;
    return ok;
}

bool
command_write(struct job *job, struct err *err)
{
    struct manifest_file manifest = { .job = job };
    bool ok = manifest_file_open(&manifest, err) && write_counted(job, err) && manifest_file_commit(&manifest, err);
    manifest_file_close(&manifest);
    return ok;
}
