#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sink/sink.h"
#include "sink/sink_priv.h"

bool
direct_open(struct direct *direct, const char *name, int fd)
{
#ifdef O_DIRECT
    struct stat ours, st;
    direct->fd = open(name, O_WRONLY | O_DIRECT | O_CLOEXEC | O_NOFOLLOW);
    /* The name may belong to another file by now. */
    if (direct->fd >= 0 && (fstat(fd, &ours) != 0 || fstat(direct->fd, &st) != 0 || st.st_dev != ours.st_dev
        || st.st_ino != ours.st_ino))
        direct_close(direct);
    return direct->fd >= 0;
#else
    (void)direct, (void)name, (void)fd;
    return false;
#endif
}

ssize_t
direct_write(struct direct *direct, int fd, const void *p, size_t n, uint64_t at)
{
    size_t whole = n - n % SINK_ALIGN;
    if (direct->fd >= 0 && whole != 0 && ((uintptr_t)p | at) % SINK_ALIGN == 0 && !atomic_load(&direct->refused)) {
        ssize_t put = pwrite(direct->fd, p, whole, (off_t)at);
        if (put >= 0 || (errno != EINVAL && errno != EOPNOTSUPP))
            return put;
        atomic_store(&direct->refused, true);
    }
    return pwrite(fd, p, n, (off_t)at);
}

bool
direct_close(struct direct *direct)
{
    int fd = direct->fd;
    direct->fd = -1;
    return fd < 0 || close(fd) == 0;
}
