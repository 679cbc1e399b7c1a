#include "source/source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/num.h"
#include "base/str.h"
#include "source/source_priv.h"

enum { HEAD_STEP = 64 << 10 };      /* the head grows by reads of at least this */

/* What kind of input the descriptor is. */
static bool
look(struct source *src, bool pipe_ok, struct inputs *inputs, struct err *err)
{
    struct stat *st = &src->opened;
    if (fstat(src->fd, st) != 0)
        return err_sys(err, ERR_OPEN, errno, "it cannot be examined");
    if (S_ISREG(st->st_mode) && inputs && !inputs_add(inputs, st->st_dev, st->st_ino, src->name, err))
        return false;
    if (S_ISREG(st->st_mode) && lseek(src->fd, 0, SEEK_CUR) == 0) {
        src->seekable = true;
        src->size = (uint64_t)st->st_size;
        return true;
    }
    if (S_ISDIR(st->st_mode))
        return err_set(err, ERR_OPEN, ERR_NO_OFFSET, "it is a directory");
    if (!pipe_ok)
        return err_set(err, ERR_OPEN, ERR_NO_OFFSET, "it is not a regular file");
    int flags = fcntl(src->fd, F_GETFL);
    if (src->own_fd && flags >= 0)
        fcntl(src->fd, F_SETFL, flags & ~O_NONBLOCK);
    src->size = SOURCE_SIZE_UNKNOWN;
    return true;
}

static char *
shown_name(const char *path)
{
    struct str s = { 0 };
    if (path)
        str_add_escaped(&s, path, strlen(path));
    else
        str_text(&s, "(standard input)");
    return s.failed ? NULL : s.p;
}

bool
source_open(struct source **out, const char *path, bool pipe_ok, struct inputs *inputs, struct err *err)
{
    struct source *src = calloc(1, sizeof *src);
    if (!src)
        return err_memory(err, sizeof *src);
    *out = src;
    src->fd = src->spool = -1;
    pthread_mutex_init(&src->behind.lock, NULL);
    src->name = shown_name(path);
    if (!src->name)
        return err_memory(err, path ? strlen(path) : 0);
    /* A FIFO opens for reading only when someone writes; anything else that is no file must not block. */
    struct stat st;
    int wait = !path || (pipe_ok && stat(path, &st) == 0 && S_ISFIFO(st.st_mode)) ? 0 : O_NONBLOCK;
    src->own_fd = path != NULL;
    src->fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | wait) : STDIN_FILENO;
    if (src->fd < 0)
        err_sys(err, ERR_OPEN, errno, "%s", "");
    else
        look(src, pipe_ok, inputs, err);
    if (err->kind != ERR_NONE)
        return err_in_file(err, src->name);
    return true;
}

void
source_close(struct source *src)
{
    if (!src)
        return;
    drop_rest(src);
    pthread_mutex_destroy(&src->behind.lock);
    if (src->own_fd && src->fd >= 0)
        close(src->fd);
    if (src->spool >= 0)
        close(src->spool);
    free(src->head);
    for (size_t i = 0; i < src->nkept; i++)
        free(src->kept[i].p);
    free(src->kept);
    free(src->name);
    free(src);
}

const char *
source_name(const struct source *src)
{
    return src->name;
}

bool
source_seekable(const struct source *src)
{
    return src->seekable;
}

uint64_t
source_size(const struct source *src)
{
    return src->size;
}

/* n bytes at `at` of a descriptor that can seek; fewer: the file shrank under us. */
static bool
read_fully(struct source *src, int fd, uint64_t at, uint8_t *buf, size_t n, struct err *err)
{
    while (n != 0) {
        ssize_t got = pread(fd, buf, n, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            err_sys(err, ERR_IO, errno, "it cannot be read");
            return err_in_file(err, src->name);
        }
        if (got == 0) {
            err_set(err, ERR_IO, at, "it became shorter while it was read");
            return err_in_file(err, src->name);
        }
        buf += got;
        at += (uint64_t)got;
        n -= (size_t)got;
    }
    return true;
}

/* Room in the head up to offset `end`; it doubles, but not beyond a file. */
static bool
reserve_head(struct source *src, uint64_t end, struct err *err)
{
    uint64_t need = end - src->gone;
    if (need <= src->room)
        return true;
    uint64_t room = num_max(need, num_min(2 * src->room, src->size - src->gone));
    uint8_t *head = realloc(src->head, (size_t)room);
    if (!head)
        return err_memory(err, room);
    src->head = head;
    src->room = room;
    return true;
}

