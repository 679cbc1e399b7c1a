#include "command/diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/progress.h"
#include "command/operands.h"
#include "command/report_file.h"
#include "family/hf_model.h"
#include "output/outputs.h"
#include "pipeline/compare.h"
#include "report/diff_report.h"
#include "source/fetch.h"

/* One of the two models. */
struct diff_side {
    struct model model;
    struct fetch *fetch;                /* or NULL */
    struct roles *roles;
    struct hf_model hf;                 /* the family of a model directory beside a GGUF file */
};

struct diff_job {
    struct cli *cli;
    const struct diff *diff;
    struct diff_side side[2];
    struct differences differences;
    struct sink *sink;                  /* of the report, or NULL */
    struct outputs outputs;
};

static bool
open_side(struct diff_job *job, struct diff_side *side, const char *operand, struct err *err)
{
    const struct cli *cli = job->cli;
    bool ok = operands_fetch(&side->fetch, cli, err);
    const struct model_options how = { .fetch = side->fetch, .limits = &cli->limits, .config = cli->config, .root = cli->root, .state = cli->state, .allowed = cli->allow_global,
        .nallowed = cli->nallow_global,
        .strict = cli->strict, .meter = &cli->bar->meter };
    const struct contents contents = operands_contents(&side->model);
    const struct roles_options reading = operands_reading(cli);
    ok = ok && model_open(&side->model, operand, &how, err) && model_check_overwrite(&side->model, err)
        && model_complete(&side->model, err)
        && roles_assign(&side->roles, side->model.catalog, &reading, &contents, err);
    if (ok)
        cli_remarks(cli, side->model.name, side->model.catalog, 0);
    return ok || err_in_file(err, str_or(side->model.name, ""));
}

static void
close_side(struct diff_side *side)
{
    hf_model_clear(&side->hf);
    roles_free(side->roles);
    model_clear(&side->model);
    fetch_free(side->fetch);
}

/* Opens the report before models are compared. It must not be a file of either. */
static bool
open_report(struct diff_job *job, struct err *err)
{
    const struct sink_options options = { .path = job->diff->report, .direct = SINK_DIRECT_NEVER };
    if (!options.path)
        return true;
    for (unsigned i = 0; i < 2; i++) {
        job->outputs.inputs = &job->side[i].model.inputs;
        bool ok = outputs_add(&job->outputs, options.path, err);
        if (i == 0)
            outputs_clear(&job->outputs);
        if (!ok)
            return false;
    }
    outputs_sweep(&job->outputs);
    return sink_open(&job->sink, &options, err);
}

static bool
write_report(struct diff_job *job, const struct diff_report *r, struct err *err)
{
    struct page page;
    bool ok = true;
    if (!job->sink)
        return true;
    page_init(&page, NULL);
    if (str_ends(job->diff->report, ".html"))
        ok = diff_report_html(&page, r, err);
    else
        diff_report_json(&page, r);
    return report_file_send(job->sink, &page, ok, err) && outputs_commit(&job->outputs, job->sink, err);
}

static bool
is_gguf(const struct model *m)
{
    const char *format = catalog_facts_of(m->catalog)->format;
    return format && strcmp(format, "GGUF") == 0;
}

/* Tells how to compare models without a common name. Renaming is not enough for a GGUF file, in which rows are in another order. */
static void
warn_names(struct cli *cli, const struct model *a, const struct model *b)
{
    const struct model *gguf = is_gguf(a) ? a : b, *other = gguf == a ? b : a;
    if (is_gguf(gguf) && !is_gguf(other) && catalog_config_count(other->catalog) != 0)
        cli_warn(cli, NULL, "no tensor has the same name in both models, and a GGUF file has some rows in another order; to compare, "
            "convert one of them: amn convert --to gguf --dtype f32 -o - %s | amn diff %s -", other->name, gguf->name);
    else
        cli_warn(cli, NULL, "no tensor has the same name in both models; --rename 's/RE/TEXT/' changes the names in %s", a->name);
}

/* --- a model directory beside a GGUF file */

/* Gives the tensors of a model directory the names and the order that they have in GGUF. */
static bool
translate(void *of, struct choice *choice, struct err *err)
{
    struct diff_side *side = of;
    return hf_model_choose(&side->hf, &side->model, choice, DTYPE_F32, true, err);
}

