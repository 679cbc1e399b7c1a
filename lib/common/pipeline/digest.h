/* digest: computes the digests of all tensors of a model, on all processors: one thread for each tensor. A pipe is hashed as
 * it passes, in order; it is spooled only if its tensors are read twice or out of order. */
#ifndef PIPELINE_DIGEST_H
#define PIPELINE_DIGEST_H

#include "model/model.h"
#include "plan/digests.h"

/* Computes the digests that d->which selects, and the model's own. Fails with ERR_UNSUPPORTED if a tensor has an unknown
 * type, or if a weight cannot be dequantized and d->which has DIGESTS_VALUES. */
bool digest_model(struct digests *d, struct model *model, const struct kernels *kernels, unsigned jobs, struct err *err);

#endif
