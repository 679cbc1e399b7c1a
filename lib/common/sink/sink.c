#include "sink/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"

enum { PIPE_ROOM = 1 << 20 };

struct sink {
    int fd;                     /* -1 once closed */
    char *path;                 /* final name, links resolved; NULL: what fd is, is the output */
    char *temp;                 /* name until the commit; NULL when there is none */
    mode_t mode;                /* of the final file */
    bool sync, is_file;
    bool known;                 /* dev and ino are set */
    uint64_t dev, ino;
    uint64_t start;             /* file offset of the first byte */
    uint64_t done, expected;
    bool expects, reserved;
};

/* The one name to remove when a signal ends the process; see on_signal. */
static volatile sig_atomic_t temp_armed;
static char temp_name[PATH_MAX];

static void
on_signal(int sig)
{
    if (temp_armed)
        unlink(temp_name);
    signal(sig, SIG_DFL);
    raise(sig);
}

/* Signals that end a process by default end it without leaving the temporary file behind. */
static void
arm(const char *temp)
{
    static const int ends[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGALRM, SIGXCPU };
    if (strlen(temp) >= sizeof temp_name)
        return;
    strcpy(temp_name, temp);
    temp_armed = 1;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct sigaction old, new = { .sa_handler = on_signal };
        sigemptyset(&new.sa_mask);
        if (sigaction(ends[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            sigaction(ends[i], &new, NULL);
    }
}

static bool
failed(struct err *err, enum err_kind kind, const char *what, const char *path)
{
    char shown[STR_SHOWN];
    return err_sys(err, kind, errno, "output %s: %s", str_shown(shown, path, strlen(path)), what);
}

/* Open a new file beside s->path. */
static bool
open_temp(struct sink *s, struct err *err)
{
    struct str name = { 0 };
    const char *slash = strrchr(s->path, '/');
    const char *base = slash ? slash + 1 : s->path;
    str_format(&name, "%.*s.%.200s.XXXXXX", (int)(base - s->path), s->path, base);
    if (name.failed)
        return err_memory(err, strlen(s->path));
    s->fd = mkostemp(name.p, O_CLOEXEC);
    if (s->fd < 0) {
        str_clear(&name);
        return failed(err, ERR_CREATE, "no file can be made beside it", s->path);
    }
    s->temp = name.p;
    arm(s->temp);
    return true;
}

static void
remember_identity(struct sink *s, const struct stat *st)
{
    s->known = true;
    s->dev = st->st_dev;
    s->ino = st->st_ino;
}

static bool
open_path(struct sink *s, const char *path, struct err *err)
{
    struct stat st;
    bool there = stat(path, &st) == 0;
    if (!there && errno != ENOENT)
        return failed(err, ERR_CREATE, "it cannot be examined", path);
    if (!there && lstat(path, &st) == 0)
        return errno = ENOENT, failed(err, ERR_CREATE, "it is a link to nothing", path);
    if (there && S_ISDIR(st.st_mode))
        return errno = EISDIR, failed(err, ERR_CREATE, "it cannot be written", path);
    if (there && !S_ISREG(st.st_mode)) {        /* a device or a FIFO: there is nothing to replace */
        s->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        return s->fd >= 0 || failed(err, ERR_CREATE, "it cannot be opened", path);
    }
    mode_t mask = umask(0);
    umask(mask);
    s->mode = there ? st.st_mode & 07777 : 0666 & ~mask;
    if (there)
        remember_identity(s, &st);
    s->path = there ? realpath(path, NULL) : strdup(path);
    if (!s->path)
        return failed(err, ERR_CREATE, "its name cannot be resolved", path);
    s->is_file = true;
    return open_temp(s, err);
}

static bool
open_stdout(struct sink *s, const struct sink_options *options, struct err *err)
{
    struct stat st;
    s->fd = STDOUT_FILENO;
    if (fstat(s->fd, &st) != 0)
        return err_sys(err, ERR_CREATE, errno, "standard output");
    if (!options->terminal_ok && isatty(s->fd))
        return err_set(err, ERR_USAGE, ERR_NO_OFFSET,
            "binary data is not written to a terminal: redirect it, name a file with -o, or insist with -f");
    if (S_ISREG(st.st_mode)) {
        int flags = fcntl(s->fd, F_GETFL);
        off_t at = flags >= 0 && flags & O_APPEND ? st.st_size : lseek(s->fd, 0, SEEK_CUR);
        s->is_file = true;
        s->start = at > 0 ? (uint64_t)at : 0;
        remember_identity(s, &st);
    }
    return true;
}

bool
sink_open(struct sink **out, const struct sink_options *options, struct err *err)
{
    struct sink *s = calloc(1, sizeof *s);
    if (!s)
        return err_memory(err, sizeof *s);
    *out = s;
    s->fd = -1;
    s->sync = options->sync;
    signal(SIGXFSZ, SIG_IGN);       /* a file size limit is an error like a full disk */
    return options->path ? open_path(s, options->path, err) : open_stdout(s, options, err);
}

bool
sink_identity(const struct sink *s, uint64_t *dev, uint64_t *ino)
{
    *dev = s->dev;
    *ino = s->ino;
    return s->known;
}

bool
sink_expect(struct sink *s, uint64_t nbytes, struct err *err)
{
    s->expected = nbytes;
    s->expects = true;
#ifdef __linux__
    /* Keeping the size as it is: a process that is killed must not leave a file that looks complete. */
    if (s->is_file && nbytes != 0) {
        s->reserved = fallocate(s->fd, FALLOC_FL_KEEP_SIZE, (off_t)s->start, (off_t)nbytes) == 0;
        if (!s->reserved && (errno == ENOSPC || errno == EFBIG || errno == EDQUOT))
            return err_sys(err, ERR_IO, errno, "the output needs %" PRIu64 " bytes", nbytes);
    }
    if (!s->is_file)
        fcntl(s->fd, F_SETPIPE_SZ, PIPE_ROOM);      /* fails on what is no pipe: no harm */
#endif
    return true;
}

bool
sink_is_pipe(const struct sink *s)
{
    struct stat st;
    return fstat(s->fd, &st) == 0 && S_ISFIFO(st.st_mode);
}

bool
sink_write(struct sink *s, const void *p, size_t n, struct err *err)
{
    const uint8_t *from = p;
    while (n != 0) {
        ssize_t put = write(s->fd, from, n);
        if (put < 0 && errno == EAGAIN)         /* somebody else made it non-blocking */
            poll(&(struct pollfd){ .fd = s->fd, .events = POLLOUT }, 1, -1);
        if (put < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (put < 0)
            return err_sys(err, ERR_IO, errno, "the output cannot be written");
        from += put;
        n -= (size_t)put;
        s->done += (uint64_t)put;
    }
    return true;
}

bool
sink_commit(struct sink *s, struct err *err)
{
    if (s->expects && s->done != s->expected)
        return err_set(err, ERR_BUG, ERR_NO_OFFSET, "%" PRIu64 " bytes were written, %" PRIu64 " promised", s->done,
            s->expected);
    if (s->temp && fchmod(s->fd, s->mode) != 0)
        return failed(err, ERR_IO, "its permissions cannot be set", s->path);
    if (s->sync && s->is_file && fsync(s->fd) != 0)
        return err_sys(err, ERR_IO, errno, "the output cannot be flushed to the disk");
    int fd = s->fd;
    s->fd = -1;
    if (close(fd) != 0)
        return err_sys(err, ERR_IO, errno, "the output cannot be closed");
    if (s->temp && rename(s->temp, s->path) != 0)
        return failed(err, ERR_CREATE, "it cannot be given its name", s->path);
    temp_armed = 0;
    free(s->temp);
    s->temp = NULL;
    s->reserved = false;
    return true;
}

void
sink_close(struct sink *s)
{
    if (!s)
        return;
    /* Truncating a file to the size that it has gives back what is reserved behind it. */
    struct stat st;
    if (s->reserved && !s->temp && s->fd >= 0 && fstat(s->fd, &st) == 0 && ftruncate(s->fd, st.st_size) != 0) {
        /* The room stays reserved; the failure that led here is what counts. */
    }
    if (s->fd >= 0 && s->fd != STDOUT_FILENO)
        close(s->fd);
    if (s->temp)
        unlink(s->temp);
    temp_armed = 0;
    free(s->temp);
    free(s->path);
    free(s);
}
