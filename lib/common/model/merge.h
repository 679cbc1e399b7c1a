/* merge: several operands opened as one model: the files of all of them, and one catalog. */
#ifndef MODEL_MERGE_H
#define MODEL_MERGE_H

#include "model/model.h"

/* Opens all operands, each like model_open(); with fewer than two it is model_open(). Formats may differ.
 *
 * - Two tensors with the same name are ERR_MALFORMED; the message names both files.
 * - Metadata keys are united. If values differ, the first one is kept and the catalog gets a warning.
 * - If configs differ, the first one is kept, unless one of them mentions quantization: that is ERR_UNSUPPORTED and asks
 *   for options->config.
 * - Inputs that are not seekable are spooled at once.
 * - A part of a split model that is already open is skipped, so that a glob may list all parts.
 *
 * Clear the model after a failure, too.
 */
bool merge_open(struct model *m, char *const *operands, size_t n, const struct model_options *options,
    struct err *err);

#endif
