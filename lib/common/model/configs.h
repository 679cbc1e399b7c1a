/* configs: the files next to a model that describe it: its configs, and the index of a shard. */
#ifndef MODEL_CONFIGS_H
#define MODEL_CONFIGS_H

#include "base/str.h"
#include "catalog/catalog.h"
#include "source/inputs.h"

/* Keep the configs of the folder dir[0..n) with the catalog: each of config.json and its like that is there. What is
 * read is added to `inputs`. */
bool configs_read_configs(struct catalog *catalog, const char *dir, size_t n, struct inputs *inputs, struct err *err);

/* Adds a warning to the catalog when files of a folder cannot be read, such as links to nothing in a pruned cache: for a job
 * that needs none of them. Hidden ones and weights do not count. */
bool configs_warn(struct catalog *catalog, const char *dir, struct err *err);

/* Keep the one config at `path` with the catalog. */
bool configs_read_config(struct catalog *catalog, const char *path, struct inputs *inputs, struct err *err);

/* Note with the catalog's facts when the safetensors file or checkpoint at `path` is a shard alone: its name ends in -0000I-of-0000N,
 * whatever compression, or an index beside it lists it among others. An index that cannot be read lists nothing. */
bool configs_note_shard(struct catalog *catalog, const char *path, struct inputs *inputs, struct err *err);

/* What a name says of a file that is one of several: ...-0000I-of-0000N. */
struct configs_part {
    size_t stem;                /* bytes of the name in front of that */
    uint64_t number, count;
    const char *suffix;         /* ".safetensors"; static */
};

/* Whether the name of a file, or its path, ends so, `suffix` behind it or not. */
bool configs_part(struct configs_part *part, const char *name, const char *suffix);

/* Reads the name of a shard of safetensors or of a PyTorch checkpoint, which ends in the suffix: false for any other name. */
bool configs_shard(struct configs_part *part, const char *name);

/* Appends the name, or path, of part i of the same model as `name`; i = 0: of the index. */
void configs_part_name(struct str *out, const char *name, const struct configs_part *part, uint64_t i);

#endif
