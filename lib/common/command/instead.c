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
    const struct outline in = { .pieces = p->pieces, .files = files,
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
begin(const struct command *cmd, const struct pipeline *p, struct err *err)
{
    cli_progress_no_bar(cmd->cli.bar);
    meter_phase(p->model->meter, "writing", 0);
    return model_check_overwrite(p->model, err);
}

static bool
print_preview(const struct command *cmd, const char *model, const struct preview *in, struct err *err)
{
    transcode_explain(cmd, model);
    if (cmd->is_exact && cmd->needs_scheme && cmd->cli.form == CLI_BY_TERMINAL)
        return transcode_print(stdout, cmd, err);
    if (cmd->ncandidates != 0 && cmd->cli.form == CLI_BY_TERMINAL)
        return budget_print(stdout, cmd, in->choice, err);
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
command_print(const struct command *cmd, const struct pipeline *p, const struct choice *choice, struct err *err)
{
    const struct preview preview = { .choice = choice, .size = pieces_nbytes(p->pieces) };
    bool ok = begin(cmd, p, err);
    if (cmd->instead == COMMAND_PLAN)
        ok = ok && print_plan(p, err);
    else if (cmd->instead == COMMAND_DRY_RUN)
        ok = ok && print_preview(cmd, p->model->name, &preview, err);
    else if (cmd->instead == COMMAND_SIZE)
        ok = ok && print_number(p->to - p->from);
    else
        ok = ok && print_number(byte_range_parts(&cmd->cut, pieces_nbytes(p->pieces)));
    return ok && cli_finish_stdout(err);
}

/* Lays out each file, which reports names and sizes that the format cannot hold, and adds up the sizes. */
static bool
survey_files(const struct command *cmd, const struct preview *in, struct str *files, uint64_t *size,
    const struct writer_options *layout, struct err *err)
{
    char name[HF_SHARD_NAME];
    for (size_t i = 0; i < in->shards->n; i++) {
        struct pieces *pieces = lay_out_file(cmd->writer, in->choice, in->shards, i, layout, err);
        if (!pieces)
            return false;
        *size += pieces_nbytes(pieces);
        pieces_free(pieces);
        if (!cmd->dir.path && !split_files_name(&files[i], cmd->split.path, i, in->shards->n, err))
            return false;
        if (cmd->dir.path)
            str_text(&files[i], hf_shard_name(name, in->shards, i));
        if (files[i].failed)
            return err_memory(err, files[i].room);
    }
    return true;
}

bool
command_preview_files(const struct command *cmd, const struct pipeline *p, const struct choice *choice,
    const struct writer_options *layout, struct err *err)
{
    struct shards shards;
    bool ok = shards_cut(&shards, choice, cmd->dir.path ? cmd->dir.shard_size : cmd->split.size, cmd->writer->align, err);
    struct str *files = ok ? calloc(shards.n, sizeof *files) : NULL;
    struct preview in = { .choice = choice, .shards = &shards, .files = files };
    if (ok)
        shards.stem = hf_shard_stem(source_name(p->model->src[0]));
    ok = ok && (files || err_memory(err, shards.n * sizeof *files))
        && survey_files(cmd, &in, files, &in.size, layout, err) && begin(cmd, p, err) && print_preview(cmd, p->model->name, &in, err)
        && cli_finish_stdout(err);
    for (size_t i = 0; files && i < shards.n; i++)
        str_clear(&files[i]);
    free(files);
    shards_clear(&shards);
    return ok;
}
