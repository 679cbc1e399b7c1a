/* gathered: tensors whose pieces are found file by file, kept until all files were read. Names are those of the files. */
#ifndef CONTAINER_SHARDED_GATHERED_H
#define CONTAINER_SHARDED_GATHERED_H

#include "container/sharded/sharded_priv.h"

struct gathered_tensor {
    const char *name;           /* lives as long as the catalog */
    uint32_t name_len, rank;
    enum dtype dtype;
    uint32_t seen;              /* the number of the file that had it last, from 1 */
    bool whole;                 /* a file holds all of it, and the other files hold the same */
    uint64_t *shape;            /* likewise; may be changed before gathered_finish() */
};

/* Empty when zero-initialized. Clear it after a failure, too. */
struct gathered {
    struct gathered_tensor *tensor;     /* n, in the order in which they were added; owned */
    size_t n, room;
    struct table table;
    struct gathered_piece *piece;       /* private; owned */
    size_t npieces, room_pieces;
    uint64_t *box;
    size_t nbox, room_box;
};

/* Adds a tensor, or finds the one with this name and sets *again; *t is valid until the next call. */
bool gathered_add(struct gathered *g, struct sharded *s, const struct gathered_tensor *facts, struct gathered_tensor **t, bool *again,
    struct err *err);

/* Adds a piece of a tensor. The file is the number that sharded_open() gave. Copies the layout. */
bool gathered_piece(struct gathered *g, struct sharded *s, const struct gathered_tensor *t, const struct mosaic_tile *tile,
    struct err *err);

/* Hands all tensors to the mosaic. */
bool gathered_finish(struct gathered *g, struct sharded *s, struct err *err);

void gathered_clear(struct gathered *g);

#endif
