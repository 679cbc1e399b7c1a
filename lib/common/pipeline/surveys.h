/* surveys: facts about weights that are being quantized: floats that depend on all values of a weight. A weight is surveyed
 * on the first request for its facts, one region at a time, by all workers that request them meanwhile. Facts are freed when
 * they have no users and facts of another weight were requested. */
#ifndef PIPELINE_SURVEYS_H
#define PIPELINE_SURVEYS_H

#include "encode/encode.h"

struct surveys;

/* Creates an empty set, or returns NULL on failure. Encodings are identified by address, so each one passed to
 * surveys_take() must live until surveys_free(), as an encoding in a catalog does. */
struct surveys *surveys_new(struct err *err);
void surveys_free(struct surveys *s);                   /* accepts NULL */

/* Surveys one region of a weight in the calling thread: calls survey() of struct encoder with its arguments. */
struct surveyor {
    bool (*survey)(void *of, const struct encoding *e, uint64_t region, float *facts, struct err *err);
    void *of;
};

/* Returns the facts of a weight, or NULL on failure. Valid until surveys_release(); a thread must release facts before it
 * takes more. */
const float *surveys_take(struct surveys *s, const struct encoding *e, const struct surveyor *by, struct err *err);
void surveys_release(struct surveys *s, const float *facts);

#endif
