/* cpus: how many processors this process may run on. A thread more would spin against the others. */
#ifndef BASE_CPUS_H
#define BASE_CPUS_H

#include <stdint.h>

uint64_t cpus_count(void);      /* one at least */

#endif
