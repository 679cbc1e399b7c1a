#include "base/signals.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

enum { CLEANERS = 2 };
static void (*_Atomic cleaners[CLEANERS])(void);

static void
clean_up(void)
{
    for (int i = 0; i < CLEANERS; i++) {
        void (*clean)(void) = atomic_load(&cleaners[i]);
        if (clean)
            clean();
    }
}

/* Runs on any thread. Restores the default action after the removal, because a second signal could otherwise end the process
 * in between. raise() takes effect when the handler returns, so the exit status names the signal. */
static void
on_signal(int sig)
{
    clean_up();
    signal(sig, SIG_DFL);
    raise(sig);
}

/* Returns true if a signal can be caught and ends the process by default. */
static bool
ends_process(int sig)
{
    switch (sig) {
    case SIGKILL:
    case SIGSTOP:
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU:
    case SIGCONT:
    case SIGCHLD:
    case SIGURG:
    case SIGWINCH:
#ifdef SIGINFO
    case SIGINFO:
#endif
        return false;
    default:
        return true;
    }
}

/* Catches all such signals, including real-time ones, except those that are handled or ignored already. */
static void
catch_signals(void)
{
    for (int sig = 1; sig < NSIG; sig++) {
        struct sigaction old, new = { .sa_handler = on_signal };
        sigfillset(&new.sa_mask);
        if (ends_process(sig) && sigaction(sig, NULL, &old) == 0 && !(old.sa_flags & SA_SIGINFO)
            && old.sa_handler == SIG_DFL)
            sigaction(sig, &new, NULL);
    }
}

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
    int i = 0;
    while (atomic_load(&cleaners[i]) && atomic_load(&cleaners[i]) != clean)
        i++;
    assert(i < CLEANERS);
    atomic_store(&cleaners[i], clean);
    catch_signals();
}

void
signals_end(int status)
{
    clean_up();
    _exit(status);
}
