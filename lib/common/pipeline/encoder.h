/* encoder: encodes runs of the parts of a weight. Internal to this layer. */
#ifndef PIPELINE_ENCODER_H
#define PIPELINE_ENCODER_H

#include "pipeline/block.h"

/* Generates bytes [from, to) of an ENCODE piece; y may be unaligned. */
bool encoder_bytes(const struct pipeline *p, struct panels *panels, struct workspace *b, const struct piece *piece,
    uint64_t from, uint64_t to, uint8_t *y, struct err *err);

/* Returns the facts of a weight, or of all weights it is fused with; NULL on failure. Release them with
 * surveys_release(p->surveys). */
const float *encoder_facts(const struct pipeline *p, struct panels *panels, struct workspace *b, const struct encoded *of,
    struct err *err);

#endif
