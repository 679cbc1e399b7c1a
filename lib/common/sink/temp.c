#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/signals.h"
#include "sink/sink.h"
#include "sink/sink_priv.h"

/* Names to remove, readable by a signal handler. Changed only while signals are blocked. */
struct temp {
    struct temp *next;
    char name[];
};
static struct temp *_Atomic armed;

static void
remove_armed(void)
{
    for (const struct temp *t = atomic_load(&armed); t; t = t->next)
        unlink(t->name);
}

/* Creates a file and locks it. Until it is locked, another job can mistake it for a leftover and remove it; then the next
 * name is tried. */
static int
make_locked(char *name)
{
    enum { TRIES = 100 };
    struct stat st;
    char *end = name + strlen(name) - 6;
    for (int i = 0; i < TRIES; i++) {
        memcpy(end, "XXXXXX", 6);
        int fd = mkostemp(name, O_CLOEXEC);
        if (fd < 0)
            return -1;
        bool taken = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        if (!taken && (fstat(fd, &st) != 0 || st.st_nlink != 0))
            return fd;
        unlink(name);
        close(fd);
    }
    errno = EEXIST;
    return -1;
}

void
sink_remove_stale(int folder, const char *entry)
{
    struct stat st, is;
    /* Opened for writing, because NFS requires that for an exclusive lock. */
    int fd = openat(folder, entry, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0
        && fstatat(folder, entry, &is, AT_SYMLINK_NOFOLLOW) == 0 && is.st_dev == st.st_dev && is.st_ino == st.st_ino)
        unlinkat(folder, entry, 0);
    close(fd);
}

int
temp_make(char *name)
{
    sigset_t old;
    struct temp *temp = malloc(sizeof *temp + strlen(name) + 1);
    if (!temp)
        return -1;
    signals_hold(&old);
    int fd = make_locked(name);
    if (fd >= 0) {
        temp->next = atomic_load(&armed);
        strcpy(temp->name, name);
        atomic_store(&armed, temp);
        signals_clean_with(remove_armed);
    }
    signals_release(&old);
    int sys = errno;
    if (fd < 0)
        free(temp);
    errno = sys;
    return fd;
}

/* Takes a name off the list of files to remove. */
static void
disarm(const char *name)
{
    struct temp *first = atomic_load(&armed), **at = &first;
    while (*at && strcmp((*at)->name, name) != 0)
        at = &(*at)->next;
    struct temp *temp = *at;
    if (temp)
        *at = temp->next;
    atomic_store(&armed, first);
    free(temp);
}

/* Renames without replacing. If the file system does not support that, the file has two names for a moment. */
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
        disarm(name);
    signals_release(&old);
    return ok;
}

void
temp_remove(const char *name)
{
    sigset_t old;
    signals_hold(&old);
    unlink(name);
    disarm(name);
    signals_release(&old);
}
