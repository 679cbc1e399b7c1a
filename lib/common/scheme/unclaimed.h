/* unclaimed: the last row of the table. Finds what looks like the codes of an unknown scheme. */
#ifndef SCHEME_UNCLAIMED_H
#define SCHEME_UNCLAIMED_H

#include "scheme/claims.h"
#include "scheme/roles.h"

/* Raw codes must never be passed through because their scheme is new. An integer tensor of rank 2 or more, or a tensor of
 * bytes, that no row claimed becomes a weight of a scheme without a decoder if it is
 *
 *     - named as a weight, or has a tensor under its own name, beside floats named as scales, zeros, absmax, codebooks or
 *       tables; or
 *     - named P.weight, where config.json names a method and does not exclude P; or
 *     - named as the weight of a linear layer, where config.json names no method: q_proj.weight, in_proj_weight, gate_up_proj.
 *
 * Otherwise it is data (position_ids, mask.weight) and is passed through, with a warning if a word for weights is in its name.
 */
bool unclaimed_claim(const struct roles *roles, struct claims *c, struct err *err);

#endif
