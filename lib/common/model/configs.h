/* configs: the files next to a model that describe it: its configs, and the index that lists a shard. */
#ifndef MODEL_CONFIGS_H
#define MODEL_CONFIGS_H

#include "base/str.h"
#include "catalog/catalog.h"
#include "source/inputs.h"

/* Adds every config in the folder dir[0..n), such as config.json, to the catalog. Adds the files that it reads to `inputs`. */
bool configs_read_configs(struct catalog *catalog, const char *dir, size_t n, struct inputs *inputs, struct err *err);

/* Adds a warning to the catalog if files of a folder cannot be read, such as dangling links in a pruned cache. For jobs that
 * need none of these files. Skips hidden files and weights. */
bool configs_warn(struct catalog *catalog, const char *dir, struct err *err);

/* Adds {"quantization": {MEMBERS}} to config.json unless that has such a block; makes one if the catalog has none. */
bool configs_add_quantization(struct catalog *catalog, const struct str *members, struct err *err);

/* Adds the one config at `path` to the catalog. */
bool configs_read_config(struct catalog *catalog, const char *path, bool pipe_ok, struct inputs *inputs, struct err *err);

/* Records in the catalog's facts if the safetensors file or checkpoint at `path` is a single shard: its name ends in
 * -0000I-of-0000N, compressed or not, or an index next to it lists it along with others. Ignores an index that cannot be
 * read. */
bool configs_note_shard(struct catalog *catalog, const char *path, struct inputs *inputs, struct err *err);

/* The parts of a shard's name, STEM-0000I-of-0000N. */
struct configs_part {
    size_t stem;                /* bytes of the name before the first '-' of that ending */
    uint64_t number, count;
    const char *suffix;         /* ".safetensors"; static */
};

/* Parses the name or path of a shard, with or without `suffix`. Returns false if it does not end in -0000I-of-0000N. */
bool configs_part(struct configs_part *part, const char *name, const char *suffix);

/* Parses the name of a safetensors or PyTorch shard, suffix included. Returns false for any other name. */
bool configs_shard(struct configs_part *part, const char *name);

/* Appends the name or path of shard i of the model that `name` belongs to, or of its index if i is 0. */
void configs_part_name(struct str *out, const char *name, const struct configs_part *part, uint64_t i);

#endif
