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

/* Appends how many weights of the mix each candidate encodes: "a mix of q4_k (12), q6_k (1)". */
static void
add_mix(struct str *s, const struct job *job)
{
    const char *before = "a mix of ";
    for (size_t k = 0; k < job->ncandidates; k++) {
        size_t n = 0;
        for (size_t i = 0; i < job->choice.n; i++) {
            const struct encoding *e = chosen_weight(&job->choice.list[i]);
            n += e && e->encoder == job->candidates[k];
        }
        if (n != 0)
            str_format(s, "%s%s (%zu)", before, job->candidates[k]->name, n);
        before = n != 0 ? ", " : before;
    }
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
    struct str mix = { 0 };
    add_mix(&mix, job);
    const char *scheme = job->ncandidates == 0 ? job->reduction.encoder->name : str_or(mix.p, "a mix of schemes");
    cli_say(&cmd->cli, job->model.name, "quantized %zu weight%s (%s elements) as %s: %s", job->choice.encoded,
        str_plural(job->choice.encoded), str_or(count.p, "?"), scheme, command_error_text(error, &l));
    str_clear(&count);
    str_clear(&mix);
}
