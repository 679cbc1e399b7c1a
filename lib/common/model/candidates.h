/* candidates: the files of a directory that are named like models, and the choice between them. */
#ifndef MODEL_CANDIDATES_H
#define MODEL_CANDIDATES_H

#include "base/names.h"
#include "catalog/catalog.h"
#include "source/inputs.h"

/* Empty when zero-initialized. Clear it after a failure, too. */
struct candidates {
    struct names names;         /* in byte order */
    const char *chosen;         /* points into names */
    bool bundled;               /* the directory is a bundle */
    bool deepspeed, tensorflow, coreml; /* the same for checkpoints of these programs */
    uint64_t shards;            /* if chosen is the first of a complete set of shards without an index: their number; else 0 */
};

/* Lists a directory. Fails with ERR_OPEN. */
bool candidates_list(struct candidates *c, const char *dir, const struct inputs *inputs, struct err *err);

/* Returns true if a name in the listed directory shows a complete model, beside which a checkpoint of a training job does not count. */
bool candidates_has_whole(const struct candidates *c);

/* Chooses the model of a listed directory: an index first, then shards whose set is complete, then a single safetensors
 * file, then other formats. Does not check that the files can be opened. Fails with ERR_OPEN if there is no model or if the
 * only one lacks shards, and with ERR_USAGE if several have the same rank. The failure names the directory. */
bool candidates_choose(struct candidates *c, const char *dir, const struct inputs *inputs, struct err *err);
void candidates_clear(struct candidates *c);

/* Returns true if names.name[i], after candidates_choose(), is a separate model rather than the chosen one, one of its
 * shards or a shard of an index. */
bool candidates_other(const struct candidates *c, size_t i);

/* Returns the i-th full name, such as "model.safetensors", that a model has in a directory that cannot be listed, in the order of
 * the choice; NULL after the last. */
const char *candidates_usual(size_t i);

/* Fails with ERR_UNSUPPORTED if the file is one of several model-parallel parts, consolidated.00.pth and so on: each has a slice of every
 * matrix, so that one alone is a wrong model. */
bool candidates_check_parallel(const char *path, struct err *err);

/* Returns true if a file of this name in a directory is a model or a shard. */
bool candidates_is_model(const char *name);

/* Warns of other models in the directory. `inputs` are the files of the model that was opened. */
bool candidates_warn(const struct candidates *c, const char *dir, const struct inputs *inputs, struct catalog *catalog,
    struct err *err);

#endif
