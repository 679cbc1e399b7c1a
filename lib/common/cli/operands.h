/* operands: one job for each operand of a tool that takes any number of them. */
#ifndef CLI_OPERANDS_H
#define CLI_OPERANDS_H

#include "cli/cli.h"

/* What is done for one operand; NULL is standard input, when there is none at all. It leaves nothing behind, so that
 * the next one finds as much memory. */
typedef bool cli_job(void *own, const char *operand, struct err *err);

/* Whether "-" is given once at most; else ERR_USAGE. */
bool cli_stdin_once(const struct cli *cli, struct err *err);

/* Do the job for each operand. One that fails is told on stderr, and the others are still done unless standard output is
 * what failed. At the end standard output is closed, when anything was done. Returns the exit status: 0, or the highest
 * of the failures. "-" given twice is ERR_USAGE before anything is done. */
int cli_each(const struct cli *cli, cli_job *job, void *own);

#endif
