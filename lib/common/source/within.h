/* within: a part of a source, or bytes in memory, as a source, such as a file in an archive. */
#ifndef SOURCE_WITHIN_H
#define SOURCE_WITHIN_H

#include "source/source.h"

/* Makes a seekable source of bytes [at, at + n) of `whole`, which must be seekable, contain them and outlive the new source.
 * Copies `shown`, the name in messages. Fails if out of memory. The caller closes it. */
bool source_within(struct source **src, struct source *whole, uint64_t at, uint64_t n, const char *shown, struct err *err);

/* Makes such a source of p[0..n), which must outlive it. */
bool source_of_memory(struct source **src, const uint8_t *p, size_t n, const char *shown, struct err *err);

#endif
