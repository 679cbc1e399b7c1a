/* leftover: tensors that no weight claimed although only a quantizer uses their names. */
#ifndef SCHEME_LEFTOVER_H
#define SCHEME_LEFTOVER_H

#include "scheme/claims.h"
#include "scheme/roles.h"

/* Such a tensor beside a weight of a float dtype remains from a conversion: it is kept, with a warning. Otherwise a part of
 * a quantized weight is missing: fails with ERR_MALFORMED. */
bool leftover_check(const struct roles *roles, struct claims *c, struct err *err);

#endif
