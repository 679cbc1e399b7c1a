/* merge: several operands opened as one model: the files of all of them, and one catalog over these. */
#ifndef MODEL_MERGE_H
#define MODEL_MERGE_H

#include "model/model.h"

/* Open all operands, each of them as model_open() does; one or none is what model_open() makes of it. Formats may differ.
 *
 * Two tensors of one name are ERR_MALFORMED, which names both files. Of metadata the keys of all are there; where
 * values differ the first one counts, and the catalog warns. Configs that differ count as the first one when none of
 * them speaks of quantization, else that is ERR_UNSUPPORTED, which asks for options->config. What only goes forward is
 * spooled at once. A part of a split model that an operand before it has opened already is passed over, so that a glob
 * may name them all. Clear the model also after a failure. */
bool merge_open(struct model *m, char *const *operands, size_t n, const struct model_options *options,
    struct err *err);

#endif
