#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "command/command_priv.h"
#include "report/summary.h"

const char *
command_error_text(char text[COMMAND_ERROR_TEXT], const struct loss *l)
{
    if (isinf(l->sqnr))
        return "lossless";
    snprintf(text, COMMAND_ERROR_TEXT, "SQNR %.2f dB, mean error %.3g, max %.3g, cosine %.4f", l->sqnr, l->distance, l->most, l->cosine);
    return text;
}

void
command_tell_error(const struct job *job)
{
    const struct command *cmd = job->cmd;
    const struct loss l = losses_all(job->p.losses);
    char error[COMMAND_ERROR_TEXT];
    struct str count = { 0 };
    if (l.n == 0)
        return;
    summary_add_count(&count, l.n);
    const char *scheme = "a mix of schemes";
    if (job->ncandidates == 0)
        scheme = job->reduction.encoder->name;
    cli_say(&cmd->cli, job->model.name, "quantized %zu weight%s (%s elements) as %s: %s", job->choice.encoded,
        str_plural(job->choice.encoded), str_or(count.p, "?"), scheme, command_error_text(error, &l));
    str_clear(&count);
}
