/* index: the shards of a model as listed in *.safetensors.index.json. */
#ifndef MODEL_INDEX_H
#define MODEL_INDEX_H

#include "base/limits.h"
#include "base/str.h"
#include "catalog/catalog.h"

enum {
    INDEX_FILE_MAX = 100000000,         /* bytes */
    INDEX_SHARDS_MAX = 10000            /* files of one model */
};

/* One entry of weight_map. Both texts are NUL-terminated and owned by the index. */
struct index_entry {
    const char *tensor, *shard;
    size_t tensor_len;
};

struct index {
    struct index_entry *entry;  /* sorted by tensor name; owned */
    size_t count;
    const char **shard;         /* distinct file names, sorted; owned array */
    size_t nshards;
    char *texts;                /* owned */
};

/* Parses an index. Every shard name must be a file name without a folder. Allocations are charged to the budget. Fails with
 * ERR_MALFORMED or ERR_LIMIT. */
bool index_read(struct index *index, const char *text, size_t n, struct budget *budget, struct err *err);
void index_clear(struct index *index);

/* Checks that index and shards list the same tensors, each in the same file; file i of the catalog must be shard i. Fails
 * with ERR_MALFORMED, which names a tensor. The catalog must be sealed. */
bool index_check(const struct index *index, struct catalog *catalog, struct err *err);

#endif
