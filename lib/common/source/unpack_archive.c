/* zstd and xz, by libarchive. It sets no bound to the memory that a stream asks for, so the frames are looked at before
 * it gets them. */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "source/frames.h"
#include "source/unpack_priv.h"

struct archive_state {
    struct archive *archive;
    struct frames frames;
    const uint8_t *p;           /* n bytes that libarchive has made, not yet taken; borrowed until its next call */
    size_t n;
    bool ended;
    struct err *err;            /* of the call that is being made */
};

/* libarchive asks for input. */
static ssize_t
give(struct archive *archive, void *of, const void **p)
{
    struct unpack *u = of;
    struct archive_state *s = u->engine;
    const uint8_t *in;
    size_t n;
    if (unpack_input(u, &in, &n, s->err) && frames_pass(&s->frames, in, n, s->err)) {
        *p = in;
        return (ssize_t)n;
    }
    archive_set_error(archive, EIO, "no input");
    return ARCHIVE_FATAL;
}

/* A call of libarchive failed. It does not always tell that memory was what failed; malloc() leaves ENOMEM in errno,
 * which was 0. */
static bool
failed(struct unpack *u, struct err *err)
{
    struct archive_state *s = u->engine;
    int sys = errno;
    if (err->kind != ERR_NONE)          /* give() has said it */
        return false;
    if (sys == ENOMEM || archive_errno(s->archive) == ENOMEM)
        return err_set(err, ERR_LIMIT, ERR_NO_OFFSET, "memory: there is none to decompress %s", u->packing->name);
    if (u->in_ended)
        return err_set(err, ERR_MALFORMED, u->used, "truncated: the %s stream has no end", u->packing->name);
    const char *why = archive_error_string(s->archive);
    return err_set(err, ERR_MALFORMED, u->used, "the %s stream is broken: %s", u->packing->name, why ? why : "no reason");
}

/* Put a filter on the archive, and what takes any bytes behind it, or none. */
static bool
set_up(struct unpack *u, int (*filter)(struct archive *), struct err *err)
{
    struct archive_state *s = u->engine;
    s->archive = archive_read_new();
    if (!s->archive)
        return err_memory(err, 0);
    int r = filter(s->archive);
    if (r == ARCHIVE_WARN)              /* it would start a program */
        return err_set(err, ERR_UNSUPPORTED, 0, "this libarchive does not know %s: %s -dc FILE | amn-inspect",
            u->packing->name, u->packing->name);
    return (r == ARCHIVE_OK && archive_read_support_format_raw(s->archive) == ARCHIVE_OK
        && archive_read_support_format_empty(s->archive) == ARCHIVE_OK) || failed(u, err);
}

static bool
archive_begin(struct unpack *u, int (*filter)(struct archive *), struct err *err)
{
    struct archive_state *s = u->engine;
    struct archive_entry *entry;
    s->err = err;
    errno = 0;
    if (!set_up(u, filter, err))
        return false;
    if (archive_read_open(s->archive, u, NULL, give, NULL) != ARCHIVE_OK)
        return failed(u, err);
    /* Itself, and the end of the chain; libarchive would go on into what is compressed twice. */
    if (archive_filter_count(s->archive) > 2)
        return unpack_twice(u->packing->name, u->packing->name, err);
    int r = archive_read_next_header(s->archive, &entry);
    if (r != ARCHIVE_OK && r != ARCHIVE_EOF)
        return failed(u, err);
    s->ended = r == ARCHIVE_EOF;
    return true;
}

static bool
archive_some(struct unpack *u, void *buf, size_t n, size_t *got, struct err *err)
{
    struct archive_state *s = u->engine;
    const void *p;
    la_int64_t at;
    s->err = err;
    errno = 0;
    while (s->n == 0 && !s->ended) {
        int r = archive_read_data_block(s->archive, &p, &s->n, &at);
        if (r != ARCHIVE_OK && r != ARCHIVE_EOF)
            return failed(u, err);
        s->p = p;
        s->ended = r == ARCHIVE_EOF;
        if (s->ended)
            s->n = 0;
    }
    u->used = (uint64_t)archive_filter_bytes(s->archive, -1);
    *got = (size_t)num_min(n, s->n);
    if (*got != 0)
        memcpy(buf, s->p, *got);
    s->p += *got;
    s->n -= *got;
    return true;
}

static void
archive_end(struct unpack *u)
{
    struct archive_state *s = u->engine;
    archive_read_free(s->archive);      /* takes NULL */
    free(s);
}

static struct archive_state *
new_state(struct unpack *u, struct err *err)
{
    struct archive_state *s = u->engine = calloc(1, sizeof *s);
    if (!s)
        err_memory(err, sizeof *s);
    return s;
}

static bool
zstd_open(struct unpack *u, struct err *err)
{
    struct archive_state *s = new_state(u, err);
    if (s)
        frames_of_zstd(&s->frames, u->window);
    return s && archive_begin(u, archive_read_support_filter_zstd, err);
}

static bool
xz_open(struct unpack *u, struct err *err)
{
    struct archive_state *s = new_state(u, err);
    if (s)
        frames_of_xz(&s->frames, u->window);
    return s && archive_begin(u, archive_read_support_filter_xz, err);
}

const struct packing packing_zstd = {
    .name = "zstd",
    .magic = "\x28\xb5\x2f\xfd",
    .len = 4,
    .open = zstd_open,
    .some = archive_some,
    .close = archive_end,
};

const struct packing packing_xz = {
    .name = "xz",
    .magic = "\xfd" "7zXZ\0",
    .len = 6,
    .open = xz_open,
    .some = archive_some,
    .close = archive_end,
};
