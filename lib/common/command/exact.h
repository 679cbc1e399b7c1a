/* exact: --exact, and the codes that amn-convert moves to GGUF: finds the scheme of each weight that holds it without changing a
 * value. */
#ifndef COMMAND_EXACT_H
#define COMMAND_EXACT_H

#include <stdio.h>

#include "command/command.h"
#include "pipeline/pipeline.h"
#include "report/page.h"

/* Finds the schemes of --scheme NAME,NAME..., or the schemes of GGUF, and checks or sets the output format. ERR_USAGE. */
bool exact_settle(struct command *cmd, struct err *err);

/* Surveys all weights, sets the encoding of each, and expands the choice. Fails with ERR_INEXACT, or ERR_MALFORMED for NaN and
 * infinity, if one is not held; cmd->cli.members then has the witness. */
bool exact_reduce(struct command *cmd, struct pipeline *p, struct choice *choice, struct err *err);

/* Says how many weights were moved, encoded and kept. */
void exact_tell(const struct command *cmd, const struct pipeline *p);

/* Writes a line of JSON for each weight. */
void exact_report(struct page *page, const struct command *cmd);

/* Writes an HTML page. `model` is its name in messages. */
void exact_page(struct page *page, const struct command *cmd, const char *model);

/* Returns "moved", "with the source's scales" ...: how a weight was encoded; static. */
const char *exact_way_phrase(const struct exact_row *row);

/* Says which names do not hold a weight, and why. */
void exact_explain(const struct command *cmd, const char *model);

/* Prints the choice as options, which repeat the job. */
bool exact_print(FILE *out, const struct command *cmd, struct err *err);

void exact_clear(struct command *cmd);

#endif
