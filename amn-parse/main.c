/* amn-parse: decode and validate a model's headers; list every tensor. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/progress.h"
#include "cli/remarks.h"
#include "container/model.h"
#include "options.h"
#include "report/parse.h"
#include "scheme/roles.h"

static bool
list(const struct cli *cli, const struct model *model, const struct roles *roles, struct err *err)
{
    const char **files = model_files(model, err);
    if (!files)
        return false;
    const struct parse in = { .catalog = model->catalog, .roles = roles, .files = files, .nfiles = model->nsrc };
    bool ok = cli_human(cli) ? parse_text(stdout, &in, err) : parse_json(stdout, &in, err);
    free(files);
    return ok;
}

static bool
parse(const struct options *opt, struct err *err)
{
    struct model model = { 0 };
    const struct model_options how = { .limits = &opt->cli.limits, .config = opt->cli.config,
        .meter = &opt->cli.bar->meter };
    struct roles *roles = NULL;

    bool ok = scheme_known(opt->cli.scheme, err)
        && model_open(&model, opt->cli.operand, &how, err)
        && model_spares_stdout(&model, err)
        && roles_assign(&roles, model.catalog, opt->cli.scheme, NULL, err);
    if (ok)
        cli_remarks(&opt->cli, model.name, model.catalog);
    meter_phase(model.meter, "writing", 0);
    ok = ok && list(&opt->cli, &model, roles, err)
        && cli_finish_stdout(err);
    if (!ok && err->kind != ERR_USAGE)
        err_in_file(err, model.name ? model.name : "");
    roles_free(roles);
    model_clear(&model);
    return ok;
}

int
main(int argc, char **argv)
{
    struct options opt;
    struct cli_progress progress;
    struct err err;
    cli_start("amn-parse");
    options_parse(&opt, argc, argv);
    err_init(&err);
    cli_progress_start(&progress, &opt.cli, false);
    bool ok = parse(&opt, &err);
    cli_progress_stop(&progress);
    return ok ? 0 : cli_fail(&opt.cli, &err);
}
