/* rotation: detects models whose weights are stored rotated (SpinQuant, QuaRot, QuIP and similar). Decoding these would give
 * weights in another basis; the inverse rotation is applied to activations or contained in other weights. */
#ifndef SCHEME_ROTATION_H
#define SCHEME_ROTATION_H

#include "scheme/claims.h"

/* Returns the evidence, a key of the configuration or the suffix of a tensor (static), or NULL if there is none. */
const char *rotation_evidence(const struct claims *c);

#endif
