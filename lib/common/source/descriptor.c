/* The bottom layer of a source: a descriptor. A regular file at offset 0 is read with pread(), from any thread; anything
 * else with read(), in order. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/num.h"
#include "source/drop.h"
#include "source/source_priv.h"

struct descriptor {
    struct source_layer layer;
    uint64_t base;              /* offset of the first byte in the file */
    int fd;                     /* -1 if the open failed */
    bool own;                   /* close it with the layer */
    struct stat opened;         /* status at the time it was opened */
    struct drop drop;
};

static bool
file_some(struct source_layer *l, uint64_t at, void *buf, size_t n, size_t *got, struct err *err)
{
    const struct descriptor *d = (const struct descriptor *)l;
    ssize_t r;
    *got = 0;
    if (at >= l->size)
        return true;
    n = (size_t)num_min(n, l->size - at);
    while ((r = pread(d->fd, buf, n, (off_t)(d->base + at))) < 0 && errno == EINTR)
        ;
    if (r < 0)
        return err_sys(err, ERR_IO, errno, "read failed");
    if (r == 0)
        return err_at(err, ERR_IO, at, "file shrank while being read (is it still being written?)");
    *got = (size_t)r;
    return true;
}

static bool
pipe_some(struct source_layer *l, uint64_t at, void *buf, size_t n, size_t *got, struct err *err)
{
    const struct descriptor *d = (const struct descriptor *)l;
    ssize_t r;
    (void)at;
    while ((r = read(d->fd, buf, n)) < 0 && (errno == EINTR || errno == EAGAIN))
        if (errno == EAGAIN)    /* another process made our standard input non-blocking */
            poll(&(struct pollfd){ .fd = d->fd, .events = POLLIN }, 1, -1);
    if (r < 0)
        return err_sys(err, ERR_IO, errno, "read failed");
    *got = (size_t)r;
    return true;
}

static bool
descriptor_unchanged(const struct source_layer *l, struct err *err)
{
    const struct descriptor *d = (const struct descriptor *)l;
    const struct stat *was = &d->opened;
    struct stat is;
    if (!S_ISREG(was->st_mode))
        return true;
    if (fstat(d->fd, &is) != 0)
        return err_sys(err, ERR_IO, errno, "cannot get the file status");
    if (is.st_size != was->st_size || is.st_mtim.tv_sec != was->st_mtim.tv_sec
        || is.st_mtim.tv_nsec != was->st_mtim.tv_nsec)
        return err_set(err, ERR_IO, "file changed while being read (is it still being written?)");
    return true;
}

static void
file_drop(struct source_layer *l, uint64_t from, uint64_t to)
{
    struct descriptor *d = (struct descriptor *)l;
    drop_range(&d->drop, d->fd, d->base + from, d->base + to);
}

static void
descriptor_close(struct source_layer *l)
{
    struct descriptor *d = (struct descriptor *)l;
    drop_clear(&d->drop, d->fd);
    if (d->own && d->fd >= 0)
        close(d->fd);
    free(d);
}

static const struct layer_kind file_kind = {
    .seekable = true,
    .some = file_some,
    .close = descriptor_close,
    .drop = file_drop,
    .unchanged = descriptor_unchanged,
};

static const struct layer_kind pipe_kind = {
    .some = pipe_some,
    .close = descriptor_close,
    .unchanged = descriptor_unchanged,
};

/* Decides what kind of input the descriptor is. */
static bool
descriptor_look(struct descriptor *d, bool pipe_ok, const char *shown, struct inputs *inputs, struct err *err)
{
    struct stat *st = &d->opened;
    if (fstat(d->fd, st) != 0)
        return err_sys(err, ERR_OPEN, errno, "cannot get the file status");
    if (S_ISREG(st->st_mode) && inputs && !inputs_add(inputs, st->st_dev, st->st_ino, shown, err))
        return false;
    if (S_ISREG(st->st_mode) && lseek(d->fd, 0, SEEK_CUR) == 0) {
        d->layer.kind = &file_kind;
        d->layer.size = (uint64_t)st->st_size;
        d->layer.changed = (uint64_t)st->st_mtim.tv_sec * 1000000000 + (uint64_t)st->st_mtim.tv_nsec;
        return true;
    }
    if (S_ISDIR(st->st_mode))
        return err_set(err, ERR_OPEN, "is a directory");
    if (!pipe_ok)
        return err_set(err, ERR_OPEN, "not a regular file");
    int flags = fcntl(d->fd, F_GETFL);
    if (d->own && flags >= 0)
        fcntl(d->fd, F_SETFL, flags & ~O_NONBLOCK);
    return true;
}

struct source_layer *
descriptor_open(const char *path, bool pipe_ok, const char *shown, struct inputs *inputs, struct err *err)
{
    struct descriptor *d = calloc(1, sizeof *d);
    if (!d) {
        err_memory(err, sizeof *d);
        return NULL;
    }
    d->layer.kind = &pipe_kind;
    d->layer.size = SOURCE_SIZE_UNKNOWN;
    drop_init(&d->drop);
    /* Opening a FIFO for reading waits for a writer; opening any other special file must not block. */
    struct stat st;
    int wait = O_NONBLOCK;
    if (!path || (pipe_ok && stat(path, &st) == 0 && S_ISFIFO(st.st_mode)))
        wait = 0;
    d->own = path != NULL;
    if (path)
        d->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | wait);
    else
        d->fd = STDIN_FILENO;
    int sys = errno;
    bool dangles = d->fd < 0 && sys == ENOENT && lstat(path, &st) == 0;
    if (dangles)
        err_set(err, ERR_OPEN, "dangling symbolic link");
    else if (d->fd < 0 && sys == ENOENT && strstr(path, "://"))
        err_set(err, ERR_OPEN, "no such file; to read a URL, use a pipe: curl -L URL | amn ..., or --fetch COMMAND (amn(7)); hf download "
            "ORG/NAME downloads a repository");
    else if (d->fd < 0)
        err_sys(err, ERR_OPEN, sys, "%s", "");
    else if (descriptor_look(d, pipe_ok, shown, inputs, err))
        return &d->layer;
    descriptor_close(&d->layer);
    return NULL;
}

struct source_layer *
descriptor_open_range(const struct bundled *file, const char *shown, struct inputs *inputs, struct err *err)
{
    if (file->deflated) {
        err_set(err, ERR_UNSUPPORTED, "it is compressed in its archive: extract it with 'unzip'");
        return NULL;
    }
    struct source_layer *l = descriptor_open(file->path, false, shown, inputs, err);
    struct descriptor *d = (struct descriptor *)l;
    if (!l)
        return NULL;
    if (file->at > l->size || file->nbytes > l->size - file->at) {
        err_set(err, ERR_MALFORMED, SOURCE_TRUNCATED, l->size, file->at + file->nbytes);
        descriptor_close(l);
        return NULL;
    }
    d->base = file->at;
    l->size = file->nbytes;
    return l;
}
