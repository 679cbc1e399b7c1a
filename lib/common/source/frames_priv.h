/* frames_priv: helpers that the formats of frames.h share. */
#ifndef SOURCE_FRAMES_PRIV_H
#define SOURCE_FRAMES_PRIV_H

#include "source/frames.h"

#define FRAMES_LOST UINT64_MAX          /* skip the rest: the library will refuse it */

/* Skips `skip` bytes, then collects a header of `want` bytes for `step`. Returns true. */
bool frames_next(struct frames *f, uint64_t skip, size_t want, bool (*step)(struct frames *, struct err *));

#endif
