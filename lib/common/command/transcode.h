/* transcode: --exact, and the codes that amn-convert moves to GGUF: options, messages, and the job of exact/ that does the work. */
#ifndef COMMAND_TRANSCODE_H
#define COMMAND_TRANSCODE_H

#include <stdio.h>

#include "command/command.h"

/* Finds the schemes of --scheme NAME,NAME..., or the schemes of GGUF, and checks or sets the output format. ERR_USAGE. */
bool transcode_settle(struct command *cmd, struct err *err);

/* Runs the job; cmd->cli.members then has the witness of a weight that was refused. */
bool transcode_run(struct command *cmd, const struct pipeline *p, struct choice *choice, struct err *err);

/* Says how many weights were moved, encoded and kept. */
void transcode_tell(const struct command *cmd, const struct pipeline *p);

/* Says which names do not hold a weight, and why. */
void transcode_explain(const struct command *cmd, const char *model);

/* Prints the choice as options, which repeat the job. */
bool transcode_print(FILE *out, const struct command *cmd, struct err *err);

#endif
