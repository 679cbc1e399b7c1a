#include "base/thread.h"

#include <limits.h>
#include <unistd.h>

#if defined(__has_feature)
#define HAS_FEATURE(name) __has_feature(name)
#else
#define HAS_FEATURE(name) 0
#endif

/* Sanitizers enlarge frames several times. */
#if defined(__SANITIZE_ADDRESS__) || HAS_FEATURE(address_sanitizer)
enum { FACTOR = 8 };
#else
enum { FACTOR = 1 };
#endif

/* Returns the bytes of a stack that the C library uses: thread-local storage and the frame of a signal. */
static size_t
library_share(void)
{
    long n = sysconf(_SC_THREAD_STACK_MIN);
    if (n > 0)
        return (size_t)n;
    return PTHREAD_STACK_MIN;
}

bool
thread_start(pthread_t *thread, void *(*run)(void *of), void *of)
{
    pthread_attr_t attr;
    if (pthread_attr_init(&attr) != 0)
        return false;
    bool ok = pthread_attr_setstacksize(&attr, (size_t)THREAD_STACK * FACTOR + library_share()) == 0
        && pthread_create(thread, &attr, run, of) == 0;
    pthread_attr_destroy(&attr);
    return ok;
}
