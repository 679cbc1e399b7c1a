/* index: the shards of a model, as *.safetensors.index.json names them. */
#ifndef MODEL_INDEX_H
#define MODEL_INDEX_H

#include "base/limits.h"
#include "base/str.h"
#include "catalog/catalog.h"

enum {
    INDEX_FILE_MAX = 100000000,         /* bytes */
    INDEX_SHARDS_MAX = 10000            /* files of one model */
};

/* One line of weight_map; both texts are owned by the index, NUL-terminated. */
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

/* Read the text of an index. Every shard name is a plain file name. What it takes is asked of the
 * budget. ERR_MALFORMED, ERR_LIMIT. */
bool index_read(struct index *index, const char *text, size_t n, struct budget *budget, struct err *err);
void index_clear(struct index *index);

/* Checks that the index and the shards list the same tensors, each in the same file (file i of the catalog is shard i). Fails
 * with ERR_MALFORMED, naming a tensor. The catalog is sealed. */
bool index_check(const struct index *index, struct catalog *catalog, struct err *err);

#endif
