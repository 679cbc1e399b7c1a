/* early: what has to be known of weights before an output is laid out. */
#ifndef PIPELINE_EARLY_H
#define PIPELINE_EARLY_H

#include "pipeline/pipeline.h"

/* Survey the weights of a choice whose encoder asks for it, with `jobs` workers (0: as many as pay), and tell the encoder.
 * A pipe is spooled first. */
bool early_facts(const struct pipeline *p, const struct choice *choice, struct err *err);

#endif
