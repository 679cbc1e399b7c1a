/* amn-parse: validates the headers of a model and lists its tensors, with --hash their digests. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/conflicts.h"
#include "cli/options.h"
#include "command/adapter_report.h"
#include "command/hash.h"
#include "command/operands.h"
#include "report/parse.h"

struct parse_tool {
    struct cli cli;
    struct hash hash;
};

static bool
parse_take(void *own, const struct cli_option *option, const char *arg, struct err *err)
{
    struct parse_tool *tool = own;
    return hash_take(&tool->hash, option, arg, err);
}

static bool
list(void *own, const struct operand *operand, struct err *err)
{
    const struct parse_tool *tool = own;
    const struct cli *cli = &tool->cli;
    const struct model *model = operand->model;
    struct digests digests = { 0 };
    unsigned which = DIGESTS_STORED;
    if (!tool->hash.stored)
        which = DIGESTS_STORED | DIGESTS_VALUES;
    cli_remarks(cli, model->name, model->catalog, 0);
    if (operand->adapter)
        return (cli_human(cli) ? adapter_parse_text : adapter_parse_json)(operand), true;
    const char **files = model_files(model, err);
    bool ok = files && (!tool->hash.wanted || hash_operand(&digests, operand, which, DTYPE_F32, tool->hash.jobs, err));
    const struct parse in = {
        .catalog = model->catalog,
        .roles = operand->roles,
        .files = files,
        .nfiles = model->nsrc,
        .model = operand->heading ? operand->name : NULL,
        .heading = operand->heading,
        .first = operand->first,
        .digests = tool->hash.wanted ? &digests : NULL,
    };
    if (ok && cli_human(cli))
        ok = parse_text(operand->page, &in, err);
    else if (ok)
        parse_json(operand->page, &in);
    digests_clear(&digests);
    free(files);
    return ok;
}

int
main(int argc, char **argv)
{
    struct parse_tool tool = { 0 };
    struct err err;
    err_init(&err);
    cli_options(&tool.cli, CLI_PARSE, parse_take, &tool, argc, argv);
    if (!conflicts_check(&tool.cli, tool.cli.given, &err))
        return cli_fail(&tool.cli, &err);
    if (tool.hash.wanted)
        return operands_weights(&tool.cli, list, &tool);
    return operands_adapters(&tool.cli, list, &tool);
}
