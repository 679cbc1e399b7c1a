/* quark: what the configuration of a Quark model declares for a module. */
#ifndef SCHEME_QUARK_H
#define SCHEME_QUARK_H

#include "scheme/claims.h"

/* Finds the weight type of a module: from the first layer entry whose pattern matches it, or else from the global entry.
 * *dtype is NULL if nothing is declared or the config does not determine it: tensors do not show the class of their layer,
 * which layer_type_quant_config refers to. Fails with ERR_LIMIT like modules_have. */
bool quark_dtype(const struct claims *c, const struct tensor *codes, const char **dtype, struct err *err);

#endif
