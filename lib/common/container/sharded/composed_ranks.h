/* composed_ranks: tensors that every rank of tensor parallelism has a part of, put together by a rule that their name gives. */
#ifndef CONTAINER_SHARDED_COMPOSED_RANKS_H
#define CONTAINER_SHARDED_COMPOSED_RANKS_H

#include "container/sharded/sharded_priv.h"

enum rank_rule {
    RANK_UNKNOWN,
    RANK_DROPPED,
    RANK_SAME,                  /* every rank has all of it; that of rank 0 counts */
    RANK_ROWS,                  /* one after the other */
    RANK_COLUMNS,               /* side by side */
    RANK_GATED                  /* the first halves of the rows of all ranks, then their second halves */
};

/* The parts of one tensor. */
struct rank_parts {
    const char *name, *shown;   /* of the output; in messages, escaped */
    size_t name_len;
    enum rank_rule rule;        /* RANK_SAME to RANK_GATED */
    const struct torch_tensor *part;    /* n; borrowed */
    const uint32_t *file;       /* of each */
    size_t n;
    uint64_t head;              /* rows of a head, which are stored as pairs of rotated rows, two neighbours each, and are written as first
                                 * halves, then second halves; 0: rows stay in order */
};

/* Adds the tensor. Sets *rows and *columns to its size unless they are NULL; a vector has one column. Fails with ERR_MALFORMED if types or
 * shapes of the parts do not fit. */
bool rank_parts_add(struct sharded *s, const struct rank_parts *p, uint64_t *rows, uint64_t *columns, struct err *err);

#endif
