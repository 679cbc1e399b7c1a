/* cpus: the number of processors available to this process. More threads than that only compete with each other. */
#ifndef BASE_CPUS_H
#define BASE_CPUS_H

#include <stdint.h>

uint64_t cpus_count(void);      /* at least 1 */

#endif
