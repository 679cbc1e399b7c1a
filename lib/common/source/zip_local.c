/* Compares the local headers of a ZIP archive, and the data descriptors after members, with the directory. Headers that are
 * close together are read at once; of large members, only headers and descriptors are read. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/num.h"
#include "base/str.h"
#include "source/zip_priv.h"

enum { SHORT_DESCRIPTOR = 16, LONG_DESCRIPTOR = 24 };

static const char sig_local[4] = "PK\3\4", sig_descriptor[4] = "PK\7\10";

const uint8_t *
zip_look(struct zip_window *w, uint64_t at, size_t n, uint64_t more, struct err *err)
{
    assert(zip_within(w, at, n));
    if (at >= w->at && at - w->at <= w->n && n <= w->n - (at - w->at))
        return w->p + (at - w->at);
    w->n = (size_t)num_min(num_max(n, more), num_min(w->end - at, sizeof w->p));
    w->at = at;
    if (source_read(w->src, at, w->p, w->n, err))
        return w->p;
    w->n = 0;
    return NULL;
}

enum {
    GUESS = 80,                 /* bytes of extra fields read along with a header; torch writes up to 67 */
    NEAR = 100                  /* gap between two headers that is read rather than skipped */
};

/* Returns how far to read for member i and those that follow closely. */
static uint64_t
near_end(const struct zip *zip, size_t i)
{
    uint64_t from = zip->member[i].header_at, end = from;
    for (; i < zip->n && zip->member[i].header_at <= end + NEAR && end - from < sizeof ((struct zip_window *)0)->p; i++)
        end = zip->member[i].header_at + LOCAL + zip->member[i].name_len + GUESS;
    return end;
}

/* Checks a local copy of a member's sizes. If a descriptor follows the member, they may be 0. */
static bool
check_copy(const struct zip_member *m, uint64_t at, uint64_t nbytes, uint64_t stored, struct err *err)
{
    bool later = m->flags & FLAG_DESCRIPTOR;
    return ((nbytes == m->nbytes || (later && nbytes == 0)) && (stored == m->stored || (later && stored == 0)))
        || zip_bad_member(err, m, at, "sizes differ between local header and directory");
}

/* Reads the extra fields of a local header, n bytes at `at`, and checks the sizes in a ZIP64 field. torch writes such a
 * field with just the offset, of 8 bytes, or with a C of 0. Sets *has_sizes if a field has both sizes. */
static bool
check_local_fields(struct zip_window *w, const struct zip_member *m, uint64_t at, uint64_t n, bool *has_sizes, struct err *err)
{
    enum { HEAD = 4, SIZES = 16 };
    *has_sizes = false;
    for (uint64_t end = at + n; at < end;) {
        const uint8_t *p = NULL;
        if (end - at >= HEAD && !(p = zip_look(w, at, HEAD, HEAD, err)))
            return false;
        uint16_t id = p ? load_le16(p) : 0, len = p ? load_le16(p + 2) : 0;
        if (!p || len > end - at - HEAD)
            return zip_bad_member(err, m, at, "an extra field overruns the local header");
        if (id == ZIP64_FIELD && len >= SIZES) {
            *has_sizes = true;
            p = zip_look(w, at + HEAD, SIZES, SIZES, err);
            if (!p || !check_copy(m, at, load_le64(p), load_le64(p + 8), err))
                return false;
        }
        at += HEAD + (uint64_t)len;
    }
    return true;
}

static bool
check_method(const struct zip_member *m, uint16_t method, struct err *err)
{
    char shown[STR_SHOWN];
    if (m->flags & FLAGS_SECRET)
        return err_at(err, ERR_UNSUPPORTED, m->header_at, "member %s: encrypted: decrypt it first",
            str_shown(shown, m->name, m->name_len));
    if (method != STORED && method != DEFLATED)
        return err_at(err, ERR_UNSUPPORTED, m->header_at, "member %s: compression method %u is not supported, only "
            "stored (0) and deflated (8): repack the archive", str_shown(shown, m->name, m->name_len), method);
    return true;
}

