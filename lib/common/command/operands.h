/* operands: what the tools that only read share: each operand is opened and reported on in turn. */
#ifndef COMMAND_OPERANDS_H
#define COMMAND_OPERANDS_H

#include "adapter/describe.h"
#include "cli/cli.h"
#include "model/model.h"
#include "report/page.h"
#include "scheme/roles.h"

/* Returns how the options say that a model is to be read. */
struct roles_options operands_reading(const struct cli *cli);

/* Returns how small tensors that describe weights are read from a model, which is borrowed. */
struct contents operands_contents(struct model *model);

/* Starts the command of --fetch, which the caller frees; *fetch is NULL without one. */
bool operands_fetch(struct fetch **fetch, const struct cli *cli, struct err *err);

/* A model, and where its report goes. All members are borrowed. */
struct operand {
    const char *name;               /* as named by the user; NULL: standard input */
    struct model *model;
    const struct roles *roles;      /* NULL for an adapter */
    const struct adapter_facts *adapter;        /* what an adapter is, for operands_adapters(); NULL for a model */
    const char *heading;            /* model name for the heading of a text report if there are several operands, or NULL */
    bool first;                     /* no report precedes this one */
    struct page *page;              /* standard output, for the report */
};

/* Does the work for one operand and frees everything, so that the next operand has the same memory available. */
typedef bool operands_report(void *own, const struct operand *operand, struct err *err);
typedef bool operands_job(void *own, const char *name, struct err *err);

/* Checks that "-" is given at most once. Fails with ERR_USAGE. */
bool operands_stdin_once(const struct cli *cli, struct err *err);

/* Runs the job for each operand, or once for standard input (NULL) without operands, and shows the progress in cli->bar. A
 * failure is printed, and the other operands are still processed unless writing to standard output failed. Closes standard
 * output at the end if any job succeeded. Returns CLI_OK or the highest failure status. Invalid options fail before anything
 * is done. */
enum cli_status operands_each(struct cli *cli, operands_job *job, void *own);

/* Runs operands_each() with a job that reports on models, and opens them for it. */
enum cli_status operands_models(struct cli *cli, operands_report *report, void *own);

/* operands_models() for a report that describes adapters, too. */
enum cli_status operands_adapters(struct cli *cli, operands_report *report, void *own);

/* operands_models() for reports that read weights: no weight is vague, because small tensors that describe weights are read. */
enum cli_status operands_weights(struct cli *cli, operands_report *report, void *own);

#endif
