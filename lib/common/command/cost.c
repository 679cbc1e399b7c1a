/* What encoding took, said at the end. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "command/command_priv.h"

void
command_tell_cost(const struct command *cmd, const struct pipeline *p, const struct choice *choice)
{
    const struct loss l = losses_of(p->losses, NULL);
    char ratio[64];
    if (l.n == 0)
        return;
    if (isinf(l.sqnr))
        snprintf(ratio, sizeof ratio, "lossless");
    else
        snprintf(ratio, sizeof ratio, "largest %.3g, SQNR %.2f dB, cosine %.7f", l.most, l.sqnr, l.cosine);
    cli_say(&cmd->cli, p->model->name, "Lethe distance: %.3g mean absolute error (%s) of %" PRIu64 " elements in %zu weights",
        l.distance, ratio, l.n, choice->encoded);
}
