/* shard_index: names of the weight files of a model directory, and STEM.safetensors.index.json, which maps tensors to them. */
#ifndef HF_SHARD_INDEX_H
#define HF_SHARD_INDEX_H

#include "plan/shards.h"

/* Returns the stem of the output files, given the path of an input file; static. Keeps the names that diffusers and PEFT
 * require; any other becomes "model", which transformers reads. */
const char *hf_shard_stem(const char *path);

/* Print "STEM-00001-of-00003.safetensors" for shard i, or "STEM.safetensors" if it is the only one; and the name of the
 * index. Both return buf. */
enum { HF_SHARD_NAME = 64 };
const char *hf_shard_name(char buf[HF_SHARD_NAME], const struct shards *shards, size_t i);
const char *hf_shard_index_name(char buf[HF_SHARD_NAME], const struct shards *shards);

/* Appends the text of the index as transformers writes it: sorted keys, indented by two spaces. */
bool hf_shard_index_text(struct str *out, const struct choice *choice, const struct shards *shards, struct err *err);

#endif
