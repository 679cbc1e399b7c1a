/* rotation: whether the weights of a model are stored rotated (SpinQuant, QuaRot, QuIP and their like), where decoding
 * gives weights of another basis. What undoes a rotation is in the activations, or in other weights. */
#ifndef SCHEME_ROTATION_H
#define SCHEME_ROTATION_H

#include "scheme/claims.h"

/* What says so: a key of the configuration, or the suffix of a tensor, which live for ever; NULL when nothing does. */
const char *rotation_told(const struct claims *c);

#endif
