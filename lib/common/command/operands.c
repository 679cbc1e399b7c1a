#include "command/operands.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/progress.h"
#include "source/fetch.h"

bool
operands_stdin_once(const struct cli *cli, struct err *err)
{
    size_t n = 0;
    for (size_t i = 0; i < cli->noperands; i++)
        n += strcmp(cli->operands[i], "-") == 0;
    return n < 2 || err_set(err, ERR_USAGE, "'-' given %zu times, but standard input can be read only "
        "once; use file names", n);
}

static void
operands_fail(enum cli_status *worst, const struct cli *cli, const struct err *err)
{
    enum cli_status status = cli_fail(cli, err);
    if (status > *worst)
        *worst = status;
}

static enum cli_status
each(const struct cli *cli, operands_job *job, void *own)
{
    struct err err;
    enum cli_status worst = CLI_OK;
    size_t done = 0;
    for (size_t i = 0; i == 0 || i < cli->noperands; i++) {
        err_init(&err);
        if (job(own, cli->noperands ? cli->operands[i] : NULL, &err))
            done++;
        else
            operands_fail(&worst, cli, &err);
        if (ferror(stdout))
            return worst;
    }
    err_init(&err);
    if (done != 0 && !cli_finish_stdout(&err))      /* a failure to write is reported even if all jobs succeeded */
        operands_fail(&worst, cli, &err);
    return worst;
}

static struct model_options
options_of(const struct cli *cli)
{
    return (struct model_options){ .limits = &cli->limits, .config = cli->config, .root = cli->root, .state = cli->state, .allowed = cli->allow_global,
        .nallowed = cli->nallow_global, .strict = cli->strict,
        .warns = true, .meter = &cli->bar->meter };
}

enum cli_status
operands_each(struct cli *cli, operands_job *job, void *own)
{
    struct cli_progress progress;
    struct err err;
    err_init(&err);
    cli_progress_start(&progress, cli, false);
    const struct model_options how = options_of(cli);
    bool ok = scheme_known(cli->input_scheme, &err) && (cli->fetch || model_list_check_overwrite(cli->operands, cli->noperands, &how, &err))
        && operands_stdin_once(cli, &err);
    enum cli_status status;
    if (ok)
        status = each(cli, job, own);
    else
        status = cli_fail(cli, &err);
    cli_progress_stop(&progress);
    return status;
}

struct roles_options
operands_reading(const struct cli *cli)
{
    static_assert((int)CLI_GLOBS == ROLES_ALLOWED, "globs of --allow-unclaimed");
    return (struct roles_options){ .scheme = cli->input_scheme, .allowed = cli->allow_unclaimed, .nallowed = cli->nallow_unclaimed };
}

/* Implements struct contents. */
static bool
operands_read_tensor(void *model, const struct tensor *t, void *buf, struct err *err)
{
    return model_read(model, t, buf, err);
}

struct contents
operands_contents(struct model *model)
{
    return (struct contents){ operands_read_tensor, model };
}

bool
operands_fetch(struct fetch **fetch, const struct cli *cli, struct err *err)
{
    *fetch = NULL;
    return !cli->fetch || (*fetch = fetch_new(cli->fetch, cli->fetch_window, err)) != NULL;
}

struct reporting {
    const struct cli *cli;
    operands_report *report;
    void *own;
    bool begun, reads, adapters;
};

/* Describes an operand that is an adapter; leaves *facts alone otherwise. */
static bool
operands_describe(struct adapter_facts **facts, const char *file, struct model *model, const struct cli *cli, struct err *err)
{
    bool is;
    const struct kernels *k;
    if (!adapter_recognize(&is, model->catalog, file, err))
        return false;
    if (!is)
        return true;
    return (k = kernels_values(getenv("AMN_CPU"), err)) != NULL
        && (*facts = adapter_describe(file, model, k, &cli->limits, err)) != NULL;
}

static bool
report_on(void *of, const char *name, struct err *err)
{
    struct reporting *r = of;
    const struct cli *cli = r->cli;
    struct fetch *fetch;
    bool ok = operands_fetch(&fetch, cli, err);
    struct model_options how = options_of(cli);
    struct model model = { 0 };
    const struct contents contents = operands_contents(&model);
    struct roles *roles = NULL;
    const struct roles_options reading = operands_reading(cli);
    how.fetch = fetch;
    bool adapters = r->adapters && !cli->fetch && !cli->input_scheme;
    char *file = NULL;
    struct adapter_facts *facts = NULL;
    ok = ok && (!adapters || adapter_in_directory(&file, name, err));
    const char *path = name;
    if (file)
        path = file;
    ok = ok && model_open(&model, path, &how, err)
        && model_check_overwrite(&model, err)
        && (!r->reads || model_complete(&model, err))
        && (!adapters || operands_describe(&facts, path, &model, cli, err))
        && (facts || roles_assign(&roles, model.catalog, &reading, r->reads ? &contents : NULL, err));
    if (ok) {
        struct page page;
        const struct operand operand = { .name = name, .model = &model, .roles = roles, .adapter = facts,
            .heading = cli->noperands > 1 ? model.name : NULL, .first = !r->begun, .page = &page };
        meter_phase(model.meter, "writing", 0);
        page_init(&page, stdout);
        ok = r->report(r->own, &operand, err);
        ok = page_finish(&page, err) && ok;
        r->begun = r->begun || ok;
    }
    if (!ok && (err->kind != ERR_USAGE || cli->noperands > 1))
        err_in_file(err, str_or(model.name, ""));
    roles_free(roles);
    adapter_facts_free(facts);
    free(file);
    model_clear(&model);
    fetch_free(fetch);
    return ok;
}

enum cli_status
operands_models(struct cli *cli, operands_report *report, void *own)
{
    struct reporting reporting = { .cli = cli, .report = report, .own = own };
    return operands_each(cli, report_on, &reporting);
}

enum cli_status
operands_adapters(struct cli *cli, operands_report *report, void *own)
{
    struct reporting reporting = { .cli = cli, .report = report, .own = own, .adapters = true };
    return operands_each(cli, report_on, &reporting);
}

enum cli_status
operands_weights(struct cli *cli, operands_report *report, void *own)
{
    struct reporting reporting = { .cli = cli, .report = report, .own = own, .reads = true };
    return operands_each(cli, report_on, &reporting);
}
