/* amn-parse: validates the headers of a model and lists its tensors. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/options.h"
#include "command/operands.h"
#include "report/parse.h"

static bool
list(void *own, const struct operand *operand, struct err *err)
{
    const struct cli *cli = own;
    const struct model *model = operand->model;
    cli_remarks(cli, model->name, model->catalog);
    const char **files = model_files(model, err);
    if (!files)
        return false;
    const struct parse in = {
        .catalog = model->catalog,
        .roles = operand->roles,
        .files = files,
        .nfiles = model->nsrc,
        .model = operand->heading ? operand->name : NULL,
        .heading = operand->heading,
        .first = operand->first,
    };
    bool ok = cli_human(cli) ? parse_text(stdout, &in, err) : parse_json(stdout, &in, err);
    free(files);
    return ok;
}

int
main(int argc, char **argv)
{
    struct cli cli;
    cli_options(&cli, CLI_PARSE, NULL, NULL, argc, argv);
    return operands_models(&cli, list, &cli);
}
