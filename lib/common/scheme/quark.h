/* quark: what the configuration of a Quark model declares for a module. */
#ifndef SCHEME_QUARK_H
#define SCHEME_QUARK_H

#include "scheme/claims.h"

/* Finds the "weight" object of a module: in the first layer entry whose pattern matches it, or else in the global entry.
 * *weight is NULL if nothing is declared or the config does not determine it: tensors do not show the class of their layer,
 * which layer_type_quant_config refers to. Fails with ERR_LIMIT like modules_have. */
bool quark_weight(const struct claims *c, const struct tensor *codes, const json_t **weight, struct err *err);

/* Returns a member that is text, or NULL. */
const char *quark_text(const json_t *weight, const char *key);

#endif
