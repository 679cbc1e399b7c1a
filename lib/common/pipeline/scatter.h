/* scatter: generates an output whose bytes can be written in any order, so that the elements of a weight that is encoded are read once
 * for all its parts. */
#ifndef PIPELINE_SCATTER_H
#define PIPELINE_SCATTER_H

#include "pipeline/panel.h"

/* Finds out whether the output of a job can be written in any order, and whether that saves reading: *scatter is NULL if not. */
struct scatter;
bool scatter_new(struct scatter **scatter, struct pipeline *p, struct panels *panels, struct err *err);
void scatter_free(struct scatter *scatter);             /* accepts NULL */

/* Generates and writes all bytes, with up to `jobs` threads. Adds to what the pipeline counts. */
bool scatter_run(struct scatter *scatter, unsigned jobs, struct err *err);

#endif
