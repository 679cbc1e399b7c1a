/* recognised: schemes that are told by their tensors and named, but not decoded. A scheme that gets its own
 * file leaves this table. */
#ifndef SCHEME_RECOGNISED_H
#define SCHEME_RECOGNISED_H

#include "scheme/scheme.h"

extern const struct scheme recognised[];
extern const size_t recognised_count;

#endif
