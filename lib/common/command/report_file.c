#include "command/report_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/outputs.h"
#include "report/exact_report.h"
#include "report/loss_page.h"
#include "report/loss_report.h"

bool
report_file_send(struct sink *sink, struct page *page, bool ok, struct err *err)
{
    const struct str *text = &page->text;
    ok = ok && (!text->failed || err_memory(err, text->room)) && sink_expect(sink, text->len, err)
        && sink_write(sink, str_or(text->p, ""), text->len, err);
    str_clear(&page->text);
    return ok;
}

/* Writes the page for people. */
static bool
fill_page(struct page *page, const struct report_file *r, struct err *err)
{
    const struct job *job = r->job;
    const struct command *cmd = job->cmd;
    char target[64], size[STR_SIZE];
    struct loss_about about = { .model = job->model.name, .tool = cmd->cli.tool, .version = CLI_VERSION,
        .scheme = job->ncandidates != 0 || !job->reduction.encoder ? NULL : job->reduction.encoder->name };
    if (cmd->target_size != 0)
        snprintf(target, sizeof target, "target: %s", str_size(size, cmd->target_size));
    else
        snprintf(target, sizeof target, "target: %g bits per weight", cmd->target_bpw);
    if (job->ncandidates != 0)
        about.target = target;
    else
        about.target = NULL;
    about.adapters = r->adapters;
    about.uniform = job->uniform;
    about.nuniform = job->nuniform;
    struct str line = { 0 };
    cli_add_command(&line, &cmd->cli);
    about.command = line.p;
    bool ok = !line.failed ? loss_page_html(page, &job->choice, job->p.losses, &about, err) : err_memory(err, line.room);
    str_clear(&line);
    return ok;
}

static void
fill_exact(struct page *page, const struct report_file *r, bool html)
{
    const struct exact_job *exact = &r->job->exact;
    const struct exact_report report = { .rows = exact->rows, .n = exact->nrows, .level = exact->level, .refused = exact->witness.len != 0,
        .model = r->job->model.name, .tool = r->job->cmd->cli.tool, .version = CLI_VERSION };
    (html ? exact_report_page : exact_report_json)(page, &report);
}

/* Writes the whole report to its sink. */
static bool
report_file_fill(const struct report_file *r, struct err *err)
{
    const struct job *job = r->job;
    const struct losses *losses = job->p.losses;
    const bool html = str_ends(job->cmd->report, ".html"), exact = job->is_exact;
    struct page page;
    page_init(&page, NULL);
    bool ok = exact || ((!losses || losses_check(losses, err)) && (!r->adapters || shifts_check(r->adapters->shifts, err)));
    if (exact)
        fill_exact(&page, r, html);
    else if (html)
        ok = ok && fill_page(&page, r, err);
    else if (ok)
        loss_report_json(&page, &job->choice, losses, r->adapters);
    return report_file_send(r->sink, &page, ok, err);
}

/* Writes the report if it is a regular file, just before the output gets its name. A failure is kept for
 * report_file_commit(). */
static void
write_early(void *of)
{
    struct report_file *r = of;
    if (sink_path(r->sink))
        r->written = report_file_fill(r, &r->err);
}

bool
report_file_open(struct report_file *r, struct err *err)
{
    struct outputs *outputs = &r->job->outputs;
    const struct sink_options options = { .path = r->job->cmd->report, .direct = SINK_DIRECT_NEVER };
    err_init(&r->err);
    if (!r->job->cmd->report)
        return true;
    if (!outputs_add(outputs, options.path, err))
        return false;
    outputs_sweep(outputs);
    outputs->made = write_early;
    outputs->of = r;
    return sink_open(&r->sink, &options, err);
}

bool
report_file_commit(struct report_file *r, struct err *err)
{
    bool test = r->job->cmd->instead == COMMAND_TEST;
    struct err *own = &r->err;
    if (!r->sink)
        return true;
    bool ok = own->kind == ERR_NONE && (r->written || report_file_fill(r, own)) && outputs_commit(&r->job->outputs, r->sink, own);
    if (ok)
        return true;
    err_at(err, ERR_IO, own->at, "%s%s", test ? "" : "the output is complete, but the report is not: ", own->text);
    err->sys = test ? own->sys : 0;     /* EPIPE would end the tool without a message, although the output is complete */
    return err_in_file(err, own->file);
}

void
report_file_refuse(struct job *job)
{
    const struct command *cmd = job->cmd;
    struct report_file report = { .job = job };
    char shown[STR_SHOWN];
    struct err err;
    err_init(&err);
    if (!cmd->report)
        return;
    if (!report_file_open(&report, &err) || !report_file_fill(&report, &err) || !outputs_commit(&job->outputs, report.sink, &err))
        cli_warn(&cmd->cli, job->model.name, "the report %s is not written: %s", str_shown(shown, cmd->report, strlen(cmd->report)),
            err.text);
    report_file_close(&report);
}

void
report_file_close(struct report_file *r)
{
    sink_close(r->sink);
}
