/* shard_index: the names of the files of weights in a model directory, and STEM.safetensors.index.json, which maps tensors to
 * them. */
#ifndef HF_SHARD_INDEX_H
#define HF_SHARD_INDEX_H

#include "plan/shards.h"

/* Returns the stem that files keep, from the path of an input file; static. diffusers and PEFT insist on a name, any other
 * becomes "model", which transformers reads. */
const char *hf_shard_stem(const char *path);

/* Prints "STEM-00001-of-00003.safetensors" for shard i, or "STEM.safetensors" if it is the only one; and the name of their
 * index. Both return buf. */
enum { HF_SHARD_NAME = 64 };
const char *hf_shard_name(char buf[HF_SHARD_NAME], const struct shards *shards, size_t i);
const char *hf_shard_index_name(char buf[HF_SHARD_NAME], const struct shards *shards);

/* Appends the text of the index: keys sorted, two spaces a level, as transformers writes it. */
bool hf_shard_index_text(struct str *out, const struct choice *choice, const struct shards *shards, struct err *err);

#endif
