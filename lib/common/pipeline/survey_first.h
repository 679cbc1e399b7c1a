/* survey_first: what has to be known of weights before an output is laid out. */
#ifndef PIPELINE_SURVEY_FIRST_H
#define PIPELINE_SURVEY_FIRST_H

#include "pipeline/pipeline.h"

/* Survey the weights of a choice whose encoder asks for it, with `jobs` workers (0: as many as pay), and tell the encoder.
 * A pipe is spooled first. */
bool survey_first(const struct pipeline *p, const struct choice *choice, struct err *err);

#endif
