/* sdnq: SDNQ's weights, whose type stands in the configuration alone. Recognised and checked; FP8 with one scale a row
 * is then the FP8 scheme's, the rest is not decoded. */
#ifndef SCHEME_SDNQ_H
#define SCHEME_SDNQ_H

#include "scheme/scheme.h"

extern const struct scheme scheme_sdnq;

#endif
