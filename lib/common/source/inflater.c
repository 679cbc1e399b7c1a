#include "source/inflater_priv.h"

#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/num.h"
#include "base/str.h"

enum { HEAD_STEP = 512 };       /* compressed bytes per read for the head of a member */

struct inflater {
    z_stream z;
    const struct zip_member *m;
    bool check;                     /* verify the CRC-32 at the end */
    bool ended;                     /* the deflated stream has ended */
    uint64_t taken;                 /* compressed bytes read so far */
    uint64_t made;
    uint32_t crc;
    size_t step;                    /* compressed bytes per read */
    uint8_t in[INFLATER_STEP];
};

struct inflater *
inflater_new(size_t step, struct err *err)
{
    struct inflater *f = calloc(1, sizeof *f);
    if (f && inflateInit2(&f->z, -MAX_WBITS) == Z_OK) {
        f->step = step;
        return f;
    }
    free(f);
    err_memory(err, sizeof *f);
    return NULL;
}

void
inflater_free(struct inflater *f)
{
    if (!f)
        return;
    inflateEnd(&f->z);
    free(f);
}

void
inflater_begin(struct inflater *f, const struct zip_member *m, bool check)
{
    inflateReset(&f->z);            /* cannot fail: the state is valid */
    f->z.avail_in = 0;
    f->m = m;
    f->check = check;
    f->ended = false;
    f->taken = f->made = 0;
    f->crc = 0;
}

uint32_t
zip_crc(uint32_t crc, const uint8_t *p, size_t n)
{
    return (uint32_t)crc32_z(crc, p, n);
}

/* Reports that the member differs from what the archive declares. */
static bool
inflater_bad(const struct zip_member *m, uint64_t at, struct err *err, const char *text)
{
    char shown[STR_SHOWN];
    return err_at(err, ERR_MALFORMED, at, "member %s: %s", str_shown(shown, m->name, m->name_len), text);
}

bool
inflater_bad_crc(const struct zip_member *m, struct err *err)
{
    return inflater_bad(m, m->at, err, "CRC-32 mismatch: the file is damaged");
}

/* Inflates until the output is full or the stream ends. */
static bool
run_stream(struct inflater *f, read_archive *read, void *of, struct err *err)
{
    const struct zip_member *m = f->m;
    while (f->z.avail_out != 0 && !f->ended) {
        if (f->z.avail_in == 0 && f->taken < m->stored) {
            size_t n = (size_t)num_min(f->step, m->stored - f->taken);
            if (!read(of, m->at + f->taken, f->in, n, err))
                return false;
            f->z.next_in = f->in;
            f->z.avail_in = (uInt)n;
            f->taken += n;
        }
        int r = inflate(&f->z, Z_NO_FLUSH);
        uint64_t at = m->at + f->taken - f->z.avail_in;
        f->ended = r == Z_STREAM_END;
        if (r == Z_MEM_ERROR)
            return err_memory(err, 0);
        if (r == Z_BUF_ERROR)
            return inflater_bad(m, at, err, "truncated deflate stream");
        if (r != Z_OK && r != Z_STREAM_END)
            return inflater_bad(m, at, err, "corrupt deflate stream");
    }
    return true;
}

/* Once the member is complete, checks that the stream ends there, and with the member's last byte in the archive. */
static bool
end_stream(struct inflater *f, read_archive *read, void *of, struct err *err)
{
    uint8_t surplus;
    f->z.next_out = &surplus;
    f->z.avail_out = 1;
    if (!run_stream(f, read, of, err))
        return false;
    if (f->z.avail_out == 0)
        return inflater_bad(f->m, f->m->at, err, "inflates to more bytes than its header declares");
    if (f->z.avail_in != 0 || f->taken != f->m->stored)
        return inflater_bad(f->m, f->m->at + f->taken - f->z.avail_in, err, "trailing data after its deflate stream");
    return !f->check || f->crc == f->m->crc || inflater_bad_crc(f->m, err);
}

bool
inflater_some(struct inflater *f, read_archive *read, void *of, uint8_t *buf, size_t n, size_t *got, struct err *err)
{
    uInt room = (uInt)num_min(num_min(n, f->m->nbytes - f->made), UINT_MAX);
    f->z.next_out = buf;
    f->z.avail_out = room;
    if (!run_stream(f, read, of, err))
        return false;
    *got = room - f->z.avail_out;
    f->made += *got;
    if (f->check)
        f->crc = zip_crc(f->crc, buf, *got);
    if (f->ended && f->made != f->m->nbytes)
        return inflater_bad(f->m, f->m->at, err, "inflates to fewer bytes than its header declares");
    return f->made != f->m->nbytes || end_stream(f, read, of, err);
}

static bool
read_source(void *of, uint64_t at, void *buf, size_t n, struct err *err)
{
    return source_read(of, at, buf, n, err);
}

/* Inflates the first n bytes of a deflated member, which must have that many. */
static bool
inflate_head(struct source *src, const struct zip_member *m, uint8_t *buf, size_t n, struct err *err)
{
    struct inflater *f = inflater_new(HEAD_STEP, err);
    bool ok = f != NULL;
    if (ok)
        inflater_begin(f, m, m->crc != 0);
    for (size_t have = 0, got; ok && have < n; have += got)
        ok = inflater_some(f, read_source, src, buf + have, n - have, &got, err);
    inflater_free(f);
    return ok;
}

bool
zip_head(struct source *src, const struct zip_member *m, void *buf, size_t n, size_t *got, struct err *err)
{
    *got = n = (size_t)num_min(n, m->nbytes);
    if (m->deflated)
        return inflate_head(src, m, buf, n, err);
    return source_read(src, m->at, buf, n, err) && (n < m->nbytes || m->crc == 0 || zip_crc(0, buf, n) == m->crc
        || inflater_bad_crc(m, err));
}
