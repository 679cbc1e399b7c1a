/* zstd and xz, by libarchive. It does not limit the memory that a stream requests, so the frames are checked before
 * libarchive reads them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "source/frames.h"
#include "source/libarchive.h"
#include "source/unpack_priv.h"

struct archive_state {
    struct libarchive lib;
    struct archive *archive;
    struct frames frames;
    const uint8_t *p;           /* n bytes that libarchive has produced and that are not yet copied; borrowed until its next
                                 * call */
    size_t n;
    bool ended;
    struct err *err;            /* of the call in progress */
};

/* Callback by which libarchive reads input. */
static ssize_t
read_callback(struct archive *archive, void *of, const void **p)
{
    struct unpack *u = of;
    struct archive_state *s = u->engine;
    const uint8_t *in;
    size_t n;
    if (unpack_input(u, &in, &n, s->err) && frames_pass(&s->frames, in, n, s->err)) {
        *p = in;
        return (ssize_t)n;
    }
    s->lib.set_error(archive, EIO, "no input");
    return ARCHIVE_FATAL;
}

/* Reports a failed libarchive call, unless the read callback has said why. It does not always say that it ran out of memory; but
 * malloc() leaves ENOMEM in errno, which was set to 0. */
static bool
unpack_archive_failed(struct unpack *u, struct err *err)
{
    struct archive_state *s = u->engine;
    int sys = errno;
    if (sys == ENOMEM || s->lib.error_number(s->archive) == ENOMEM)
        return err_set(err, ERR_LIMIT, "out of memory while decompressing %s", u->packing->name);
    if (u->in_ended)
        return unpack_truncated(u, u->made, err);
    la_int64_t at = s->lib.filter_bytes(s->archive, -1);
    const char *why = s->lib.error_string(s->archive);
    return err_at(err, ERR_MALFORMED, at < 0 ? u->used : (uint64_t)at, "corrupt %s stream, here or within the next 64 "
        "KiB: %s", u->packing->name, str_or(why, "unknown error"));
}

/* Sets up an archive that accepts this compression, and takes the decompressed bytes, if any, as its one member. */
static bool
set_up(struct unpack *u, struct err *err)
{
    struct archive_state *s = u->engine;
    const struct libarchive *lib = &s->lib;
    s->archive = lib->read_new();
    if (!s->archive)
        return err_memory(err, 0);
    int r;
    if (u->packing == &packing_xz)
        r = lib->read_support_filter_xz(s->archive);
    else
        r = lib->read_support_filter_zstd(s->archive);
    if (r == ARCHIVE_WARN)              /* it would run a program */
        return err_set(err, ERR_UNSUPPORTED, "compressed with %s, which this libarchive does not support:"
            " %s -dc FILE | amn-inspect", u->packing->name, u->packing->name);
    return (r == ARCHIVE_OK && lib->read_support_format_raw(s->archive) == ARCHIVE_OK
        && lib->read_support_format_empty(s->archive) == ARCHIVE_OK) || unpack_archive_failed(u, err);
}

static bool
archive_begin(struct unpack *u, struct err *err)
{
    struct archive_state *s = u->engine = calloc(1, sizeof *s);
    struct archive_entry *entry;
    if (!s)
        return err_memory(err, sizeof *s);
    s->err = err;
    (u->packing == &packing_xz ? frames_of_xz : frames_of_zstd)(&s->frames, u->window);
    if (!libarchive_open(&s->lib, u->packing->name, err))
        return false;
    errno = 0;
    if (!set_up(u, err))
        return false;
    if (s->lib.read_open(s->archive, u, NULL, read_callback, NULL) != ARCHIVE_OK)
        return unpack_archive_failed(u, err);
    /* Checks that the filter chain is this compression and nothing else. libarchive also decompresses a second layer, and
     * passes unknown data through. */
    int filters = s->lib.filter_count(s->archive);
    if (filters < 2)
        return err_set(err, ERR_UNSUPPORTED, "compressed with a variant of %s that this libarchive does "
            "not support: %s -dc FILE | amn-inspect", u->packing->name, u->packing->name);
    if (filters > 2)
        return unpack_refuse_twice(u->packing->name, u->packing->name, err);
    int r = s->lib.read_next_header(s->archive, &entry);
    if (r != ARCHIVE_OK && r != ARCHIVE_EOF)
        return unpack_archive_failed(u, err);
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
        int r = s->lib.read_data_block(s->archive, &p, &s->n, &at);
        if (r != ARCHIVE_OK && r != ARCHIVE_EOF)
            return unpack_archive_failed(u, err);
        s->p = p;
        s->ended = r == ARCHIVE_EOF;
        if (s->ended)
            s->n = 0;
    }
    u->used = (uint64_t)s->lib.filter_bytes(s->archive, -1);
    *got = (size_t)num_min(n, s->n);
    if (*got == 0)              /* p may be NULL */
        return true;
    memcpy(buf, s->p, *got);
    s->p += *got;
    s->n -= *got;
    return true;
}

static void
archive_end(struct unpack *u)
{
    struct archive_state *s = u->engine;
    if (s->archive)
        s->lib.read_free(s->archive);
    libarchive_close(&s->lib);
    free(s);
}

const struct packing packing_zstd = {
    .name = "zstd",
    .magic = "\x28\xb5\x2f\xfd",
    .len = 4,
    .open = archive_begin,
    .some = archive_some,
    .close = archive_end,
};

/* A stream may begin with a skippable frame, whose magic ends in any four bits. */
const struct packing packing_zstd_skipped = {
    .name = "zstd",
    .magic = "\x50\x2a\x4d\x18",
    .len = 4,
    .loose = 0x0f,
    .open = archive_begin,
    .some = archive_some,
    .close = archive_end,
};

const struct packing packing_xz = {
    .name = "xz",
    .magic = "\xfd" "7zXZ\0",
    .len = 6,
    .open = archive_begin,
    .some = archive_some,
    .close = archive_end,
};
