/* What encoding took, said at the end. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "job/job_priv.h"
#include "report/loss_report.h"

void
job_tell_cost(const struct job *job, const struct pipeline *p, const struct choice *choice)
{
    const struct loss l = losses_of(p->losses, NULL);
    char ratio[64];
    if (l.n == 0)
        return;
    if (isinf(l.sqnr))
        snprintf(ratio, sizeof ratio, "lossless");
    else
        snprintf(ratio, sizeof ratio, "largest %.3g, SQNR %.2f dB, cosine %.7f", l.most, l.sqnr, l.cosine);
    cli_say(&job->cli, p->model->name, "Lethe distance: %.3g mean absolute error (%s) of %" PRIu64 " elements in %zu weights",
        l.distance, ratio, l.n, choice->encoded);
}

bool
job_open_report(struct sink **sink, const struct job *job, const struct pipeline *p, struct err *err)
{
    const struct sink_options options = { .path = job->report, .direct = SINK_DIRECT_NEVER };
    uint64_t dev, ino;
    return sink_open(sink, &options, err)
        && (!sink_identity(*sink, &dev, &ino) || model_spares(p->model, dev, ino, err));
}

bool
job_write_report(struct sink *sink, const struct job *job, const struct pipeline *p, const struct choice *choice,
    struct err *err)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    if (!out)
        return err_memory(err, 0);
    bool ok = str_ends(job->report, ".html") ? loss_report_html(out, choice, p->losses, p->model->name, err)
        : loss_report_json(out, choice, p->losses, err);
    ok = (fclose(out) == 0 || err_memory(err, n)) && ok;
    ok = ok && sink_expect(sink, n, err) && sink_write(sink, text, n, err) && sink_commit(sink, err);
    free(text);
    return ok;
}
