#include "base/signals.h"

#include <errno.h>
#include <stddef.h>

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
