/* fp8: float8 codes with F32, BF16, F16, E8M0 or U8 (E8M0 code) scales, and without any. */
#ifndef SCHEME_FP8_H
#define SCHEME_FP8_H

#include "scheme/claims.h"
#include "scheme/roles.h"

/* Whether a weight is decoded as FP8, whatever its scheme is called; and whether it has a scale. */
bool fp8_is(const struct weight *w);
bool fp8_is_scaled(const struct weight *w);

/* What can only be said when all weights are known: fp8_check_unscaled, the markers of diffusion models, and warnings
 * about blocks and folded scales. */
bool fp8_finish(const struct roles *roles, struct claims *c, struct err *err);

/* A weight without a scale is a plain cast, unless its scale was lost: config.json says that there should be
 * one, or a weight whose name differs in numbers only has one. Then ERR_MALFORMED; of a shard alone ERR_UNSUPPORTED. */
bool fp8_check_unscaled(const struct roles *roles, struct claims *c, struct err *err);

#endif
