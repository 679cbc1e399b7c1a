#include "sink/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "sink/memory.h"
#include "sink/sink_priv.h"

enum { PIPE_ROOM = 1 << 20 };

struct sink {
    char name[STR_SHOWN];       /* of the output, for messages */
    int fd;                     /* -1: closed, or none */
    bool nowhere;               /* only counts bytes */
    bool compares;              /* reads fd and compares */
    bool resumes;               /* and appends what the file lacks */
    char *path;                 /* final name, links resolved; NULL: fd is written in place */
    char *temp;                 /* temporary name; NULL: none */
    mode_t mode;                /* of the final file */
    bool sync, no_clobber, is_file;
    uint64_t start;             /* file offset of the first byte */
    enum sink_direct when;
    struct direct direct;
    atomic_uint_fast64_t done;
    uint64_t expected;
    bool expects, reserved;
};

/* Sets an error for the output, with the text of errno. */
static bool
sink_failed(const char *name, struct err *err, enum err_kind kind, const char *what)
{
    if (err->kind != ERR_NONE)
        return false;
    err_sys(err, kind, errno, "%s", what);
    return err_in_file(err, name);
}

/* Formats the name of the output for messages. Returns buf. */
static const char *
shown_name(char buf[STR_SHOWN], const struct sink_options *options)
{
    if (options->path)
        return str_shown(buf, options->path, strlen(options->path));
    return strcpy(buf, "(standard output)");
}

#define TEMP_END ".amn-XXXXXX"

