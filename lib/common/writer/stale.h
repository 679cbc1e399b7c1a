/* stale: metadata keys of the input that would be false in an output. */
#ifndef WRITER_STALE_H
#define WRITER_STALE_H

#include "plan/choice.h"

/* Returns true for keys about the layout of the input's file, and, if anything is dequantized, about its quantization. */
bool stale_key(const struct meta *m, const struct choice *choice);

#endif
