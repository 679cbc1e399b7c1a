/* leftover: tensors whose names only a quantizer writes and that no weight claimed. */
#ifndef SCHEME_LEFTOVER_H
#define SCHEME_LEFTOVER_H

#include "scheme/claims.h"
#include "scheme/roles.h"

/* Beside a weight of a float dtype such a tensor is left over from a conversion: it passes, with a warning.
 * Anything else means that a part is missing: ERR_MALFORMED. */
bool leftover_check(const struct roles *roles, struct claims *c, struct err *err);

#endif
