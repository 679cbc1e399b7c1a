/* bnb4: bitsandbytes 4-bit weights, NF4 and FP4, with plain and with quantized absmax. */
#ifndef SCHEME_BNB4_H
#define SCHEME_BNB4_H

#include "scheme/scheme.h"

extern const struct scheme scheme_bnb4;

#endif
