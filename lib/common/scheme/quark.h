/* quark: what the configuration of a Quark model says of a module. */
#ifndef SCHEME_QUARK_H
#define SCHEME_QUARK_H

#include "scheme/claims.h"

/* The type of the weights of a module: of its layers the first whose pattern names it, else that of all. *dtype is NULL
 * when nothing is said, or a class of layers could say otherwise, for no tensor has its class. ERR_LIMIT as in
 * scheme/modules.h. */
bool quark_dtype(const struct claims *c, const struct tensor *codes, const char **dtype, struct err *err);

#endif
