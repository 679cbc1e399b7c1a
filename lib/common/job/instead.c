#include "job/job_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/progress.h"
#include "report/outline.h"

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

bool
job_print(const struct job *job, const struct pipeline *p, struct err *err)
{
    bool ok = model_spares_stdout(p->model, err);
    cli_progress_no_bar(job->cli.bar);
    meter_phase(p->model->meter, "writing", 0);
    if (job->instead == JOB_PLAN)
        ok = ok && print_plan(p, err);
    else if (job->instead == JOB_SIZE)
        ok = ok && print_number(p->to - p->from);
    else
        ok = ok && print_number(cut_parts(&job->cut, pieces_nbytes(p->pieces)));
    return ok && cli_finish_stdout(err);
}
