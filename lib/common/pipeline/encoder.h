/* encoder: runs of the parts that a weight becomes. For the files of this layer. */
#ifndef PIPELINE_ENCODER_H
#define PIPELINE_ENCODER_H

#include "pipeline/block.h"

/* Bytes [from, to) of an ENCODE piece; y needs no alignment. */
bool encoder_bytes(const struct pipeline *p, struct panels *panels, struct workspace *b, const struct piece *piece,
    uint64_t from, uint64_t to, uint8_t *y, struct err *err);

/* Returns the facts of a weight, or of all that it is fused with, from p->surveys: surveys_release() them. NULL on failure. */
const float *encoder_facts(const struct pipeline *p, struct panels *panels, struct workspace *b, const struct encoded *of,
    struct err *err);

#endif
