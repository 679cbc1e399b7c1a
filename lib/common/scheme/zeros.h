/* zeros: zero points that writers store although they are all zero. */
#ifndef SCHEME_ZEROS_H
#define SCHEME_ZEROS_H

#include "scheme/claims.h"

/* Checks that a zero point, of any type, is zero. t may be NULL. Fails with ERR_UNSUPPORTED, where `weight` is "an FP8
 * weight", or with ERR_LIMIT. Checks nothing in a report, which has no contents. */
bool zeros_check(const struct claims *c, const struct tensor *t, const char *weight, struct err *err);

#endif
