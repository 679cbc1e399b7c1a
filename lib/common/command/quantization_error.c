#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "command/command_priv.h"

/* Writes a number of elements as "1.23 M", or with all digits below a million. */
static const char *
short_count(char text[32], uint64_t n)
{
    if (n < 1000000)
        snprintf(text, 32, "%" PRIu64, n);
    else if (n < 1000000000)
        snprintf(text, 32, "%.2f M", (double)n / 1e6);
    else
        snprintf(text, 32, "%.2f B", (double)n / 1e9);
    return text;
}

void
command_tell_error(const struct command *cmd, const struct pipeline *p, const struct choice *choice)
{
    const struct loss l = losses_of(p->losses, NULL);
    char error[96] = "lossless", count[32];
    if (l.n == 0)
        return;
    if (!isinf(l.sqnr))
        snprintf(error, sizeof error, "SQNR %.2f dB, mean error %.3g, max %.3g, cosine %.4f", l.sqnr, l.distance, l.most, l.cosine);
    cli_say(&cmd->cli, p->model->name, "quantized %zu weight%s (%s elements) as %s: %s", choice->encoded,
        choice->encoded == 1 ? "" : "s", short_count(count, l.n),
        cmd->ncandidates != 0 ? "a mix of schemes" : cmd->reduction.encoder->name, error);
}
