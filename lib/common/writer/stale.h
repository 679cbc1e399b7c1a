/* stale: keys of the input that would say nothing true of an output. */
#ifndef WRITER_STALE_H
#define WRITER_STALE_H

#include "plan/choice.h"

/* Whether a key is about the layout of the input's file, or about the quantization while something is decoded. */
bool stale_key(const struct meta *m, const struct choice *choice);

#endif
