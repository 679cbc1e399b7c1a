/* block: any range of output bytes, made from the input. For the files of this layer and its tests. */
#ifndef PIPELINE_BLOCK_H
#define PIPELINE_BLOCK_H

#include "kernel/nonfinite.h"
#include "pipeline/panel.h"
#include "pipeline/pipeline.h"

/* Buffers of one worker. */
struct workspace {
    uint8_t *out;               /* room for one block, page aligned; owned */
    uint8_t *in;                /* BLOCK_WINDOW bytes behind it */
    uint8_t *spare;             /* BLOCK_SPARE bytes behind that, for elements that would lie across words */
    void *room;                 /* room_size bytes that decode() is lent, once something is decoded; owned */
    size_t room_size;
    float *floats;              /* ENCODE_FLOATS, once something is encoded, as many that were, ENCODE_ROOM bytes; owned */
    struct grain {              /* the last grain that a block had only some of */
        const struct encoding *encoding;
        unsigned part;
        uint64_t number;
        uint8_t *p;             /* room for `room` bytes; owned */
        size_t room;
    } grain;
    uint8_t *tile;              /* COMPOSED_TILE bytes, once something is composed; owned */
    struct nonfinite values;    /* that a rounding to fewer bits made infinite, or that were */
};

/* The window holds the codes of a block of BF16 whole: at most 292 bytes for 256 elements, and scales. It is also what
 * panels are read through. */
enum { BLOCK_WINDOW = 320 << 10, BLOCK_SPARE = 64 << 10 };

bool workspace_init(struct workspace *b, size_t block, struct err *err);        /* bytes of a block */
void workspace_clear(struct workspace *b);

/* Elements [first, first + n) of a piece of elements as floats. What is no number is ERR_MALFORMED. */
bool block_floats(const struct pipeline *p, struct panels *panels, struct workspace *b, const struct piece *elements,
    uint64_t first, size_t n, float *x, struct err *err);

/* Make output bytes [from, to), no more than a block, in b->out; those of LATE pieces are left as they are. */
bool block_make(const struct pipeline *p, struct panels *panels, struct workspace *b, uint64_t from, uint64_t to,
    struct err *err);

#endif
