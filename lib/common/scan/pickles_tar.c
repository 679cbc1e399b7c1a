/* tar archives, as torch reads them: it tries to open any file as one first. */
#include <string.h>

#include "base/num.h"
#include "scan/pickles_priv.h"
#include "source/tar.h"
#include "source/within.h"

/* Scans the member after a header, up to `end`. If the reader of torch's own tar format has accounted for the archive,
 * members are pickles with numbers and storages in between. */
static bool
scan_member(struct scanner *s, const struct tar_member *m, uint64_t end, bool accounted)
{
    const char *name = (const char *)m->head;
    char shown[STR_SHOWN];
    struct source *inner = NULL;
    struct str path = { 0 };
    bool ok = pickles_path(s, &path, name, strnlen(name, TAR_NAME), s->err);
    const struct pickles_run run = { .member = path.p, .member_len = path.len, .gaps = true };
    if (ok && accounted)
        ok = pickles_run_at(s, &run, m->at, end - m->at);
    else if (ok && !pickles_is_program(s, path.p, path.len))
        ok = source_within(&inner, s->src, m->at, end - m->at, str_shown(shown, path.p, path.len), s->err)
            && pickles_inner(s, inner, path.p, path.len, false);
    str_clear(&path);
    return ok;
}

/* Reports a fault at `at`, and scans everything from there as raw bytes. */
static bool
scan_rest(struct scanner *s, uint64_t at, const char *fault)
{
    const struct pickles_run rest = { .member = s->member, .member_len = s->member_len, .gaps = true };
    pickles_fault(s, s->member, s->member_len, ERR_MALFORMED, at, "%s", fault);
    return pickles_run_at(s, &rest, at, source_size(s->src) - at);
}

/* Checks that only zeros follow the end of the archive. */
static bool
check_rest(struct scanner *s, uint64_t at)
{
    static const uint8_t zeros[TAR_BLOCK];
    uint8_t block[TAR_BLOCK];
    for (uint64_t size = source_size(s->src); at < size; at += TAR_BLOCK) {
        size_t n = (size_t)num_min(TAR_BLOCK, size - at);
        if (!source_read(s->src, at, block, n, s->err))
            return false;
        if (memcmp(block, zeros, n) != 0)
            return scan_rest(s, at, "trailing bytes after the end of the tar archive");
    }
    return true;
}

/* Reports members that tarfile and other readers interpret differently: a link or folder with data, a size given by another
 * header. */
static void
check_type(struct scanner *s, const struct tar_member *m, uint64_t n)
{
    char type = (char)m->head[TAR_TYPE_AT];
    bool plain = type == '\0' || type == '0' || type == '7' || type == 'L' || type == 'K';
    bool dataless = type >= '1' && type <= '6' && n == 0;
    if (type == 'x' || type == 'g' || type == 'X') {
        char text[4 << 10];
        size_t have = (size_t)num_min(n, sizeof text);
        if (m->at + have <= source_size(s->src) && source_read(s->src, m->at, text, have, s->err)
            && have == n && !memmem(text, have, " size=", 6) && !memmem(text, have, " GNU.sparse", 11))
            return;
    } else if (plain || dataless) {
        return;
    }
    pickles_fault(s, s->member, s->member_len, ERR_UNSUPPORTED, m->at - TAR_BLOCK, "the tar archive has a member that "
        "programs interpret differently");
}

bool
pickles_tar(struct scanner *s)
{
    struct tar_member m;
    uint64_t size = source_size(s->src);
    bool ok = source_read(s->src, 0, m.head, TAR_BLOCK, s->err), accounted = false;
    struct scanner quiet = *s;
    struct pickles unreported = { 0 };
    err_init(&unreported.fault);
    quiet.p = &unreported;
    if (ok && container_tar_form.probe(m.head, TAR_BLOCK, size))
        ok = pickles_account(&quiet, &container_tar_form, &accounted);
    for (uint64_t at = 0, end; ok; at = num_min(size, m.next)) {
        enum tar_found found = tar_read(&m, s->src, at, s->err);
        if (found != TAR_MEMBER)
            return found == TAR_FAILED ? false : found == TAR_BROKEN
                ? scan_rest(s, at, "the tar archive has a header with a wrong checksum") : check_rest(s, at);
        end = num_min(size, m.end);
        if (end != m.end)
            pickles_fault(s, s->member, s->member_len, ERR_MALFORMED, at, "a member of the tar archive extends beyond the end "
                "of the file (incomplete download or copy?)");
        check_type(s, &m, end - m.at);
        ok = s->err->kind == ERR_NONE && scan_member(s, &m, end, accounted);
    }
    return ok;
}
