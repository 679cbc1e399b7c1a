#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/signals.h"
#include "sink/sink_priv.h"

/* What a handler can reach: the name to remove, and whether a file has it. Changed while signals are held only. */
static atomic_bool armed;
static char armed_name[PATH_MAX];

/* Runs on any thread. The default action is set behind the removal, or a second signal would end the process between
 * the two; raise() has it happen when the handler returns, so that the status is that of the signal. */
static void
on_signal(int sig)
{
    if (atomic_load(&armed))
        unlink(armed_name);
    signal(sig, SIG_DFL);
    raise(sig);
}

/* Whether the default action of a signal is to end the process, and it can be caught. */
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

/* All of them, the real-time ones too, but for those that somebody handles or ignores. */
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

int
temp_make(char *name)
{
    sigset_t old;
    if (strlen(name) >= sizeof armed_name)
        return errno = ENAMETOOLONG, -1;
    signals_hold(&old);
    int fd = mkostemp(name, O_CLOEXEC);
    if (fd >= 0) {
        strcpy(armed_name, name);
        atomic_store(&armed, true);
        catch_signals();
    }
    signals_release(&old);
    return fd;
}

/* rename() that replaces nothing. Where the file system has no such call, there are two names for a moment. */
static int
rename_new(const char *name, const char *path)
{
#ifdef RENAME_NOREPLACE
    if (renameat2(AT_FDCWD, name, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
#endif
    return link(name, path) == 0 ? unlink(name) : -1;
}

bool
temp_rename(const char *name, const char *path, bool keep)
{
    sigset_t old;
    signals_hold(&old);
    bool ok = (keep ? rename_new(name, path) : rename(name, path)) == 0;
    if (ok)
        atomic_store(&armed, false);
    signals_release(&old);
    return ok;
}

void
temp_remove(const char *name)
{
    sigset_t old;
    signals_hold(&old);
    unlink(name);
    atomic_store(&armed, false);
    signals_release(&old);
}
