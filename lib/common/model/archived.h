/* archived: a model that is inside an archive of files, such as a ZIP or tar archive of a model directory. */
#ifndef MODEL_ARCHIVED_H
#define MODEL_ARCHIVED_H

#include "base/limits.h"
#include "source/bundle.h"
#include "source/source.h"

/* Lists the files of an archive in an empty bundle, and sets *found, if one of them is named like a model; otherwise the bundle stays
 * empty, as after a failure. Fails with ERR_MEMORY, and, if such a file was listed, as archive_bundle() does. */
bool archived_find(bool *found, struct bundle *b, struct source *src, const char *path, struct budget *budget, struct err *err);

/* Fails with ERR_UNSUPPORTED if a folder of the bundle has one of several ranks of a tensor-parallel model, whose tensors are slices. */
bool archived_check_folder(const struct bundle *b, const char *folder, struct err *err);

#endif
