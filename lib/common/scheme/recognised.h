/* recognised: schemes that are told by their tensors and named, but not decoded. A scheme that gets its own
 * file leaves this table. */
#ifndef SCHEME_RECOGNISED_H
#define SCHEME_RECOGNISED_H

#include "scheme/scheme.h"

extern const struct scheme recognised[];
extern const size_t recognised_count;

/* Of a scheme that knows a weight and cannot decode it: call it `name`, which is copied, instead of its own name. */
bool recognised_as(struct claims *c, struct weight *w, const char *name, struct err *err);

/* The describe of such a scheme: its name and no more. */
void recognised_describe(const struct weight *w, char buf[SCHEME_DETAIL]);

#endif
