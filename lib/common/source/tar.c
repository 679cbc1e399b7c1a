#include "source/tar.h"

#include <string.h>

#include "base/num.h"

enum { SIZE_LEN = 12, SUM_AT = 148, SUM_LEN = 8 };

static const uint8_t zeros[TAR_BLOCK];

/* Parses a number like tarfile: octal digits as int() accepts them, up to a NUL, or binary after a byte 0x80. An empty field
 * is 0. */
static bool
tar_number(uint64_t *value, const uint8_t *p, size_t n)
{
    const uint8_t *end = memchr(p, '\0', n);
    *value = 0;
    if (*p == 0x80) {
        for (size_t i = 1; i < n; i++)
            *value = *value << 8 | p[i];
        return n <= 9 || (p[1] | p[2] | p[3]) == 0;
    }
    if (end)
        n = (size_t)(end - p);
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

bool
tar_size(const uint8_t head[TAR_BLOCK], uint64_t *size)
{
    return tar_number(size, head + TAR_SIZE_AT, SIZE_LEN);
}

/* Verifies the checksum: the sum of all bytes, signed or unsigned, with blanks in place of the checksum field. */
static bool
checksum_matches(const uint8_t *p)
{
    uint64_t plain = 0;
    int64_t with_signs = 0;
    for (size_t i = 0; i < TAR_BLOCK; i++) {
        uint8_t byte;
        if (i >= SUM_AT && i < SUM_AT + SUM_LEN)
            byte = ' ';
        else
            byte = p[i];
        plain += byte;
        with_signs += (int8_t)byte;
    }
    uint64_t said, size;
    return tar_number(&said, p + SUM_AT, SUM_LEN) && (said == plain || (int64_t)said == with_signs) && tar_size(p, &size);
}

bool
tar_probe(const uint8_t *p, size_t n)
{
    return n >= TAR_BLOCK && memcmp(p, zeros, TAR_BLOCK) != 0 && (memcmp(p + TAR_MAGIC_AT, "ustar", 5) == 0
        || checksum_matches(p));
}

enum tar_found
tar_read(struct tar_member *m, struct source *src, uint64_t at, struct err *err)
{
    uint64_t size;
    if (source_size(src) - at < TAR_BLOCK)
        return TAR_SHORT;
    if (!source_read(src, at, m->head, TAR_BLOCK, err))
        return TAR_FAILED;
    if (memcmp(m->head, zeros, TAR_BLOCK) == 0)
        return TAR_ZEROS;
    if (!checksum_matches(m->head) || !tar_size(m->head, &size))
        return TAR_BROKEN;
    m->at = at + TAR_BLOCK;
    if (!num_add(&m->end, m->at, size) || !num_align(&m->next, m->end, TAR_BLOCK))
        m->end = m->next = UINT64_MAX;
    return TAR_MEMBER;
}
