/* same: whether two tensors of a model hold the same values. */
#ifndef HF_SAME_H
#define HF_SAME_H

#include "model/model.h"

/* Compares type, shape and all bytes of two tensors. A file that is not seekable is spooled first, ERR_LIMIT if that is not
 * allowed. */
bool hf_same_bytes(bool *same, struct model *model, const struct tensor *a, const struct tensor *b, struct err *err);

#endif
