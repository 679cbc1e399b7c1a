/* transcode: --exact, and the codes that amn-convert moves to GGUF: options, messages, and the job of exact/ that does the work. */
#ifndef COMMAND_TRANSCODE_H
#define COMMAND_TRANSCODE_H

#include <stdio.h>

#include "command/command_priv.h"

/* Finds the schemes of --scheme NAME,NAME..., or the schemes of GGUF, and checks or sets the output format. ERR_USAGE. */
bool transcode_settle(struct job *job, struct err *err);

/* Runs job->exact, which then has the witness of a weight that was refused. */
bool transcode_run(struct job *job, struct err *err);

/* Says how many weights were moved, encoded and kept. */
void transcode_tell(const struct job *job);

/* Says which names do not hold a weight, and why. */
void transcode_explain(const struct job *job);

/* Prints the choice as options, which repeat the job. */
bool transcode_print(FILE *out, const struct job *job, struct err *err);

#endif
