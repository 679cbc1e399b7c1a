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

void
trim_coarsely(const void *p, size_t n)
{
#ifdef MADV_HUGEPAGE
    enum { LARGE = 2 << 20 };
    uintptr_t from = ((uintptr_t)p + LARGE - 1) / LARGE * LARGE, to = ((uintptr_t)p + n) / LARGE * LARGE;
    if (n >= 2 * LARGE && to > from)
        (void)madvise((void *)from, to - from, MADV_HUGEPAGE);
#else
    (void)p;
    (void)n;
#endif
}
