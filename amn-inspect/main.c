/* amn-inspect: what a model is, how it is quantized, and what Lethe took. */
#include <stdio.h>

#include "cli/cli.h"
#include "container/model.h"
#include "options.h"
#include "plan/plan.h"
#include "report/inspect.h"
#include "scheme/roles.h"

/* The size of the model in BF16; a model that cannot be decoded has none, which is no failure here. */
static bool
size_in_bf16(struct inspect *in, struct err *err)
{
    const struct plan_options options = { .to = DTYPE_BF16 };
    struct plan *plan = NULL;
    struct err why;
    err_init(&why);
    in->bf16_known = plan_make(&plan, in->catalog, in->roles, &options, &why);
    if (in->bf16_known)
        in->bytes_bf16 = plan_data_bytes(plan);
    else if (why.kind != ERR_UNSUPPORTED)
        *err = why;
    plan_free(plan);
    return err->kind == ERR_NONE;
}

static bool
report(const struct options *opt, const struct model *model, const struct roles *roles, struct err *err)
{
    struct inspect in = {
        .file = opt->cli.operand ? opt->cli.operand : "-",
        .nfiles = model->nsrc,
        .catalog = model->catalog,
        .roles = roles,
        .arrays = opt->arrays,
    };
    return size_in_bf16(&in, err)
        && (cli_human(&opt->cli) ? inspect_text(stdout, &in, err) : inspect_json(stdout, &in, err));
}

static bool
inspect(const struct options *opt, struct err *err)
{
    struct model model = { 0 };
    const struct model_options how = { .limits = &opt->cli.limits, .config = opt->cli.config };
    struct roles *roles = NULL;

    bool ok = scheme_known(opt->cli.scheme, err)
        && model_open(&model, opt->cli.operand, &how, err)
        && model_spares_stdout(&model, err)
        && roles_assign(&roles, model.catalog, opt->cli.scheme, NULL, err)
        && report(opt, &model, roles, err)
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
    struct err err;
    cli_start("amn-inspect");
    options_parse(&opt, argc, argv);
    err_init(&err);
    return inspect(&opt, &err) ? 0 : cli_fail(&opt.cli, &err);
}