/* Compares a member with its local header and sets the offset of its bytes. */
static bool
read_local(struct zip_window *w, const struct zip *zip, size_t i, struct err *err)
{
    struct zip_member *m = &zip->member[i];
    uint16_t method = (uint16_t)m->at;
    uint64_t left = 0;
    if (w->end > m->header_at)
        left = w->end - m->header_at;
    if (left < LOCAL + (uint64_t)m->name_len)
        return zip_bad_member(err, m, m->header_at, "the local header is outside of the member area");
    const uint8_t *p = zip_look(w, m->header_at, LOCAL + m->name_len, near_end(zip, i) - m->header_at, err);
    if (!p)
        return false;
    if (!zip_is(p, sig_local))
        return zip_bad_member(err, m, m->header_at, "no local header at the offset that the directory gives");
    struct cursor c = { .p = p + 6, .left = LOCAL - 6, .at = m->header_at + 6 };
    uint16_t flags = cursor_u16(&c), local_method = cursor_u16(&c);
    cursor_take(&c, 4);
    uint32_t crc = cursor_u32(&c);
    uint32_t stored = cursor_u32(&c), nbytes = cursor_u32(&c);
    uint16_t name_len = cursor_u16(&c), extra_len = cursor_u16(&c);
    if (name_len != m->name_len || memcmp(p + LOCAL, m->name, name_len) != 0)
        return zip_bad_member(err, m, m->header_at, "name differs between local header and directory");
    if (local_method != method || ((flags ^ m->flags) & FLAGS_TOLD))
        return zip_bad_member(err, m, m->header_at, "method or flags differ between local header and directory");
    m->at = m->header_at + LOCAL + name_len + extra_len;
    if (m->at > w->end || m->stored > w->end - m->at)
        return zip_bad_member(err, m, m->header_at, "the member extends past the end of the member area");
    if (crc != m->crc && !((flags & FLAG_DESCRIPTOR) && crc == 0))
        return zip_bad_member(err, m, m->header_at, "CRC-32 differs between local header and directory");
    bool has_sizes;
    if (!check_local_fields(w, m, m->header_at + LOCAL + name_len, extra_len, &has_sizes, err))
        return false;
    return check_copy(m, m->header_at, has_sizes && nbytes == UINT32_MAX ? m->nbytes : nbytes,
        has_sizes && stored == UINT32_MAX ? m->stored : stored, err) && check_method(m, method, err);
}

/* Checks that nothing but a descriptor is between the end of a member and `next`. */
static bool
check_gap(struct zip_window *w, const struct zip_member *m, bool files, uint64_t next, uint64_t want, struct err *err)
{
    uint64_t end = m->at + m->stored, gap = next - end;
    if (next < end)
        return zip_bad_member(err, m, end, "overlaps the next member or the directory");
    if (files)
        return true;
    if (!(m->flags & FLAG_DESCRIPTOR))
        return gap == 0 || zip_bad_member(err, m, end, "followed by bytes that belong to no member");
    if (gap != SHORT_DESCRIPTOR && gap != LONG_DESCRIPTOR)
        return zip_bad_member(err, m, end, "not followed by a data descriptor of 16 or 24 bytes");
    if (!zip_within(w, end, (size_t)gap))
        return zip_bad_member(err, m, end, "the data descriptor is outside of the member area");
    const uint8_t *p = zip_look(w, end, (size_t)gap, want - end, err);
    if (!p)
        return false;
    bool wide = gap == LONG_DESCRIPTOR;
    uint64_t stored = wide ? load_le64(p + 8) : load_le32(p + 8), nbytes = wide ? load_le64(p + 16) : load_le32(p + 12);
    if (!zip_is(p, sig_descriptor) || load_le32(p + 4) != m->crc || stored != m->stored || nbytes != m->nbytes)
        return zip_bad_member(err, m, end, "the data descriptor differs from the directory");
    return true;
}

/* Compares every member with its local header, and checks that together they fill the file up to the directory. */
bool
zip_read_locals(struct zip *zip, struct source *src, uint64_t end, struct err *err)
{
    struct zip_window *w = malloc(sizeof *w);
    uint64_t sum = 0;
    bool ok = w || err_memory(err, sizeof *w);
    if (ok) {
        w->src = src;
        w->end = end;
        w->at = w->n = 0;
    }
    uint64_t first = end;
    if (zip->n != 0)
        first = zip->member[0].header_at;
    if (ok && first != 0 && !zip->files)
        ok = err_at(err, ERR_MALFORMED, 0, "ZIP archive: %" PRIu64 " bytes before the first member", first);
    for (size_t i = 0; ok && i < zip->n; i++) {
        struct zip_member *m = &zip->member[i];
        bool last = i + 1 == zip->n;
        ok = read_local(w, zip, i, err)
            && check_gap(w, m, zip->files, last ? end : m[1].header_at, last ? end : near_end(zip, i + 1), err);
        m->out_at = sum;
        if (ok && !num_add(&sum, sum, m->nbytes))
            ok = zip_bad_member(err, m, m->header_at, "total size of the members overflows 64 bits");
    }
    free(w);
    return ok;
}
