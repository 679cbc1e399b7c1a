/* gptq: integer codes of 2, 3, 4 or 8 bits packed down the columns of the stored matrix. */
#ifndef SCHEME_GPTQ_H
#define SCHEME_GPTQ_H

#include "scheme/scheme.h"

extern const struct scheme scheme_gptq;

#endif
