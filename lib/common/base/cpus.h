/* cpus: the number of processors that this process may run on. Any more threads would only compete with each other. */
#ifndef BASE_CPUS_H
#define BASE_CPUS_H

#include <stdint.h>

uint64_t cpus_count(void);      /* at least 1 */

#endif
