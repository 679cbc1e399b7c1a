/* candidates: the files of a directory that are models by their names, and which of them is read. */
#ifndef MODEL_CANDIDATES_H
#define MODEL_CANDIDATES_H

#include "base/names.h"
#include "catalog/catalog.h"
#include "source/inputs.h"

/* Zeroed: none. Clear it also after a failure. */
struct candidates {
    struct names names;         /* in the order of their bytes */
    const char *chosen;         /* one of them */
    uint64_t shards;            /* 0, or chosen is the first of so many, all there and in no index */
};

/* Lists a directory and chooses: an index, then shards that are complete by their names, then another safetensors file, then
 * the rest. Does not check that the files can be opened. Fails with ERR_OPEN if there is no model, or if shards of the only
 * one are missing, and with ERR_USAGE if several have the same rank. Failures bear the directory's name. */
bool candidates_choose(struct candidates *c, const char *dir, struct err *err);
void candidates_clear(struct candidates *c);

/* Checks that names.name[i], of a list that candidates_choose made, could be read instead of the chosen model: not a shard of an
 * index or of the chosen model. */
bool candidates_other(const struct candidates *c, size_t i);

/* Whether a file of this name is a model, or a part of one, for who reads its directory. */
bool candidates_is_model(const char *name);

/* The model was opened, and these are its files: warn of what else the directory holds that could be read instead. */
bool candidates_warn(const struct candidates *c, const char *dir, const struct inputs *inputs, struct catalog *catalog,
    struct err *err);

#endif
