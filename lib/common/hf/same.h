/* same: compares the bytes of two tensors. */
#ifndef HF_SAME_H
#define HF_SAME_H

#include "model/model.h"

/* Sets *same if dtype, shape and all bytes of two tensors are equal. Spools a file that is not seekable, and fails with
 * ERR_LIMIT if that is not allowed. */
bool hf_same_bytes(bool *same, struct model *model, const struct tensor *a, const struct tensor *b, struct err *err);

#endif
