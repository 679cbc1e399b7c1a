#include "base/signals.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

static void (*_Atomic cleaner)(void);

void
signals_hold(sigset_t *old)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, old);
}

void
signals_release(const sigset_t *old)
{
    int kept = errno;
    pthread_sigmask(SIG_SETMASK, old, NULL);
    errno = kept;
}

void
signals_clean_with(void (*clean)(void))
{
    atomic_store(&cleaner, clean);
}

void
signals_end(int status)
{
    void (*clean)(void) = atomic_load(&cleaner);
    if (clean)
        clean();
    _exit(status);
}