/* Read on until the head has n bytes of the input, or all. */
static bool
grow_head(struct source *src, uint64_t n, struct err *err)
{
    uint64_t most = num_min(src->size, src->gone + SOURCE_HEAD_MAX);
    if (n > src->gone + SOURCE_HEAD_MAX)
        return err_set(err, ERR_LIMIT, ERR_NO_OFFSET, "header: more than %" PRIu64 " bytes", (uint64_t)SOURCE_HEAD_MAX);
    while (src->have < n && !src->ended) {
        uint64_t end = num_min(num_max(n, src->have + HEAD_STEP), most);
        size_t want = (size_t)(end - src->have), got = want;
        if (want == 0)
            break;
        if (!reserve_head(src, end, err))
            return false;
        uint8_t *to = src->head + (src->have - src->gone);
        if (!(src->seekable ? read_fully(src, src->fd, src->have, to, want, err) : pipe_some(src, to, want, &got, err)))
            return false;
        src->have += got;
    }
    return true;
}

bool
source_head(struct source *src, uint64_t n, const uint8_t **p, uint64_t *have, struct err *err)
{
    if (!grow_head(src, n, err))
        return err_in_file(err, src->name);
    static const uint8_t nothing[1];
    *p = src->head ? src->head : nothing;
    *have = src->have;
    return true;
}

void
source_head_done(struct source *src, uint64_t end)
{
    size_t left = src->seekable || end >= src->have ? 0 : (size_t)(src->have - end);
    if (left != 0) {
        memmove(src->head, src->head + (end - src->gone), left);
        uint8_t *head = realloc(src->head, left);
        src->room = head ? left : src->room;
        src->head = head ? head : src->head;
    } else {
        free(src->head);
        src->head = NULL;
        src->room = 0;
    }
    src->have = src->seekable ? 0 : src->have;
    src->gone = src->have - left;
}

bool
source_ended_by(struct source *src, uint64_t n, bool *ended, struct err *err)
{
    if (!src->seekable && !grow_head(src, n, err))
        return err_in_file(err, src->name);
    *ended = src->seekable || src->ended;
    return true;
}

bool
source_read(struct source *src, uint64_t at, void *buf, size_t n, struct err *err)
{
    uint8_t *to = buf;
    /* What lies in the head is there for good; a file reads it again, so that large reads stay whole. */
    if (at >= src->gone && at < src->have && (!src->seekable || src->spool >= 0)) {
        size_t part = (size_t)num_min(n, src->have - at);
        memcpy(to, src->head + (at - src->gone), part);
        to += part;
        at += part;
        n -= part;
    }
    if (n == 0)
        return true;
    if (src->spool >= 0)
        return read_fully(src, src->spool, at - src->spool_base, to, n, err);
    if (src->seekable)
        return read_fully(src, src->fd, at, to, n, err);
    return pipe_read(src, at, to, n, err);
}

bool
source_finish(struct source *src, uint64_t end, bool tail_ok, struct err *err)
{
    uint64_t size = src->size;
    if (!src->seekable) {
        if (!pipe_skip(src, UINT64_MAX, err))
            return false;
        size = src->pos;
    }
    if (size < end)
        err_set(err, ERR_MALFORMED, size, "truncated: it has %" PRIu64 " bytes, its tensors need %" PRIu64, size, end);
    else if (size > end && !tail_ok)
        err_set(err, ERR_MALFORMED, end, "%" PRIu64 " bytes follow the last tensor (MetadataIncompleteBuffer)",
            size - end);
    return err->kind == ERR_NONE || err_in_file(err, src->name);
}

bool
source_unchanged(const struct source *src, struct err *err)
{
    const struct stat *was = &src->opened;
    struct stat is;
    if (!S_ISREG(was->st_mode))
        return true;
    if (fstat(src->fd, &is) != 0)
        err_sys(err, ERR_IO, errno, "it cannot be examined");
    else if (is.st_size != was->st_size || is.st_mtim.tv_sec != was->st_mtim.tv_sec
        || is.st_mtim.tv_nsec != was->st_mtim.tv_nsec)
        err_set(err, ERR_IO, ERR_NO_OFFSET, "it changed while it was read");
    return err->kind == ERR_NONE || err_in_file(err, src->name);
}
