#include "command/command_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/progress.h"
#include "command/budget.h"
#include "command/transcode.h"
#include "hf/shard_index.h"
#include "report/outline.h"
#include "report/preview.h"
#include "writer/lay_out.h"

static bool
print_number(uint64_t n)
{
    printf("%" PRIu64 "\n", n);
    return true;
}

static bool
print_plan(const struct pipeline *p, struct err *err)
{
    const char **files = model_files(p->model, err);
    if (!files)
        return false;
    const struct outline in = { .pieces = p->pieces, .catalog = p->model->catalog, .files = files,
        .nfiles = (size_t)p->model->nsrc + p->model->nmore, .from = p->from, .to = p->to };
    struct page page;
    page_init(&page, stdout);
    bool ok = outline_json(&page, &in, err);
    ok = page_finish(&page, err) && ok;
    free(files);
    return ok;
}

/* Prepares standard output for text: removes the bar and checks that no input is overwritten. */
static bool
instead_begin(const struct job *job, struct err *err)
{
    cli_progress_no_bar(job->cmd->cli.bar);
    meter_phase(job->model.meter, "writing", 0);
    return model_check_overwrite(&job->model, err);
}

static bool
print_preview(const struct job *job, const struct preview *in, struct err *err)
{
    const struct command *cmd = job->cmd;
    transcode_explain(job);
    if (job->is_exact && cmd->needs_scheme && cmd->cli.form == CLI_BY_TERMINAL)
        return transcode_print(stdout, job, err);
    if (job->ncandidates != 0 && cmd->cli.form == CLI_BY_TERMINAL)
        return budget_print(stdout, job, in->choice, err);
    struct page page;
    page_init(&page, stdout);
    bool ok = true;
    if (cli_human(&cmd->cli))
        ok = preview_text(&page, in, err);
    else
        preview_json(&page, in);
    return page_finish(&page, err) && ok;
}

bool
command_print(const struct job *job, struct err *err)
{
    const struct command *cmd = job->cmd;
    const struct pipeline *p = &job->p;
    const struct preview preview = { .choice = &job->choice, .size = pieces_nbytes(p->pieces) };
    bool ok = instead_begin(job, err);
    if (cmd->instead == COMMAND_PLAN)
        ok = ok && print_plan(p, err);
    else if (cmd->instead == COMMAND_DRY_RUN)
        ok = ok && print_preview(job, &preview, err);
    else if (cmd->instead == COMMAND_SIZE)
        ok = ok && print_number(p->to - p->from);
    else
        ok = ok && print_number(byte_range_parts(&cmd->cut, pieces_nbytes(p->pieces)));
    return ok && cli_finish_stdout(err);
}

/* Lays out each file, which reports names and sizes that the format cannot hold, and adds up the sizes. */
static bool
survey_files(const struct job *job, const struct preview *in, struct str *files, uint64_t *size, struct err *err)
{
    char name[HF_SHARD_NAME];
    for (size_t i = 0; i < in->shards->n; i++) {
        struct pieces *pieces = lay_out_file(job->writer, in->choice, in->shards, i, &job->layout, err);
        if (!pieces)
            return false;
        *size += pieces_nbytes(pieces);
        pieces_free(pieces);
        if (!job->dir.path && !split_files_name(&files[i], job->split.path, i, in->shards->n, err))
            return false;
        if (job->dir.path)
            str_text(&files[i], hf_shard_name(name, in->shards, i));
        if (files[i].failed)
            return err_memory(err, files[i].room);
    }
    return true;
}

bool
command_preview_files(const struct job *job, struct err *err)
{
    const struct choice *choice = &job->choice;
    struct shards shards;
    bool ok = shards_cut(&shards, choice, job->dir.path ? job->dir.shard_size : job->split.size, job->writer->align, err);
    struct str *files = NULL;
    if (ok)
        files = calloc(shards.n, sizeof *files);
    struct preview in = { .choice = choice, .shards = &shards, .files = files };
    if (ok)
        shards.stem = job->dir.stem ? job->dir.stem : hf_shard_stem(source_name(job->model.src[0]));
    ok = ok && (files || err_memory(err, shards.n * sizeof *files))
        && survey_files(job, &in, files, &in.size, err) && instead_begin(job, err) && print_preview(job, &in, err)
        && cli_finish_stdout(err);
    for (size_t i = 0; files && i < shards.n; i++)
        str_clear(&files[i]);
    free(files);
    shards_clear(&shards);
    return ok;
}
