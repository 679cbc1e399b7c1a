/* described: compares the weights of a model with ModelSlim's description file, which has a word for each tensor. */
#ifndef SCHEME_DESCRIBED_H
#define SCHEME_DESCRIBED_H

#include "scheme/claims.h"

/* Checks, after all schemes have claimed their weights, that no tensor of a described weight is missing, and that each weight is of a
 * scheme of its word. Fails as claims_missing() does. Without a description file, or with --input-scheme, does nothing. */
bool described_check(const struct claims *c, struct err *err);

#endif
