/* bnb8: bitsandbytes INT8 (LLM.int8) weights. */
#ifndef SCHEME_BNB8_H
#define SCHEME_BNB8_H

#include "scheme/scheme.h"

extern const struct scheme scheme_bnb8;

#endif
