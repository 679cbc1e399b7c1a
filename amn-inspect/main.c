/* amn-inspect: what a model is, how it is quantized, and what Lethe took. */
#include <stdio.h>

#include "cli/progress.h"
#include "container/model.h"
#include "options.h"
#include "report/inspect.h"
#include "scheme/roles.h"
#include "writer/writer.h"

/* The length of the file that amn-remember would write; none of a part of a split model, which it refuses. Its header has
 * the metadata as text, of which there can be a lot: so only when that is asked for. */
static bool
measure_file(struct remembered *r, struct choice *choice, struct err *why)
{
    const struct writer_options options = { .order = WRITER_ORDER_INPUT };
    struct pieces *pieces = pieces_new(why);
    r->size_known = pieces && writer_safetensors.lay_out(pieces, choice, &options, why)
        && catalog_facts_of(choice->input)->split_count == 0;
    if (r->size_known)
        r->size = pieces_nbytes(pieces);
    pieces_free(pieces);
    return why->kind == ERR_NONE;
}

/* What amn-remember would write. A model that it refuses has no such size, which is no failure here. */
static bool
measure(struct remembered *r, const struct inspect *in, bool size, struct err *err)
{
    struct choice choice = { 0 };
    struct err why;
    err_init(&why);
    r->bytes_known = choice_make(&choice, in->catalog, in->roles, r->to, &why) && choice_nbytes(&choice, &r->bytes, &why)
        && (!size || measure_file(r, &choice, &why));
    if (why.kind != ERR_UNSUPPORTED && why.kind != ERR_LIMIT)
        *err = why;
    choice_clear(&choice);
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
        .remembered.to = opt->to,
    };
    meter_phase(model->meter, "writing", 0);
    return measure(&in.remembered, &in, opt->size, err)
        && (cli_human(&opt->cli) ? inspect_text(stdout, &in, err) : inspect_json(stdout, &in, err));
}

static bool
inspect(const struct options *opt, struct err *err)
{
    struct model model = { 0 };
    const struct model_options how = { .limits = &opt->cli.limits, .config = opt->cli.config,
        .meter = &opt->cli.bar->meter };
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
    struct cli_progress progress;
    struct err err;
    cli_start("amn-inspect");
    options_parse(&opt, argc, argv);
    err_init(&err);
    cli_progress_start(&progress, &opt.cli, false);
    bool ok = inspect(&opt, &err);
    cli_progress_stop(&progress);
    return ok ? 0 : cli_fail(&opt.cli, &err);
}
