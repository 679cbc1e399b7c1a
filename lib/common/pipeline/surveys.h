/* surveys: what is known of the weights at hand that are encoded: floats that only all of a weight tells. A weight is
 * surveyed when its facts are asked for first, by all workers that ask meanwhile, a region each; facts go when nobody has
 * them and others were asked for. */
#ifndef PIPELINE_SURVEYS_H
#define PIPELINE_SURVEYS_H

#include "encode/encode.h"

struct surveys;

/* An encoding is recognised by its address: each one given to surveys_take() must live until surveys_free(), as all of a
 * catalog do. NULL on failure. */
struct surveys *surveys_new(struct err *err);
void surveys_free(struct surveys *s);                   /* takes NULL */

/* Surveys a region of a weight, by the thread that asks: struct encoder's survey(), with what it is lent. */
struct surveyor {
    bool (*look)(void *of, const struct encoding *e, uint64_t region, float *facts, struct err *err);
    void *of;
};

/* The facts of a weight that has some; NULL on failure. Good until surveys_release(); who holds some takes no others. */
const float *surveys_take(struct surveys *s, const struct encoding *e, const struct surveyor *by, struct err *err);
void surveys_release(struct surveys *s, const float *facts);

#endif
