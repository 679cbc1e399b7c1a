/* amn-parse: decode and validate a model's headers; list every tensor. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/operands.h"
#include "cli/progress.h"
#include "cli/remarks.h"
#include "container/model.h"
#include "options.h"
#include "report/parse.h"
#include "scheme/roles.h"

struct job {
    struct options opt;
    struct model_options how;
    bool begun;                 /* a model was listed before */
};

static bool
list(struct job *job, const char *operand, const struct model *model, const struct roles *roles, struct err *err)
{
    const char **files = model_files(model, err);
    bool several = job->opt.cli.noperands > 1;
    if (!files)
        return false;
    const struct parse in = {
        .catalog = model->catalog,
        .roles = roles,
        .files = files,
        .nfiles = model->nsrc,
        .model = several ? operand : NULL,
        .heading = several ? model->name : NULL,
        .first = !job->begun,
    };
    job->begun = true;
    bool ok = cli_human(&job->opt.cli) ? parse_text(stdout, &in, err) : parse_json(stdout, &in, err);
    free(files);
    return ok;
}

static bool
parse(void *own, const char *operand, struct err *err)
{
    struct job *job = own;
    const struct cli *cli = &job->opt.cli;
    struct model model = { 0 };
    struct roles *roles = NULL;

    bool ok = model_open(&model, operand, &job->how, err)
        && model_spares_stdout(&model, err)
        && roles_assign(&roles, model.catalog, cli->scheme, NULL, err);
    if (ok)
        cli_remarks(cli, model.name, model.catalog);
    meter_phase(model.meter, "writing", 0);
    ok = ok && list(job, operand, &model, roles, err);
    if (!ok && (err->kind != ERR_USAGE || cli->noperands > 1))
        err_in_file(err, model.name ? model.name : "");
    roles_free(roles);
    model_clear(&model);
    return ok;
}

int
main(int argc, char **argv)
{
    struct job job = { 0 };
    struct cli *cli = &job.opt.cli;
    struct cli_progress progress;
    struct err err;
    cli_start("amn-parse");
    options_parse(&job.opt, argc, argv);
    job.how = (struct model_options){ .limits = &cli->limits, .config = cli->config, .root = cli->root,
        .warns = true };
    err_init(&err);
    cli_progress_start(&progress, cli, false);
    job.how.meter = &progress.meter;
    int status = scheme_known(cli->scheme, &err)
        && model_list_spares_stdout(cli->operands, cli->noperands, &job.how, &err)
        ? cli_each(cli, parse, &job) : cli_fail(cli, &err);
    cli_progress_stop(&progress);
    return status;
}
