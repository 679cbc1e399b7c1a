/* budget: the mix of encoders that fits a size and loses the least, by what each of them is measured to take from each weight. */
#ifndef COMMAND_BUDGET_H
#define COMMAND_BUDGET_H

#include <stdio.h>

#include "command/command.h"

/* Measure all candidates on all weights, and allot: *assigned, of choice->n, is the caller's to free. A pipe is spooled first.
 * ERR_USAGE when not even the smallest fit. `p`: as for an output, without pieces and sink. */
bool budget_assign(const struct encoder ***assigned, struct command *cmd, struct pipeline *p, const struct choice *choice,
    struct catalog *memory, struct err *err);

/* What was assigned, as options that ask for the same, one a line. ERR_IO where that can be told before `out` is closed. */
bool budget_print(FILE *out, const struct command *cmd, const struct choice *choice, struct err *err);

#endif
