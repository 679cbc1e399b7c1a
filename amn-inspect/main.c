/* amn-inspect: what a model is, how it is quantized, and what Lethe took. */
#include <stdio.h>

#include "cli/operands.h"
#include "cli/progress.h"
#include "model/model.h"
#include "options.h"
#include "report/inspect.h"
#include "scan.h"
#include "scheme/roles.h"
#include "writer/writer.h"

/* The length of the file that amn-remember would write; none of a part of a split model, which it refuses. Its header has
 * the metadata as text, of which there can be a lot: so only when that is asked for. */
static bool
measure_file(struct remembered *r, struct choice *choice, struct err *why)
{
    const struct keys_given nothing = { 0 };
    struct keys keys = { 0 };
    const struct writer_options options = { .order = WRITER_ORDER_INPUT, .keys = &keys };
    struct pieces *pieces = pieces_new(why);
    r->size_known = pieces && keys_make(&keys, KEYS_TEXT, &nothing, choice, why)
        && writer_safetensors.lay_out(pieces, choice, &options, why)
        && catalog_facts_of(choice->input)->split_count == 0;
    if (r->size_known)
        r->size = pieces_nbytes(pieces);
    pieces_free(pieces);
    keys_clear(&keys);
    return why->kind == ERR_NONE;
}

/* What amn-remember would write. A model that it refuses has no such size, which is no failure here. */
static bool
measure(struct remembered *r, const struct inspect *in, bool size, struct err *err)
{
    struct choice choice = { 0 };
    struct err *why = &r->refusal;
    err_init(why);
    r->bytes_known = choice_make(&choice, in->catalog, in->roles, r->to, false, why) && choice_nbytes(&choice, &r->bytes, why)
        && (!size || measure_file(r, &choice, why));
    if (why->kind != ERR_UNSUPPORTED && why->kind != ERR_LIMIT && why->kind != ERR_MALFORMED)
        *err = *why;
    choice_clear(&choice);
    return err->kind == ERR_NONE;
}

struct command {
    struct options opt;
    struct model_options how;
    bool begun;                 /* a model was described before */
};

static bool
report(struct command *cmd, const char *operand, const struct model *model, const struct roles *roles, struct err *err)
{
    const struct options *opt = &cmd->opt;
    struct inspect in = {
        .file = operand ? operand : "-",
        .nfiles = model->nsrc,
        .catalog = model->catalog,
        .roles = roles,
        .metadata = opt->metadata,
        .arrays = opt->arrays,
        .heading = opt->cli.noperands > 1 ? model->name : NULL,
        .first = !cmd->begun,
        .remembered.to = opt->to,
    };
    meter_phase(model->meter, "writing", 0);
    if (!measure(&in.remembered, &in, opt->size, err))
        return false;
    cmd->begun = true;
    return cli_human(&opt->cli) ? inspect_text(stdout, &in, err) : inspect_json(stdout, &in, err);
}

static bool
inspect(void *own, const char *operand, struct err *err)
{
    struct command *cmd = own;
    const struct cli *cli = &cmd->opt.cli;
    struct model model = { 0 };
    struct roles *roles = NULL;

    bool ok = model_open(&model, operand, &cmd->how, err)
        && model_check_overwrite(&model, err)
        && roles_assign(&roles, model.catalog, cli->scheme, NULL, err)
        && report(cmd, operand, &model, roles, err);
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
    cli_start("amn-inspect");
    options_parse(&cmd.opt, argc, argv);
    cmd.how = (struct model_options){ .limits = &cli->limits, .config = cli->config, .root = cli->root,
        .warns = true };
    err_init(&err);
    cli_progress_start(&progress, cli, false);
    cmd.how.meter = &progress.meter;
    struct scan scan = { .opt = &cmd.opt, .meter = &progress.meter };
    bool ok = options_check(&cmd.opt, &err) && scheme_known(cli->scheme, &err)
        && model_list_check_overwrite(cli->operands, cli->noperands, &cmd.how, &err);
    int status = !ok ? cli_fail(cli, &err) : cmd.opt.scan ? scan_status(&scan, cli_each(cli, scan_operand, &scan))
        : cli_each(cli, inspect, &cmd);
    cli_progress_stop(&progress);
    return status;
}