bool
sink_temp_name(char name[SINK_TEMP_NAME], const char *entry)
{
    const size_t n = strlen(entry), end = sizeof TEMP_END - 1, fixed = end - 6;
    if (n <= 1 + end || n - 1 - end >= SINK_TEMP_NAME || entry[0] != '.' || memcmp(entry + n - end, TEMP_END, fixed) != 0
        || strspn(entry + n - 6, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") != 6)
        return false;
    memcpy(name, entry + 1, n - 1 - end);
    name[n - 1 - end] = '\0';
    return true;
}

/* Creates a temporary file next to s->path. */
static bool
open_temp(struct sink *s, struct err *err)
{
    struct str name = { 0 };
    const char *slash = strrchr(s->path, '/');
    const char *base = slash ? slash + 1 : s->path;
    str_format(&name, "%.*s.%.*s" TEMP_END, (int)(base - s->path), s->path, SINK_TEMP_NAME - 1, base);
    if (name.failed)
        return err_memory(err, strlen(s->path));
    s->fd = temp_make(name.p);
    if (s->fd < 0) {
        sink_failed(s->name, err, ERR_CREATE, "");
        str_clear(&name);
        return false;
    }
    s->temp = name.p;
    return true;
}

/* Writes to a descriptor that was passed to the process, at its offset, or at the end of the file with O_APPEND. */
static bool
open_descriptor(struct sink *s, int fd, struct err *err)
{
    struct stat st;
    int flags = fcntl(fd, F_GETFL);
    /* A descriptor with FD_CLOEXEC is our own, such as an input that happens to have this number. */
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || fcntl(fd, F_GETFD) & FD_CLOEXEC || fstat(fd, &st) != 0)
        return errno = EBADF, sink_failed(s->name, err, ERR_CREATE, "not open for writing");
    /* Duplicates any descriptor except standard output, which is ours to close: messages may still be written to it. */
    if (fd == STDOUT_FILENO)
        s->fd = fd;
    else
        s->fd = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (s->fd < 0)
        return sink_failed(s->name, err, ERR_CREATE, "cannot duplicate the descriptor");
    if (S_ISREG(st.st_mode)) {
        off_t at = flags & O_APPEND ? st.st_size : lseek(fd, 0, SEEK_CUR);
        s->is_file = true;
        if (at > 0)
            s->start = (uint64_t)at;
        else
            s->start = 0;
    }
    return true;
}

static bool
open_path(struct sink *s, const char *path, struct err *err)
{
    struct stat st;
    int descriptor = descriptor_of(path);
    if (descriptor >= 0)
        return open_descriptor(s, descriptor, err);
    bool there = stat(path, &st) == 0;
    if (!there && errno != ENOENT)
        return sink_failed(s->name, err, ERR_CREATE, "");
    if (!there && lstat(path, &st) == 0)
        return errno = ENOENT, sink_failed(s->name, err, ERR_CREATE, "dangling symbolic link");
    if (there && S_ISDIR(st.st_mode))
        return errno = EISDIR, sink_failed(s->name, err, ERR_CREATE, "");
    if (there && !S_ISREG(st.st_mode)) {        /* a device or FIFO is not replaced */
        s->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        return s->fd >= 0 || sink_failed(s->name, err, ERR_CREATE, "");
    }
    mode_t mask = umask(0);
    umask(mask);
    s->mode = there ? st.st_mode & 0777 : 0666 & ~mask;     /* without setuid: its contents are no longer the trusted ones */
    if (there)
        s->path = realpath(path, NULL);
    else
        s->path = strdup(path);
    if (!s->path)
        return sink_failed(s->name, err, ERR_CREATE, "cannot resolve its path");
    s->is_file = true;
    return open_temp(s, err);
}

bool
sink_check(const struct sink_options *options, struct err *err)
{
    struct stat st;
    char name[STR_SHOWN];
    const char *path = options->path;
    if (!options->no_clobber || !path || descriptor_of(path) >= 0 || stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return true;
    errno = EEXIST;
    return sink_failed(shown_name(name, options), err, ERR_CREATE, "not overwritten (-n)");
}

static struct sink *
new_sink(struct err *err)
{
    struct sink *s = calloc(1, sizeof *s);
    if (s)
        s->fd = s->direct.fd = -1;
    else
        err_memory(err, sizeof *s);
    return s;
}

bool
sink_nowhere(struct sink **out, struct err *err)
{
    *out = new_sink(err);
    if (*out)
        (*out)->nowhere = true;
    return *out;
}

bool
sink_is_nowhere(const struct sink *s)
{
    return s->nowhere;
}

/* Opens an existing regular file to compare and extend it. Returns false without an error if
 * the path names no such file. */
static bool
open_to_resume(struct sink *s, const char *path, struct err *err)
{
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    s->fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (s->fd < 0)
        return sink_failed(s->name, err, ERR_CREATE, "cannot open it to resume");
    s->compares = s->resumes = s->is_file = true;
    return true;
}

bool
sink_open(struct sink **out, const struct sink_options *options, struct err *err)
{
    struct sink *s = *out = new_sink(err);
    if (!s)
        return false;
    shown_name(s->name, options);
    s->when = options->direct;
    s->sync = options->sync;
    s->no_clobber = options->no_clobber;
    if (!sink_check(options, err))
        return false;
    if (options->resume && options->path && open_to_resume(s, options->path, err))
        return true;
    bool ok = err->kind == ERR_NONE
        && (options->path ? open_path(s, options->path, err) : open_descriptor(s, STDOUT_FILENO, err));
    if (ok && !options->terminal_ok && isatty(s->fd))
        return err_set(err, ERR_USAGE,
            "not writing binary data to a terminal; redirect it, use -o FILE, or force it with -f");
    return ok;
}

/* Fails because the file is not what this job generates. */
static bool
differs(const struct sink *s, uint64_t at, struct err *err)
{
    err_at(err, ERR_CREATE, at, "differs from the output of this job (other input, options or amn version?); choose another "
        "%s", s->resumes ? "name, or leave --resume out to replace it" : "directory");
    return err_in_file(err, s->name);
}

bool
sink_compare(struct sink **out, const char *path, struct err *err)
{
    struct stat st;
    struct sink *s = *out = new_sink(err);
    if (!s)
        return false;
    s->compares = true;
    str_shown(s->name, path, strlen(path));
    s->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (s->fd < 0 && errno == ENOENT)
        return differs(s, ERR_NO_OFFSET, err);
    if (s->fd < 0)
        return sink_failed(s->name, err, ERR_CREATE, "cannot open it to compare");
    return (fstat(s->fd, &st) == 0 && S_ISREG(st.st_mode)) || differs(s, ERR_NO_OFFSET, err);
}

/* Returns true if the file ends at the number of bytes done. */
static bool
is_at_end(const struct sink *s)
{
    struct stat st;
    return fstat(s->fd, &st) == 0 && (uint64_t)st.st_size == s->done;
}

/* Compares bytes with the file. A file that is resumed is extended from its end. */
static bool
compare(struct sink *s, const void *p, size_t n, struct err *err)
{
    uint64_t same;
    if (!compare_bytes(s->fd, s->done, p, n, &same))
        return sink_failed(s->name, err, ERR_IO, "read failed");
    s->done += same;
    if (same == n)
        return true;
    if (!s->resumes || !is_at_end(s))
        return differs(s, s->done, err);
    if (lseek(s->fd, (off_t)(uint64_t)s->done, SEEK_SET) < 0)
        return sink_failed(s->name, err, ERR_IO, "lseek failed");
    s->compares = false;
    return sink_write(s, (const uint8_t *)p + same, n - (size_t)same, err);
}

bool
sink_was_complete(const struct sink *s)
{
    return s->resumes && s->compares;
}

const char *
sink_path(const struct sink *s)
{
    if (s->temp)
        return s->path;
    return NULL;
}

bool
sink_identity(const struct sink *s, uint64_t id[2])
{
    struct stat st;
    if (s->nowhere || fstat(s->fd, &st) != 0)
        return false;
    id[0] = st.st_dev;
    id[1] = st.st_ino;
    return true;
}

/* Only files with a temporary name are written directly, out of order: a killed job must leave a prefix of the output, never
 * a file with holes. */
static bool
wants_direct(const struct sink *s, uint64_t nbytes)
{
    return s->temp && nbytes != 0 && s->when != SINK_DIRECT_NEVER
        && (s->when == SINK_DIRECT_ALWAYS || !memory_holds(memory_free(""), nbytes));
}

bool
sink_expect(struct sink *s, uint64_t nbytes, struct err *err)
{
    s->expected = nbytes;
    s->expects = true;
    if (s->nowhere || s->compares)
        return true;
    bool direct = wants_direct(s, nbytes) && direct_open(&s->direct, s->temp, s->fd);
#ifdef __linux__
    /* Appending keeps the file size, because a killed process must not leave a file that looks complete. Direct writes need
     * the full size: writes that extend a file are serialized. */
    if (s->is_file && nbytes != 0) {
        int mode = FALLOC_FL_KEEP_SIZE;
        if (direct)
            mode = 0;
        s->reserved = fallocate(s->fd, mode, (off_t)s->start, (off_t)nbytes) == 0;
        if (!s->reserved && (errno == ENOSPC || errno == EFBIG || errno == EDQUOT)) {
            err_sys(err, ERR_IO, errno, "cannot reserve %" PRIu64 " bytes", nbytes);
            return err_in_file(err, s->name);
        }
    }
    if (!s->is_file)
        fcntl(s->fd, F_SETPIPE_SZ, PIPE_ROOM);      /* harmless failure if it is not a pipe */
#endif
    return true;
}

bool
sink_is_pipe(const struct sink *s)
{
    struct stat st;
    return !s->nowhere && fstat(s->fd, &st) == 0 && S_ISFIFO(st.st_mode);
}

bool
sink_is_direct(const struct sink *s)
{
    return s && s->direct.fd >= 0;
}

bool
sink_has_offsets(const struct sink *s)
{
    return s->temp && !s->compares;
}

bool
sink_write(struct sink *s, const void *p, size_t n, struct err *err)
{
    const uint8_t *from = p;
    if (s->nowhere) {
        s->done += n;
        return true;
    }
    if (s->compares)
        return compare(s, p, n, err);
    while (n != 0) {
        ssize_t put = write(s->fd, from, n);
        if (put < 0 && errno == EAGAIN)         /* another process made it non-blocking */
            poll(&(struct pollfd){ .fd = s->fd, .events = POLLOUT }, 1, -1);
        if (put < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (put < 0)
            return sink_failed(s->name, err, ERR_IO, "write failed");
        from += put;
        n -= (size_t)put;
        s->done += (uint64_t)put;
    }
    return true;
}

bool
sink_write_at(struct sink *s, uint64_t at, const void *p, size_t n, struct err *err)
{
    const uint8_t *from = p;
    while (n != 0) {
        ssize_t put = direct_write(&s->direct, s->fd, from, n, s->start + at);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return sink_failed(s->name, err, ERR_IO, "write failed");
        from += put;
        at += (uint64_t)put;
        n -= (size_t)put;
        s->done += (uint64_t)put;
    }
    return true;
}

/* Opens the directory of a path. Returns -1 with errno on failure. */
static int
open_folder(const char *path)
{
    struct str folder = { 0 };
    const char *slash = strrchr(path, '/');
    str_format(&folder, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
    int fd = folder.failed ? (errno = ENOMEM, -1) : open(folder.p, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    str_clear(&folder);
    return fd;
}

/* Renames the complete file to its final name; with --sync, also flushes the directory to disk. */
static bool
name_file(struct sink *s, struct err *err)
{
    int folder = -1;
    if (s->sync)
        folder = open_folder(s->path);
    if (s->sync && folder < 0)
        return sink_failed(s->name, err, ERR_IO, "cannot open its directory for fsync");
    bool ok = temp_rename(s->temp, s->path, s->no_clobber)
        || sink_failed(s->name, err, ERR_CREATE, "cannot rename the temporary file");
    if (ok) {
        free(s->temp);
        s->temp = NULL;
    }
    if (ok && s->sync && fsync(folder) != 0 && errno != EINVAL)     /* EINVAL: not supported by this file system */
        ok = sink_failed(s->name, err, ERR_IO, "fsync of its directory failed");
    if (folder >= 0)
        close(folder);
    return ok;
}

bool
sink_commit(struct sink *s, struct err *err)
{
    if (s->expects && s->done != s->expected)
        return err_set(err, ERR_BUG, "%" PRIu64 " bytes written, expected %" PRIu64,
            (uint64_t)s->done, s->expected);
    if (s->nowhere)
        return true;
    if (s->compares)
        return is_at_end(s) || differs(s, s->done, err);
    if (s->temp && fchmod(s->fd, s->mode) != 0)
        return sink_failed(s->name, err, ERR_IO, "cannot set its permissions");
    if (s->sync && s->is_file && fsync(s->fd) != 0)
        return sink_failed(s->name, err, ERR_IO, "fsync failed");
    int fd = s->fd, held = s->temp ? fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : -1;     /* keeps the lock */
    s->fd = -1;
    bool closed = direct_close(&s->direct);
    bool ok = (close(fd) == 0 && closed) || sink_failed(s->name, err, ERR_IO, "close failed");
    s->reserved = s->reserved && !ok;
    ok = ok && (!s->temp || name_file(s, err));
    if (held >= 0)
        close(held);
    return ok;
}

void
sink_close(struct sink *s)
{
    if (!s)
        return;
    /* Truncating a file to its own size releases blocks reserved after its end. */
    struct stat st;
    if (s->reserved && !s->temp && s->fd >= 0 && fstat(s->fd, &st) == 0 && ftruncate(s->fd, st.st_size) != 0) {
        /* The blocks stay reserved; the earlier failure is the one to report. */
    }
    if (s->fd >= 0 && s->fd != STDOUT_FILENO)
        close(s->fd);
    direct_close(&s->direct);
    if (s->temp)
        temp_remove(s->temp);
    free(s->temp);
    free(s->path);
    free(s);
}
