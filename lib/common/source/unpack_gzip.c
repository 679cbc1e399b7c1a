/* gzip, by zlib. libarchive is not used because it does not verify the checksums of gzip. */
#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/num.h"
#include "source/unpack_priv.h"

enum { GZIP_ONLY = 16 + MAX_WBITS };    /* zlib: expect a gzip header, any window */

struct gzip {
    z_stream z;
    bool between;               /* a member has ended, and the next has not begun */
};

static bool
gzip_open(struct unpack *u, struct err *err)
{
    struct gzip *g = calloc(1, sizeof *g);
    if (!g)
        return err_memory(err, sizeof *g);
    if (inflateInit2(&g->z, GZIP_ONLY) != Z_OK) {
        free(g);
        return err_memory(err, 0);
    }
    u->engine = g;
    return true;
}

static void
gzip_close(struct unpack *u)
{
    struct gzip *g = u->engine;
    inflateEnd(&g->z);
    free(g);
}

/* Makes sure that there is input, unless it has ended. Sets *more to whether there is. */
static bool
take_input(struct unpack *u, bool *more, struct err *err)
{
    struct gzip *g = u->engine;
    const uint8_t *p;
    size_t n;
    if (g->z.avail_in == 0) {
        if (!unpack_input(u, &p, &n, err))
            return false;
        g->z.next_in = (Bytef *)p;          /* not modified: zlib merely lacks the const */
        g->z.avail_in = (uInt)n;
    }
    *more = g->z.avail_in != 0;
    return true;
}

/* Reads what follows a member: another one, or zeros to the end (tape blocks), as gzip allows. Sets *more if there is
 * another. */
static bool
find_member(struct unpack *u, bool *more, struct err *err)
{
    struct gzip *g = u->engine;
    bool padded = false;
    while (take_input(u, more, err) && *more) {
        if (*g->z.next_in == 0x1f && !padded) {
            g->between = false;
            return inflateReset(&g->z) == Z_OK || err_at(err, ERR_BUG, u->used, "zlib reset failed");
        }
        if (*g->z.next_in != 0)
            return err_at(err, ERR_MALFORMED, u->used, "trailing data after the gzip stream");
        padded = true;
        g->z.next_in++;
        g->z.avail_in--;
        u->used++;
    }
    return err->kind == ERR_NONE;
}

static bool
gzip_some(struct unpack *u, void *buf, size_t n, size_t *got, struct err *err)
{
    struct gzip *g = u->engine;
    uInt room = (uInt)num_min(n, UINT_MAX);
    bool more = true;
    g->z.next_out = buf;
    g->z.avail_out = room;
    while (g->z.avail_out == room) {
        if (g->between && (!find_member(u, &more, err) || !more))
            break;
        if (!take_input(u, &more, err))
            break;
        if (!more) {
            unpack_truncated(u, u->made + room - g->z.avail_out, err);
            break;
        }
        uInt before = g->z.avail_in;
        int r = inflate(&g->z, Z_NO_FLUSH);
        u->used += before - g->z.avail_in;
        if (r == Z_STREAM_END)
            g->between = true;
        else if (r == Z_MEM_ERROR)
            err_memory(err, 0);
        else if (r != Z_OK)
            err_at(err, ERR_MALFORMED, u->used, "corrupt gzip stream: %s", str_or(g->z.msg, "no progress"));
        if (err->kind != ERR_NONE)
            break;
    }
    *got = room - g->z.avail_out;
    return err->kind == ERR_NONE;
}

const struct packing packing_gzip = {
    .name = "gzip",
    .magic = "\x1f\x8b\x08",
    .len = 3,
    .open = gzip_open,
    .some = gzip_some,
    .close = gzip_close,
};
