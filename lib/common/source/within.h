/* within: a part of a source, or bytes in memory, as a source: a file that an archive contains. */
#ifndef SOURCE_WITHIN_H
#define SOURCE_WITHIN_H

#include "source/source.h"

/* Makes a seekable source of bytes [at, at + n) of `whole`, which must be seekable, have them and outlive it. `shown`
 * names it in messages and is copied. Fails without memory. The caller closes it. */
bool source_within(struct source **src, struct source *whole, uint64_t at, uint64_t n, const char *shown, struct err *err);

/* Makes the same of p[0..n), which is borrowed until the source is closed. */
bool source_of_memory(struct source **src, const uint8_t *p, size_t n, const char *shown, struct err *err);

#endif
