/* shard_index: STEM.safetensors.index.json, which maps the tensors of a model directory to files. */
#ifndef WRITER_SHARD_INDEX_H
#define WRITER_SHARD_INDEX_H

#include "plan/shards.h"

/* Append its text: keys sorted, two spaces a level, as transformers writes it. */
bool shard_index_text(struct str *out, const struct choice *choice, const struct shards *shards, struct err *err);

#endif
