/* hash: the options of the tools that compute digests, and the digests of one operand. */
#ifndef COMMAND_HASH_H
#define COMMAND_HASH_H

#include "cli/options.h"
#include "command/operands.h"
#include "plan/digests.h"

struct hash {
    bool wanted;                /* --hash */
    bool stored;                /* --stored: no digests of values */
    unsigned jobs;              /* --jobs: threads; 0: one for each processor */
    enum dtype to;              /* --to: values are rounded to it, if it is BF16 or F16 */
};

/* Handles --hash, --stored and --jobs. */
bool hash_take(struct hash *hash, const struct cli_option *option, const char *arg, struct err *err);

/* Computes the digests of an operand of operands_weights(), of values rounded to `to`; clear them even after a failure. */
bool hash_operand(struct digests *d, const struct operand *operand, unsigned which, enum dtype to, unsigned jobs, struct err *err);

#endif
