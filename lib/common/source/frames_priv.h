/* What the formats of frames.h share. */
#ifndef SOURCE_FRAMES_PRIV_H
#define SOURCE_FRAMES_PRIV_H

#include "source/frames.h"

#define FRAMES_LOST UINT64_MAX          /* skip all that follows: the library will refuse it */

/* Next: pass over `skip` bytes, gather `want` of a header, take it by `step`. True. */
bool frames_next(struct frames *f, uint64_t skip, size_t want, bool (*step)(struct frames *, struct err *));

#endif
