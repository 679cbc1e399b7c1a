/* siblings: every tensor beside a weight that is decoded is accounted for. */
#ifndef SCHEME_SIBLINGS_H
#define SCHEME_SIBLINGS_H

#include "scheme/claims.h"

/* Examines the tensors that no weight claimed but that are beside one: P.x for P.weight; X.x and X_x for any other weight X.
 *
 *     biases, state of batch norms and mixers, factors of LoRA     not parts of the weight: kept
 *     tensors of a submodule with its own weight                   kept
 *     companions of activations and caches (table_idle)            assigned to the weight, and so dropped
 *     P.weight_offset, if all zero                                 assigned to the weight, and so dropped
 *     what --allow-unclaimed names                                 kept
 *     all others                                                   a doubt: the weight is not decoded (roles_decodable)
 *
 * Such a tensor may hold half of the weight, whatever its name: an offset, a second scale, a rotation. In GGUF, a weight is
 * complete in its blocks, and what is beside it belongs to the architecture. Fails with ERR_USAGE if a glob of
 * --allow-unclaimed matches nothing. */
bool siblings_check(struct claims *c, struct err *err);

/* Returns true if a tensor is beside a weight that was recognised, other than a float8 weight without a scale. */
bool siblings_is_beside(const struct claims *c, const struct tensor *t);

#endif
