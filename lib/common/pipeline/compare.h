/* compare: compares the values of two models, block by block, on all processors. Each input is read once. */
#ifndef PIPELINE_COMPARE_H
#define PIPELINE_COMPARE_H

#include "model/model.h"
#include "plan/differences.h"

/* Compares all pairs of d, and sets their figures and statuses. The results do not depend on the number of threads. A pipe is
 * spooled. `jobs`: threads; 0: one for each processor. */
bool compare_models(struct differences *d, struct model *a, struct model *b, const struct kernels *kernels, unsigned jobs,
    struct err *err);

#endif
