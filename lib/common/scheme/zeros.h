/* zeros: zero points that writers store although they are all zero. */
#ifndef SCHEME_ZEROS_H
#define SCHEME_ZEROS_H

#include "scheme/claims.h"

/* Sets *zero to whether all values of a tensor, of any type, are zero; true in a report, which has no contents. Fails with
 * ERR_LIMIT above 16 MiB. */
bool zeros_test(const struct claims *c, const struct tensor *t, bool *zero, struct err *err);

/* Checks that a zero point is zero. t may be NULL. Fails with ERR_UNSUPPORTED, where `weight` is "an FP8 weight", or as
 * zeros_test() does. */
bool zeros_check(const struct claims *c, const struct tensor *t, const char *weight, struct err *err);

#endif
