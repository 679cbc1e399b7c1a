/* survey_first: surveys weights before the output is laid out. */
#ifndef PIPELINE_SURVEY_FIRST_H
#define PIPELINE_SURVEY_FIRST_H

#include "pipeline/pipeline.h"

/* Surveys each weight of a choice whose encoder needs facts for the layout, with p->jobs workers, and calls the encoder's
 * survey_first(). Spools a pipe first. */
bool survey_first(const struct pipeline *p, const struct choice *choice, struct err *err);

#endif
