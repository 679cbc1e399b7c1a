/* checkpoint: a directory of a training job as the model that it holds. The formats are in container/sharded. */
#ifndef MODEL_CHECKPOINT_H
#define MODEL_CHECKPOINT_H

#include "catalog/catalog.h"
#include "source/inputs.h"

/* Returns true if a directory holds the checkpoint of a training job; also if it cannot be read. */
bool checkpoint_is(const char *dir);

/* Finds the directory with config.json and its like: the one that was given, or huggingface/ in it. The caller frees it; NULL with
 * ERR_MEMORY. */
char *checkpoint_folder(struct inputs *inputs, const char *dir, struct err *err);

/* Fails with ERR_UNSUPPORTED if all tensors of a model are empty, as a trainer writes them that keeps the weights in the checkpoint
 * beside it. */
bool checkpoint_check_empty(const struct catalog *catalog, const char *dir, struct inputs *inputs, struct err *err);

#endif
