/* The last note about adapters: how much they change, and how much of that is in the output. */
#include <math.h>
#include <stdio.h>

#include "command/command_priv.h"
#include "plan/shifts.h"

/* Returns the changed weight that keeps the least of its change, or NULL. */
static const struct delta *
find_least(const struct delta *const *delta, size_t n, const struct shifts *shifts)
{
    const struct delta *least = NULL;
    double kept = INFINITY;
    for (size_t i = 0; i < n; i++) {
        const struct shift one = shifts_of(shifts, delta[i]);
        if (one.n != 0 && one.kept < kept) {
            kept = one.kept;
            least = delta[i];
        }
    }
    return least;
}

void
command_tell_shift(const struct job *job)
{
    const struct command *cmd = job->cmd;
    const struct pipeline *p = &job->p;
    size_t n;
    const struct delta *const *delta = adapters_deltas(job->adapters, &n);
    const char *file = job->model.name;
    char count[96], shown[STR_SHOWN], worst[STR_SHOWN + 64] = "";
    snprintf(count, sizeof count, "%zu weight%s changed by %zu adapter%s", n, str_plural(n), cmd->adapters.n,
        str_plural(cmd->adapters.n));
    const struct shift all = p->shifts ? shifts_of(p->shifts, NULL) : (struct shift){ .n = 0 };
    if (all.n == 0 || isnan(all.kept)) {
        cli_say(&cmd->cli, file, "%s%s", count, all.n != 0 ? ", by nothing" : "");
        return;
    }
    const struct delta *least = NULL;
    if (n > 1)
        least = find_least(delta, n, p->shifts);
    if (least)
        snprintf(worst, sizeof worst, "; least kept: %.1f %% of %s", 100 * shifts_of(p->shifts, least).kept,
            str_shown(shown, least->name, least->name_len));
    cli_say(&cmd->cli, file, "%s: the change is %.3g %% of the weights, and %.1f %% of it is kept%s%s", count, 100 * all.relative,
        100 * all.kept, worst, job->choice.encoded != 0 && !shifts_again(p->shifts) ? " (compared with the weights before quantization; "
        "--report compares quantized ones)" : "");
    if (all.kept < 0.5)
        cli_warn(&cmd->cli, file, "less than half of the adapters' change is kept in this output: merge into the 16-bit base, write "
            "BF16, and quantize that");
}
