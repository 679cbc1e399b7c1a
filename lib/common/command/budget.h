/* budget: the mix of encoders with the least error that fits a size, from errors measured on every weight. */
#ifndef COMMAND_BUDGET_H
#define COMMAND_BUDGET_H

#include <stdio.h>

#include "command/command_priv.h"

/* Measures all candidates on all weights of the choice and assigns one to each. *assigned has choice->n elements; the caller
 * frees it. The pipeline of the job is as for an output, without pieces and sink. A pipe is spooled first. Fails with ERR_USAGE if even the smallest mix does
 * not fit. */
bool budget_assign(const struct encoder ***assigned, struct job *job, struct err *err);

/* Prints the assignment as options that reproduce it, one per line. Fails with ERR_IO if writing is already known to have
 * failed. */
bool budget_print(FILE *out, const struct job *job, const struct choice *choice, struct err *err);

/* Prints an expression that matches this name only, for use in single quotes as shells and xargs read them. */
void budget_print_expression(FILE *out, const char *name, size_t n);

#endif
