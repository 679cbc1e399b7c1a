/* fp8: float8 codes with F32, BF16, F16, E8M0 or U8 (E8M0 code) scales, or without scales. */
#ifndef SCHEME_FP8_H
#define SCHEME_FP8_H

#include "scheme/claims.h"
#include "scheme/roles.h"

/* fp8_is returns true if a weight is decoded as FP8, whatever the name of its scheme; fp8_is_scaled, if it also has a scale. */
bool fp8_is(const struct weight *w);
bool fp8_is_scaled(const struct weight *w);

/* Returns true for a scale of fused experts that are all stored one by one, and none quantized. transformers writes such scales,
 * never set, if it leaves experts unquantized because blocks do not divide their rows or columns. */
bool fp8_fused_is_unused(const struct claims *c, const struct tensor *scale);

/* Does the checks that need all weights: fp8_check_unscaled, the markers of diffusion models, and warnings about blocks and
 * folded scales. */
bool fp8_finish(const struct roles *roles, struct claims *c, struct err *err);

/* Checks the weights without a scale. Such a weight is a plain cast, unless its scale was lost: config.json declares one, or
 * a weight whose name differs only in numbers has one. Then fails with ERR_MALFORMED, or for a single shard with
 * ERR_UNSUPPORTED. */
bool fp8_check_unscaled(const struct roles *roles, struct claims *c, struct err *err);

#endif
