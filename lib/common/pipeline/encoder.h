/* encoder: encodes runs of the parts of a weight. Internal to this layer and exact/, except that a job that writes sets
 * it in struct pipeline. */
#ifndef PIPELINE_ENCODER_H
#define PIPELINE_ENCODER_H

#include "pipeline/block.h"

extern const struct pipeline_encoder encoder;

enum { ENCODER_IDLE = 2 };              /* weights without users whose facts are kept */

/* Returns the facts of a weight, or of all weights it is fused with, from a cache that keeps ENCODER_IDLE; NULL on failure.
 * cache_release() releases them. A thread must release facts before it takes more. */
const float *encoder_facts(const struct reading *how, const struct encoded *of, struct cache *facts, struct err *err);

/* An attempt to encode a weight exactly. */
struct encoder_trial {
    const struct pipeline *p;
    struct panels *panels;
    struct encoded of;                  /* elements, encoding, and the part with the codes */
    float *facts;
};

/* Surveys a region of the weight, or checks grains of its codes, whose bytes go to y. A weight that cannot be encoded is not an
 * error: *fail has the cause. */
bool encoder_survey(const struct encoder_trial *t, struct workspace *b, uint64_t region, float *facts, struct exact_fail *fail,
    enum exact_way *way, struct err *err);
bool encoder_check(const struct encoder_trial *t, struct workspace *b, uint64_t first, uint64_t count, uint8_t *y,
    struct exact_fail *fail, enum exact_way *way, struct err *err);

#endif
