/* A tar archive as Python's tarfile walks it, which torch opens any file with first: a header needs a checksum, not a
 * magic. Source: CPython, Lib/tarfile.py, TarInfo.frombuf() and TarFile.next(). */
#include <string.h>

#include "base/num.h"
#include "scan/pickles_priv.h"
#include "source/within.h"

enum { BLOCK = 512, NAME_LEN = 100, SIZE_AT = 124, SIZE_LEN = 12, SUM_AT = 148, SUM_LEN = 8, TYPE_AT = 156, MAGIC_AT = 257 };

static const uint8_t zeros[BLOCK];

/* Reads a number as tarfile does: octal digits as int() takes them, up to a NUL, or bytes after a byte 0x80. An empty
 * field is 0. */
static bool
number(uint64_t *value, const uint8_t *p, size_t n)
{
    const uint8_t *end = memchr(p, '\0', n);
    *value = 0;
    if (*p == 0x80) {
        for (size_t i = 1; i < n; i++)
            *value = *value << 8 | p[i];
        return n <= 9 || (p[1] | p[2] | p[3]) == 0;
    }
    n = end ? (size_t)(end - p) : n;
    while (n != 0 && memchr(" \t\n\r\f\v", p[n - 1], 6))
        n--;
    while (n != 0 && memchr(" \t\n\r\f\v+", *p, 7))
        p++, n--;
    if (n > 2 && *p == '0' && (p[1] == 'o' || p[1] == 'O'))
        p += 2, n -= 2;
    for (size_t i = 0; i < n; i++)
        if (p[i] >= '0' && p[i] <= '7')
            *value = *value << 3 | (uint64_t)(p[i] - '0');
        else if (p[i] != '_')
            return false;
    return true;
}

/* Checks the checksum: the sum of all bytes, those of the field itself taken as blanks, with or without signs. */
static bool
sums_up(const uint8_t *p)
{
    uint64_t plain = 0;
    int64_t with_signs = 0;
    for (size_t i = 0; i < BLOCK; i++) {
        uint8_t byte = i >= SUM_AT && i < SUM_AT + SUM_LEN ? ' ' : p[i];
        plain += byte;
        with_signs += (int8_t)byte;
    }
    uint64_t said, size;
    return number(&said, p + SUM_AT, SUM_LEN) && (said == plain || (int64_t)said == with_signs)
        && number(&size, p + SIZE_AT, SIZE_LEN);
}

bool
pickles_is_tar(const uint8_t *p, size_t n)
{
    return n >= BLOCK && memcmp(p, zeros, BLOCK) != 0 && (memcmp(p + MAGIC_AT, "ustar", 5) == 0 || sums_up(p));
}

/* Scans what a header announces, bytes [at, end). Once torch's own form is accounted for, its members are pickles with
 * numbers and storages between them. */
static bool
scan_member(struct scanner *s, const uint8_t *head, uint64_t at, uint64_t end, bool accounted)
{
    const char *name = (const char *)head;
    char shown[STR_SHOWN];
    struct source *inner = NULL;
    struct str path = { 0 };
    bool ok = pickles_path(s, &path, name, strnlen(name, NAME_LEN), s->err);
    const struct pickles_run run = { .member = path.p, .member_len = path.len, .gaps = true };
    if (ok && accounted)
        ok = pickles_run_at(s, &run, at, end - at);
    else if (ok && !pickles_is_program(s, path.p, path.len))
        ok = source_within(&inner, s->src, at, end - at, str_shown(shown, path.p, path.len), s->err)
            && pickles_inner(s, inner, path.p, path.len, false);
    str_clear(&path);
    return ok;
}

/* Checks that nothing but zeros follows the end of the archive. */
static bool
check_rest(struct scanner *s, uint64_t at)
{
    uint8_t block[BLOCK];
    for (uint64_t size = source_size(s->src); at < size; at += BLOCK) {
        size_t n = (size_t)num_min(BLOCK, size - at);
        if (!source_read(s->src, at, block, n, s->err))
            return false;
        if (memcmp(block, zeros, n) != 0) {
            const struct pickles_run rest = { .member = s->member, .member_len = s->member_len, .gaps = true };
            pickles_fault(s, s->member, s->member_len, ERR_MALFORMED, at, "bytes follow the end of the tar archive");
            return pickles_run_at(s, &rest, at, size - at);
        }
    }
    return true;
}

/* Notes what tarfile and other readers take differently: a link or a folder with data, a size that another header gives. */
static void
check_type(struct scanner *s, const uint8_t *head, uint64_t at, uint64_t n)
{
    char type = (char)head[TYPE_AT];
    bool plain = type == '\0' || type == '0' || type == '7' || type == 'L' || type == 'K';
    bool dataless = type >= '1' && type <= '6' && n == 0;
    if (type == 'x' || type == 'g' || type == 'X') {
        char text[4 << 10];
        size_t have = (size_t)num_min(n, sizeof text);
        if (at + BLOCK + have <= source_size(s->src) && source_read(s->src, at + BLOCK, text, have, s->err)
            && have == n && !memmem(text, have, " size=", 6) && !memmem(text, have, " GNU.sparse", 11))
            return;
    } else if (plain || dataless) {
        return;
    }
    pickles_fault(s, s->member, s->member_len, ERR_UNSUPPORTED, at, "the tar archive has a member that not every program reads "
        "in the same way");
}

bool
pickles_tar(struct scanner *s)
{
    uint8_t head[BLOCK];
    uint64_t size = source_size(s->src), end;
    bool ok = source_read(s->src, 0, head, BLOCK, s->err), accounted = false;
    struct scanner quiet = *s;
    struct pickles unheard = { 0 };
    err_init(&unheard.fault);
    quiet.p = &unheard;
    if (ok && container_tar_form.probe(head, BLOCK, size))
        ok = pickles_account(&quiet, &container_tar_form, &accounted);
    for (uint64_t at = 0, next; ok; at = next) {
        size_t n = (size_t)num_min(BLOCK, size - at);
        ok = source_read(s->src, at, head, n, s->err);
        if (!ok || n < BLOCK || memcmp(head, zeros, BLOCK) == 0)
            return ok && check_rest(s, at);
        if (!sums_up(head)) {
            pickles_fault(s, s->member, s->member_len, ERR_MALFORMED, at, "the tar archive has a header whose checksum is wrong");
            const struct pickles_run rest = { .member = s->member, .member_len = s->member_len, .gaps = true };
            return pickles_run_at(s, &rest, at, size - at);
        }
        uint64_t length;
        if (!number(&length, head + SIZE_AT, SIZE_LEN) || !num_add(&end, at + BLOCK, length) || end > size) {
            pickles_fault(s, s->member, s->member_len, ERR_MALFORMED, at, "the tar archive: a member goes beyond the end of the "
                "file (the download or copy is incomplete)");
            end = size;
        }
        check_type(s, head, at, end - at - BLOCK);
        ok = s->err->kind == ERR_NONE && scan_member(s, head, at + BLOCK, end, accounted);
        next = num_min(size, end + (BLOCK - end % BLOCK) % BLOCK);
    }
    return ok;
}
