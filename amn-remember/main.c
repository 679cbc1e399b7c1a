/* amn-remember: a quantized model in, the same model in BF16, F16 or F32 safetensors out. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/progress.h"
#include "container/model.h"
#include "options.h"
#include "pipeline/audit.h"
#include "pipeline/pipeline.h"
#include "sink/safetensors.h"

static void
show_progress(void *of, uint64_t done, uint64_t total)
{
    cli_progress_update(of, done, total);
}

/* Print the length of what would be written. */
static bool
print_size(uint64_t n, struct err *err)
{
    printf("%" PRIu64 "\n", n);
    return cli_finish_stdout(err);
}

static void
print_remarks(const struct cli *cli, const struct model *m)
{
    for (size_t i = 0; i < catalog_remark_count(m->catalog); i++) {
        const struct catalog_remark *r = catalog_remark_at(m->catalog, i);
        (r->warning ? cli_warn : cli_note)(cli, m->name, "%s", r->text);
    }
}

/* Say what the output does not show: a spool, values beyond F16, odd scales (these only when asked). The output is
 * complete, so nothing here is a failure. */
static void
note_result(const struct cli *cli, const struct pipeline *p, const struct roles *roles)
{
    const char *name = p->model->name;
    struct audit audit = { 0 };
    struct err err;
    err_init(&err);
    if (p->model->spooled != 0)
        cli_note(cli, name, "%" PRIu64 " bytes went to a temporary file: the input cannot be read once, forward",
            p->model->spooled);
    if (p->infinite != 0)
        cli_warn(cli, name, "%" PRIu64 " values are infinite in F16, whose largest is 65504", p->infinite);
    if (cli->verbose != 0 && p->to == pipeline_size(p) && !audit_scales(&audit, p->model, roles, &err))
        cli_note(cli, name, "the scales could not be counted: %s", err.text);
    else if (audit.nan + audit.infinite != 0)
        cli_note(cli, name, "%" PRIu64 " scales are NaN, %" PRIu64 " infinite: decoded as they are", audit.nan,
            audit.infinite);
}

/* Write the output, or the range of it that is wanted. */
static bool
write_output(const struct options *opt, struct pipeline *p, const struct roles *roles, struct err *err)
{
    struct cli_progress bar;
    bool ok = sink_open(&p->sink, &opt->output, err);
    cli_progress_start(&bar, &opt->cli);
    p->progress = show_progress;
    p->progress_of = &bar;
    ok = ok && pipeline_run(p, err) && sink_commit(p->sink, err);
    cli_progress_stop(&bar);
    sink_close(p->sink);
    if (ok)
        note_result(&opt->cli, p, roles);
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
    struct plan *plan = NULL;
    struct str header = { 0 };

    bool ok = scheme_known(opt->cli.scheme, err)
        && (opt->size || sink_check(&opt->output, err))
        && model_open(&model, opt->cli.operand, &how, err)
        && model_complete(&model, err)
        && roles_assign(&roles, model.catalog, opt->cli.scheme, &contents, err)
        && plan_make(&plan, model.catalog, roles, &opt->plan, err)
        && safetensors_header(&header, plan_output(plan), err);
    if (ok) {
        struct pipeline p = { .model = &model, .plan = plan, .kernels = kernels, .header = header.p,
            .header_len = header.len, .jobs = opt->jobs };
        print_remarks(&opt->cli, &model);
        ok = options_range(opt, pipeline_size(&p), &p.from, &p.to, err)
            && (opt->size ? model_spares_stdout(&model, err) && print_size(p.to - p.from, err)
                : write_output(opt, &p, roles, err));
    }
    if (!ok && err->kind != ERR_USAGE)
        err_in_file(err, model.name ? model.name : "");
    str_clear(&header);
    plan_free(plan);
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
