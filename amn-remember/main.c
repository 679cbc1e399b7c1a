/* amn-remember: a quantized model in, the same model in BF16, F16 or F32 safetensors out. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/progress.h"
#include "cli/remarks.h"
#include "container/model.h"
#include "options.h"
#include "pipeline/audit.h"
#include "pipeline/checksum.h"
#include "pipeline/pipeline.h"
#include "report/outline.h"

/* --- instead of the output */

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
    const struct outline in = { .pieces = p->pieces, .files = files, .from = p->from, .to = p->to };
    bool ok = outline_json(stdout, &in, err);
    free(files);
    return ok;
}

static bool
print_instead(const struct options *opt, const struct pipeline *p, struct err *err)
{
    bool ok = model_spares_stdout(p->model, err);
    if (opt->instead == INSTEAD_PLAN)
        ok = ok && print_plan(p, err);
    else if (opt->instead == INSTEAD_SIZE)
        ok = ok && print_number(p->to - p->from);
    else
        ok = ok && print_number(cut_parts(&opt->cut, pieces_nbytes(p->pieces)));
    return ok && cli_finish_stdout(err);
}

/* --- the output */

/* Say what the output does not show: a spool, values beyond F16, odd scales (these only when asked). The output is
 * complete, so nothing here is a failure. */
static void
note_result(const struct cli *cli, const struct pipeline *p, const struct roles *roles, const struct checksum *sum)
{
    const char *name = p->model->name;
    struct nonfinite audit = { 0 };
    struct err err;
    err_init(&err);
    if (p->model->spooled != 0)
        cli_note(cli, name, "%" PRIu64 " bytes went to a temporary file: the input cannot be read once, forward",
            p->model->spooled);
    if (cli->verbose != 0)
        cli_note(cli, name, "%" PRIu64 " bytes written, CRC-32 %08" PRIx32, p->to - p->from, sum->crc);
    if (p->infinite != 0)
        cli_warn(cli, name, "%" PRIu64 " values are infinite in F16, whose largest is 65504", p->infinite);
    if (cli->verbose != 0 && p->to == pieces_nbytes(p->pieces) && !audit_scales(&audit, p->model, roles, &err))
        cli_note(cli, name, "the scales could not be counted: %s", err.text);
    else if (audit.nan + audit.infinite != 0)
        cli_note(cli, name, "%" PRIu64 " scales are NaN, %" PRIu64 " infinite: decoded as they are", audit.nan,
            audit.infinite);
}

/* What progress is shown of. */
struct shown {
    struct cli_progress bar;
    uint64_t from, to;
};

static void
show_progress(void *of, uint64_t at, const uint8_t *p, size_t n, uint64_t digest)
{
    struct shown *shown = of;
    (void)p, (void)digest;
    cli_progress_update(&shown->bar, at + n - shown->from, shown->to - shown->from);
}

/* Write the output, or the part of it that is wanted. */
static bool
write_output(const struct options *opt, struct pipeline *p, const struct roles *roles, struct err *err)
{
    struct shown shown = { .from = p->from, .to = p->to };
    struct checksum sum = { 0 };
    const struct hook hooks[] = { { .see = show_progress, .of = &shown }, checksum_hook(&sum) };
    bool ok = sink_open(&p->sink, &opt->output, err);
    cli_progress_start(&shown.bar, &opt->cli);
    p->hooks = hooks;
    p->nhooks = opt->cli.verbose != 0 ? 2 : 1;
    ok = ok && pipeline_run(p, err) && sink_commit(p->sink, err);
    cli_progress_stop(&shown.bar);
    sink_close(p->sink);
    if (ok)
        note_result(&opt->cli, p, roles, &sum);
    return ok;
}

/* struct contents: the bytes of a small tensor that says what a weight is. */
static bool
read_tensor(void *model, const struct tensor *t, void *buf, struct err *err)
{
    return model_read(model, t, buf, err);
}

static bool
remember(const struct options *opt, const struct kernels *kernels, struct err *err)
{
    struct model model = { 0 };
    const struct model_options how = { .limits = &opt->cli.limits, .config = opt->cli.config,
        .no_spool = opt->no_spool };
    const struct contents contents = { read_tensor, &model };
    struct roles *roles = NULL;
    struct choice choice = { 0 };
    struct pieces *pieces = NULL;

    bool ok = scheme_known(opt->cli.scheme, err)
        && cut_check(&opt->cut, opt->instead == INSTEAD_PARTS, err)
        && (opt->instead != INSTEAD_NOTHING || sink_check(&opt->output, err))
        && model_open(&model, opt->cli.operand, &how, err)
        && model_complete(&model, err)
        && roles_assign(&roles, model.catalog, opt->cli.scheme, &contents, err)
        && choice_make(&choice, model.catalog, roles, opt->to, err)
        && (pieces = pieces_new(err)) != NULL
        && writer_safetensors.lay_out(pieces, &choice, &opt->writer, err);
    if (ok) {
        struct pipeline p = { .model = &model, .pieces = pieces, .kernels = kernels, .jobs = opt->jobs };
        cli_remarks(&opt->cli, model.name, model.catalog);
        ok = cut_find(&opt->cut, pieces_nbytes(pieces), PIPELINE_BLOCK, &p.from, &p.to, err)
            && (opt->instead != INSTEAD_NOTHING ? print_instead(opt, &p, err) : write_output(opt, &p, roles, err));
    }
    if (!ok && err->kind != ERR_USAGE)
        err_in_file(err, model.name ? model.name : "");
    pieces_free(pieces);
    choice_clear(&choice);
    roles_free(roles);
    model_clear(&model);
    return ok;
}

int
main(int argc, char **argv)
{
    struct options opt;
    struct err err;
    cli_start("amn-remember");
    err_init(&err);
    options_parse(&opt, argc, argv);
    const struct kernels *kernels = kernels_pick(getenv("AMN_CPU"), &err);
    return kernels && remember(&opt, kernels, &err) ? 0 : cli_fail(&opt.cli, &err);
}
