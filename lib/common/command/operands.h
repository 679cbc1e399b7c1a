/* operands: what the tools that only read have in common. Each operand is opened and reported on, one after the other. */
#ifndef COMMAND_OPERANDS_H
#define COMMAND_OPERANDS_H

#include "cli/cli.h"
#include "model/model.h"
#include "scheme/roles.h"

/* A model to report on; all borrowed. */
struct operand {
    const char *name;               /* what the user named; NULL: standard input */
    const struct model *model;
    const struct roles *roles;
    const char *heading;            /* over a text, where there are several: the model, as messages show it; else NULL */
    bool first;                     /* no other was reported on before */
};

/* What is done for one operand. It leaves nothing behind, so that the next one finds as much memory. */
typedef bool operands_report(void *own, const struct operand *operand, struct err *err);
typedef bool operands_job(void *own, const char *name, struct err *err);

/* Checks that "-" is given once at most; else ERR_USAGE. */
bool operands_stdin_once(const struct cli *cli, struct err *err);

/* Does the job for each operand, or for standard input (NULL) when there is none, and shows meanwhile what cli->bar has to
 * show. One that fails is told on stderr, and the others are still done unless standard output is what failed. At the end
 * standard output is closed, when anything was done. Returns CLI_OK, or the highest of the failures. A mistake in the
 * options is one before anything is done. */
enum cli_status operands_each(struct cli *cli, operands_job *job, void *own);

/* The same for a job that reports on models, which are opened for it. */
enum cli_status operands_models(struct cli *cli, operands_report *report, void *own);

#endif
