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

/* What index_apply() has found: no shard has the tensor, only others have it, or the listed one has it. */
enum index_found { INDEX_NOWHERE, INDEX_ELSEWHERE, INDEX_LISTED };

/* One entry of weight_map. Both texts are NUL-terminated and owned by the index. */
struct index_entry {
    const char *tensor, *shard;
    size_t tensor_len;
    enum index_found found;
    uint32_t elsewhere;         /* the last other shard that has it */
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

/* Applies the index to the tensors of its shards; file i of the catalog must be shard i. A tensor that the index lists in one
 * shard counts there only: copies in other shards leave the catalog, with a note. A tensor that the index does not list stays,
 * with a warning, or fails if `strict` is set. Fails with ERR_MALFORMED if a shard lacks a listed tensor; failures name the
 * tensor. Call it before catalog_seal(). */
bool index_apply(struct index *index, struct catalog *catalog, bool strict, struct err *err);

#endif
