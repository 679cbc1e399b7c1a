/* The rest of a pipe in an unlinked temporary file: the one way a pipe becomes seekable. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/signals.h"
#include "base/str.h"
#include "source/source_priv.h"

enum { SPOOL_STEP = 256 << 10 };

/* A new file without a name in TMPDIR, or -1 with the error set. Where files are only made with one, no signal leaves
 * it behind. */
static int
open_nameless(struct err *err)
{
    const char *dir = getenv("TMPDIR");
    struct str path = { 0 };
    sigset_t old;
    if (!dir || !*dir)
        dir = "/tmp";
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
    if (fd < 0) {
        char shown[STR_SHOWN];
        err_sys(err, ERR_IO, errno, "no temporary file can be made at %s", str_shown(shown, path.p, path.len));
    }
    str_clear(&path);
    return fd;
}

static bool
write_fully(int fd, const uint8_t *p, size_t n, struct err *err)
{
    while (n != 0) {
        ssize_t put = write(fd, p, n);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return err_sys(err, ERR_IO, errno, "the temporary file in TMPDIR cannot be written");
        p += put;
        n -= (size_t)put;
    }
    return true;
}

bool
source_spool(struct source *src, uint64_t *nbytes, struct err *err)
{
    *nbytes = 0;
    if (src->seekable)
        return true;
    uint8_t *buf = malloc(SPOOL_STEP);
    if (!buf)
        return err_memory(err, SPOOL_STEP);
    uint64_t base = src->pos;
    int fd = open_nameless(err);
    bool ok = fd >= 0;
    while (ok && !src->ended) {
        size_t got;
        ok = pipe_some(src, buf, SPOOL_STEP, &got, err) && write_fully(fd, buf, got, err);
    }
    free(buf);
    if (!ok) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    src->spool = fd;
    src->spool_base = base;
    src->size = src->pos;
    src->seekable = true;
    *nbytes = src->pos - base;
    return true;
}
