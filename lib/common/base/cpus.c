#include "base/cpus.h"

#include <sched.h>
#include <unistd.h>

uint64_t
cpus_count(void)
{
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return (uint64_t)CPU_COUNT(&set);
#endif
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    if (n > 0)
        return (uint64_t)n;
    return 1;
}
