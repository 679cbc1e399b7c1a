/* model: what the user named, opened: its files, and one catalog over all of them.
 * A file, a pipe, a directory or an index of sharded safetensors. */
#ifndef CONTAINER_MODEL_H
#define CONTAINER_MODEL_H

#include "container/container.h"

struct model {
    struct source **src;        /* nsrc files; owned */
    uint32_t nsrc;
    struct catalog *catalog;    /* sealed; owned; borrows from the heads of src */
    const struct container *container;
};

/* Open an operand: a path, "-" or NULL for standard input. Clear the model also after a failure. */
bool model_open(struct model *m, const char *operand, const struct limits *limits, struct err *err);
void model_clear(struct model *m);

/* Whether all tensors are there; one part of a split model alone is ERR_UNSUPPORTED for a conversion. */
bool model_complete(const struct model *m, struct err *err);

/* Where header and data of file i end: the input must reach so far, and no further unless tail_ok. */
uint64_t model_data_end(const struct model *m, uint32_t file);

#endif
