#include "base/trim.h"

#include <stdint.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif
#ifdef __linux__
#include <sys/mman.h>

/* Set by the linker: the first byte of the program and the end of its code. */
extern const char __executable_start[], etext[];
#endif

void
trim_memory(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
#ifdef __linux__
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)__executable_start / page * page;
    uintptr_t to = (uintptr_t)etext / page * page;
    if (to > from)
        (void)madvise((void *)from, to - from, MADV_DONTNEED);
#endif
}
