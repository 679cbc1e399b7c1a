/* shards: a choice of tensors cut into the files of a model directory, as save_pretrained() cuts it: in order, a file is
 * closed by the tensor that would make its data longer than allowed, and a tensor that is longer has a file of its own.
 * Source: huggingface_hub, serialization/_base.py, split_state_dict_into_shards_factory. */
#ifndef PLAN_SHARDS_H
#define PLAN_SHARDS_H

#include "plan/choice.h"

/* Tensors [first, first + n) of the choice; nbytes of data, without a header. */
struct shard {
    size_t first, n;
    uint64_t nbytes;
};

/* Zeroed: none. */
struct shards {
    struct shard *list;         /* n of them, at least one; owned */
    size_t n;
    uint64_t nbytes;            /* of all data */
    const char *stem;           /* of the names of the files, set by who names them; static */
};

enum { SHARDS_MAX = 99999 };

/* `most` bytes of data a file, where each tensor takes a multiple of `align`. Clear it also after a failure. */
bool shards_cut(struct shards *shards, const struct choice *choice, uint64_t most, uint64_t align, struct err *err);
void shards_clear(struct shards *shards);

#endif
