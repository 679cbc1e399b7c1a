/* unclaimed: the last row of the table. What looks like the codes of a scheme nobody here knows. */
#ifndef SCHEME_UNCLAIMED_H
#define SCHEME_UNCLAIMED_H

#include "scheme/claims.h"
#include "scheme/roles.h"

/* Raw codes never pass because a scheme is new: an integer tensor of rank 2 or more, or of bytes, that no row claimed
 * becomes a weight of a scheme without a decoder when it is
 *
 *   - named as a weight, or with a tensor under its own name, beside floats that are named as scales, zeros, absmax,
 *     codebooks or tables;
 *   - named P.weight, where config.json names a method and does not leave P out.
 *
 * With nothing of the kind it is data, and passes. An FP8 weight without a scale, beside a scale whose name is not
 * known, is no plain cast: ERR_UNSUPPORTED. */
bool unclaimed_claim(const struct roles *roles, struct claims *c, struct err *err);

#endif
