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
    const char *stem;           /* of the names of the files; static */
};

/* `most` bytes of data a file, where each tensor takes a multiple of `align`. Clear it also after a failure. */
bool shards_cut(struct shards *shards, const struct choice *choice, uint64_t most, uint64_t align, struct err *err);
void shards_clear(struct shards *shards);

/* Sets the stem from the path of an input file, after shards_cut(): a name that diffusers or PEFT insists on is kept, any other
 * becomes "model", which transformers reads. */
void shards_keep_stem(struct shards *shards, const char *path);

/* Prints "STEM-00001-of-00003.safetensors" for shard i, or "STEM.safetensors" if it is the only one; and the name of their index.
 * Both return buf. */
enum { SHARD_NAME = 64, SHARDS_MAX = 99999 };
const char *shard_name(char buf[SHARD_NAME], const struct shards *shards, size_t i);
const char *shard_index_name(char buf[SHARD_NAME], const struct shards *shards);

/* The same of a split model: "PATH-00001-of-00003.gguf" for a path that ends with .gguf, also of an only one. The caller
 * clears it. */
bool shard_split_name(struct str *name, const char *path, size_t i, size_t n, struct err *err);

#endif
