/* A layer that holds the rest of a forward-only input in an unlinked temporary file, which makes it seekable. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "base/signals.h"
#include "base/str.h"
#include "source/source_priv.h"

enum { SPOOL_STEP = 256 << 10 };

struct spool {
    struct source_layer layer;
    char dir[STR_SHOWN];        /* its directory, for messages */
    int fd;                     /* -1 if it could not be created */
    uint64_t base;              /* input offset of its first byte */
};

/* Reports a failed call on the file, with its directory and errno. */
static bool
spool_failed(const char *dir, struct err *err, const char *what)
{
    if (err->kind != ERR_NONE)
        return false;
    err_sys(err, ERR_IO, errno, "cannot %s the temporary file for the input (set TMPDIR to another directory)", what);
    return err_in_file(err, dir);
}

static bool
spool_some(struct source_layer *l, uint64_t at, void *buf, size_t n, size_t *got, struct err *err)
{
    const struct spool *s = (const struct spool *)l;
    ssize_t r;
    while ((r = pread(s->fd, buf, n, (off_t)(at - s->base))) < 0 && errno == EINTR)
        ;
    if (r < 0)
        return spool_failed(s->dir, err, "read");
    *got = (size_t)r;
    return true;
}

static void
spool_close(struct source_layer *l)
{
    struct spool *s = (struct spool *)l;
    if (s->fd >= 0)
        close(s->fd);
    free(s);
}

static const struct layer_kind spool_kind = {
    .seekable = true,
    .some = spool_some,
    .close = spool_close,
};

/* Creates a file without a name in TMPDIR. Returns -1 with the error set on failure; sets `shown` to the directory. On file
 * systems where a name is needed first, signals are blocked until it is removed. */
static int
open_nameless(char shown[STR_SHOWN], struct err *err)
{
    const char *dir = getenv("TMPDIR");
    struct str path = { 0 };
    sigset_t old;
    if (!dir || !*dir)
        dir = "/tmp";
    str_shown(shown, dir, strlen(dir));
#ifdef O_TMPFILE
    int made = open(dir, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
    if (made >= 0)
        return made;
#endif
    str_format(&path, "%s/amn-spool-XXXXXX", dir);
    if (path.failed) {
        err_memory(err, path.room);
        return -1;
    }
    signals_hold(&old);
    int fd = mkostemp(path.p, O_CLOEXEC);
    if (fd >= 0)
        unlink(path.p);
    signals_release(&old);
    if (fd < 0)
        spool_failed(shown, err, "create");
    str_clear(&path);
    return fd;
}

static bool
write_fully(const struct spool *s, const uint8_t *p, size_t n, struct err *err)
{
    while (n != 0) {
        ssize_t put = write(s->fd, p, n);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return spool_failed(s->dir, err, "write");
        p += put;
        n -= (size_t)put;
    }
    return true;
}

/* Copies the rest of src to the file, up to offset `end`. */
static bool
spool_fill(const struct spool *s, struct source *src, uint64_t end, struct err *err)
{
    uint8_t *buf = malloc(SPOOL_STEP);
    if (!buf)
        return err_memory(err, SPOOL_STEP);
    bool ok = true;
    if (src->pos < end)
        meter_spool(src->meter, end == SOURCE_SIZE_UNKNOWN ? METER_UNKNOWN : end - src->pos);
    while (ok && !src->ended && src->pos < end) {
        size_t got = 0;
        ok = forward_some(src, buf, (size_t)num_min(SPOOL_STEP, end - src->pos), &got, err)
            && write_fully(s, buf, got, err);
        meter_add(src->meter, got);
    }
    free(buf);
    return ok;
}

static bool
forbidden(const struct source *src, struct err *err)
{
    const char *instead = "give a file name instead of a pipe";
    if (source_is_file(src))
        instead = "decompress it first";
    if (src->twice)
        return err_set(err, ERR_UNSUPPORTED, "%s reads its input twice: %s, or drop --no-spool", src->twice, instead);
    return err_set(err, ERR_LIMIT, "spool: reading the input out of order requires a temporary file, "
        "but --no-spool is given: %s", instead);
}

bool
source_spool(struct source *src, uint64_t end, bool tail_ok, struct err *err)
{
    if (src->seekable)
        return true;
    if (src->no_spool)
        return forbidden(src, err);
    struct spool *s = calloc(1, sizeof *s);
    if (!s)
        return err_memory(err, sizeof *s);
    s->layer = (struct source_layer){ .kind = &spool_kind, .under = src->top };
    s->base = src->pos;
    s->fd = open_nameless(s->dir, err);
    if (s->fd < 0 || !spool_fill(s, src, end, err)
        || (end != SOURCE_SIZE_UNKNOWN && !source_finish(src, end, tail_ok, err))) {
        spool_close(&s->layer);
        return false;
    }
    s->layer.size = src->size = src->pos;
    src->seekable = true;
    src->top = &s->layer;
    return true;
}
