/* shards: distributes a choice of tensors over the files of a model directory, as save_pretrained() does: in order; a file
 * ends before the tensor that would make its data too long, and a tensor that exceeds the limit alone gets its own file.
 * Source: huggingface_hub, serialization/_base.py, split_state_dict_into_shards_factory. */
#ifndef PLAN_SHARDS_H
#define PLAN_SHARDS_H

#include "plan/choice.h"

/* Tensors [first, first + n) of the choice; nbytes of data, without a header. */
struct shard {
    size_t first, n;
    uint64_t nbytes;
};

/* Zeroed: empty. */
struct shards {
    struct shard *list;         /* n shards, at least one; owned */
    size_t n;
    uint64_t nbytes;            /* total data size */
    const char *stem;           /* prefix of the file names, set by the caller; static */
};

enum { SHARDS_MAX = 99999 };

/* Distributes tensors over files of at most `most` data bytes; each tensor occupies a multiple of `align`. Clear it also
 * after a failure. */
bool shards_cut(struct shards *shards, const struct choice *choice, uint64_t most, uint64_t align, struct err *err);
void shards_clear(struct shards *shards);

#endif
