/* amn-parse: decode and validate a model's headers; list every tensor. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/operands.h"
#include "cli/progress.h"
#include "cli/remarks.h"
#include "model/model.h"
#include "options.h"
#include "report/parse.h"
#include "scheme/roles.h"

struct command {
    struct options opt;
    struct model_options how;
    bool begun;                 /* a model was listed before */
};

static bool
list(struct command *cmd, const char *operand, const struct model *model, const struct roles *roles, struct err *err)
{
    const char **files = model_files(model, err);
    bool several = cmd->opt.cli.noperands > 1;
    if (!files)
        return false;
    const struct parse in = {
        .catalog = model->catalog,
        .roles = roles,
        .files = files,
        .nfiles = model->nsrc,
        .model = several ? operand : NULL,
        .heading = several ? model->name : NULL,
        .first = !cmd->begun,
    };
    cmd->begun = true;
    bool ok = cli_human(&cmd->opt.cli) ? parse_text(stdout, &in, err) : parse_json(stdout, &in, err);
    free(files);
    return ok;
}

static bool
parse(void *own, const char *operand, struct err *err)
{
    struct command *cmd = own;
    const struct cli *cli = &cmd->opt.cli;
    struct model model = { 0 };
    struct roles *roles = NULL;

    bool ok = model_open(&model, operand, &cmd->how, err)
        && model_check_overwrite(&model, err)
        && roles_assign(&roles, model.catalog, cli->scheme, NULL, err);
    if (ok)
        cli_remarks(cli, model.name, model.catalog);
    meter_phase(model.meter, "writing", 0);
    ok = ok && list(cmd, operand, &model, roles, err);
    if (!ok && (err->kind != ERR_USAGE || cli->noperands > 1))
        err_in_file(err, model.name ? model.name : "");
    roles_free(roles);
    model_clear(&model);
    return ok;
}

int
main(int argc, char **argv)
{
    struct command cmd = { 0 };
    struct cli *cli = &cmd.opt.cli;
    struct cli_progress progress;
    struct err err;
    cli_start("amn-parse");
    options_parse(&cmd.opt, argc, argv);
    cmd.how = (struct model_options){ .limits = &cli->limits, .config = cli->config, .root = cli->root,
        .warns = true };
    err_init(&err);
    cli_progress_start(&progress, cli, false);
    cmd.how.meter = &progress.meter;
    int status = scheme_known(cli->scheme, &err)
        && model_list_check_overwrite(cli->operands, cli->noperands, &cmd.how, &err)
        ? cli_each(cli, parse, &cmd) : cli_fail(cli, &err);
    cli_progress_stop(&progress);
    return status;
}