/* Reads the family of a model directory, if its class is known and the other model is GGUF. */
static bool
open_family(struct diff_job *job, struct diff_side *side, const struct diff_side *other, struct err *err)
{
    const struct hf_model_options how = { .no_tokenizer = true, .dequantize = true, .allow_missing = true };
    struct err why;
    err_init(&why);
    if (!is_gguf(&other->model) || is_gguf(&side->model) || catalog_config_count(side->model.catalog) == 0)
        return true;
    if (hf_model_open(&side->hf, &side->model, &how, &why))
        return true;
    hf_model_clear(&side->hf);
    side->hf = (struct hf_model){ 0 };
    if (why.kind == ERR_MEMORY) {
        *err = why;
        return false;
    }
    cli_warn(job->cli, side->model.name, "names are not those of GGUF: %s", why.text);
    return true;
}

static bool
pair_sides(struct diff_job *job, struct err *err)
{
    struct difference_side sides[2];
    for (unsigned i = 0; i < 2; i++) {
        struct diff_side *side = &job->side[i];
        if (!open_family(job, side, &job->side[1 - i], err))
            return false;
        sides[i] = (struct difference_side){ .catalog = side->model.catalog, .roles = side->roles, .of = side };
        if (side->hf.family) {
            sides[i].translate = translate;
            cli_note(job->cli, side->model.name, "compared with the names and rows that it has in GGUF");
        }
    }
    return differences_pair(&job->differences, &sides[0], &sides[1], job->diff->naming, err);
}

static bool
run(struct diff_job *job, struct err *err)
{
    struct cli *cli = job->cli;
    struct differences *d = &job->differences;
    struct str line = { 0 };
    cli_add_command(&line, cli);
    const struct diff_report report = { .d = d, .command = line.p ? line.p : "", .a = cli->operands[0], .b = cli->operands[1], .tool = cli->tool,
        .version = CLI_VERSION, .all = cli->verbose != 0 };
    const struct kernels *kernels = kernels_pick(getenv("AMN_CPU"), err);
    struct model *a = &job->side[0].model, *b = &job->side[1].model;
    bool ok = kernels && open_side(job, &job->side[0], cli->operands[0], err) && open_side(job, &job->side[1], cli->operands[1], err)
        && pair_sides(job, err)
        && open_report(job, err) && compare_models(d, a, b, kernels, job->diff->jobs, err);
    cli_progress_no_bar(cli->bar);
    struct page page;
    page_init(&page, stdout);
    if (ok)
        (cli_human(cli) ? diff_report_text : diff_report_json)(&page, &report);
    ok = page_finish(&page, err);
    if (ok && d->common == 0 && d->n != 0)
        warn_names(cli, a, b);
    ok = ok && write_report(job, &report, err);
    str_clear(&line);
    return ok;
}

static bool
diff_check(const struct cli *cli, struct err *err)
{
    if (cli->noperands != 2)
        return err_set(err, ERR_USAGE, "expected two models: amn diff FILE FILE");
    return operands_stdin_once(cli, err) && scheme_known(cli->input_scheme, err);
}

/* Returns true if all tensors are in both models and are equal, or reach the SQNR that the user asked for. */
static bool
is_close(const struct differences *d, const struct diff *diff)
{
    size_t n = d->count[DIFFERENCE_EQUAL] + d->count[DIFFERENCE_VALUES];
    for (size_t i = 0; diff->has_min && i < d->n; i++)
        n += d->list[i].status == DIFFERENCE_SOME && d->list[i].kind != DIFFERENCE_BYTES
            && difference_loss(d, i).sqnr >= diff->min_sqnr;
    return n == d->n;
}

static void
diff_free(struct diff_job *job)
{
    if (!job)
        return;
    sink_close(job->sink);
    outputs_clear(&job->outputs);
    differences_clear(&job->differences);
    close_side(&job->side[0]);
    close_side(&job->side[1]);
    free(job);
}

enum cli_status
diff_run(struct cli *cli, const struct diff *diff)
{
    struct cli_progress progress;
    struct err err;
    err_init(&err);
    struct diff_job *job = calloc(1, sizeof *job);
    if (!job) {
        err_memory(&err, sizeof *job);
        return cli_fail(cli, &err);
    }
    job->cli = cli;
    job->diff = diff;
    cli_progress_start(&progress, cli, true);
    bool ok = diff_check(cli, &err) && run(job, &err) && cli_finish_stdout(&err);
    cli_progress_stop(&progress);
    bool equal = is_close(&job->differences, diff);
    diff_free(job);
    if (!ok)
        return cli_fail(cli, &err);
    if (equal)
        return CLI_OK;
    return CLI_FOUND;
}
