/* memory: how much of it the pages of a file may take before something in use has to go. */
#ifndef SINK_MEMORY_H
#define SINK_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#define MEMORY_UNKNOWN UINT64_MAX

/* Bytes that are free, or that the kernel frees at once: MemAvailable of /proc/meminfo, or what is left in the control
 * group of this process or in one above it, where that is less. `root` goes before all paths: "" but in tests. What
 * cannot be read does not count: MEMORY_UNKNOWN at worst. */
uint64_t memory_free(const char *root);

/* Whether an output of nbytes goes through so much memory with nothing pushed out of it: half of it is for the input,
 * whose pages stay as well, and of which there are hardly more. Measured with 22.8 GiB free and an input of 0.28 of the
 * output, CPU seconds a GiB: 8 GiB 0.5, 12 GiB 0.7, 16 GiB 1.2; direct 0.6 whatever the size. */
bool memory_holds(uint64_t free, uint64_t nbytes);

#endif
