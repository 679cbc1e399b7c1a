/* memory: how much page cache an output may use before other data is evicted. */
#ifndef SINK_MEMORY_H
#define SINK_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#define MEMORY_UNKNOWN UINT64_MAX

/* Returns the bytes that are free or can be freed at once: MemAvailable of /proc/meminfo, or, if less, what is left in the
 * control group of this process or its ancestors. `root` is prepended to all paths, "" except in tests. Files that cannot be
 * read are ignored; MEMORY_UNKNOWN if there are none. */
uint64_t memory_free(const char *root);

/* Returns true if an output of nbytes fits into the page cache without evicting anything. Half of the free memory is kept
 * for the input, whose pages stay cached too and which is rarely larger than the output. Measured with 22.8 GiB free and an
 * input of 0.28 times the output, in CPU seconds per GiB: 0.5 at 8 GiB, 0.7 at 12 GiB, 1.2 at 16 GiB; direct I/O 0.6 at any
 * size. */
bool memory_holds(uint64_t free, uint64_t nbytes);

#endif
