/* block: any range of output bytes, made from the input. For the files of this layer and its tests. */
#ifndef PIPELINE_BLOCK_H
#define PIPELINE_BLOCK_H

#include "kernel/nonfinite.h"
#include "pipeline/panel.h"
#include "pipeline/pipeline.h"

/* Buffers of one worker. */
struct bench {
    uint8_t *out;               /* room for one block, page aligned; owned */
    uint8_t *in;                /* BLOCK_WINDOW bytes behind it */
    uint8_t *spare;             /* BLOCK_SPARE bytes behind that, for elements that would lie across words */
    struct nonfinite values;    /* of F16, decoded so far: infinite is what F16 made so, or what was */
};

/* The window holds the codes of a block of BF16 whole: at most 292 bytes for 256 elements, and scales. It is also what
 * panels are read through. */
enum { BLOCK_WINDOW = 320 << 10, BLOCK_SPARE = 64 << 10 };

bool bench_init(struct bench *b, size_t block, struct err *err);        /* bytes of a block */
void bench_clear(struct bench *b);

/* Make output bytes [from, to), no more than a block, in b->out; those of LATE pieces are left as they are. */
bool block_make(const struct pipeline *p, struct panels *panels, struct bench *b, uint64_t from, uint64_t to,
    struct err *err);

#endif
