/* budget: the mix of encoders that fits a size and loses the least, by what each of them is measured to take from each weight. */
#ifndef JOB_BUDGET_H
#define JOB_BUDGET_H

#include "job/job.h"

/* Measure all candidates on all weights, and allot: *assigned, of choice->n, is the caller's to free. A pipe is spooled first.
 * ERR_USAGE when not even the smallest fit. `p`: as for an output, without pieces and sink. */
bool budget_assign(const struct encoder ***assigned, const struct job *job, struct pipeline *p, const struct choice *choice,
    struct catalog *memory, struct err *err);

/* Print what was assigned, as options that ask for the same. */
bool budget_print(const struct choice *choice, const struct encoder *const *assigned, struct err *err);

#endif
