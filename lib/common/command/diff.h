/* diff: amn-inspect --diff: compares the values of two models. */
#ifndef COMMAND_DIFF_H
#define COMMAND_DIFF_H

#include "cli/cli.h"
#include "plan/naming.h"

struct diff {
    const struct naming *naming;        /* renames the tensors of A; its patterns select tensors of both. Borrowed */
    const char *report;                 /* path of a report, HTML if it ends with .html, else JSON; or NULL. Borrowed */
    bool has_min;                       /* --min-sqnr */
    double min_sqnr;                    /* dB: tensors that reach it count as equal for the status */
    unsigned jobs;                      /* threads; 0: one for each processor */
};

/* Compares the two operands and prints the result. Returns CLI_FOUND if they differ, or a failure status. */
enum cli_status diff_run(struct cli *cli, const struct diff *diff);

#endif
