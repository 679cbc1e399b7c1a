/* cursor: bounded reads from a header in memory.
 *
 * A read past the end returns 0 and sets `bad` for good, so a header can be read straight through and checked once. Check
 * `bad` before a loop or an allocation trusts a count.
 */
#ifndef BASE_CURSOR_H
#define BASE_CURSOR_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>

struct cursor {
    const uint8_t *p;       /* next byte; borrowed */
    uint64_t left;          /* bytes from p to the end */
    uint64_t at;            /* file offset of p, for messages */
    bool bad;               /* a read went past the end */
    bool big;               /* multi-byte integers are big-endian */
};

/* Returns the next n bytes, borrowed from the buffer, or NULL (and sets bad) if fewer are left. */
static inline const uint8_t *
cursor_take(struct cursor *c, uint64_t n)
{
    if (c->bad || n > c->left) {
        c->bad = true;
        return NULL;
    }
    const uint8_t *p = c->p;
    c->p += n;
    c->left -= n;
    c->at += n;
    return p;
}

static inline uint8_t
cursor_u8(struct cursor *c)
{
    const uint8_t *p = cursor_take(c, 1);
    if (p)
        return *p;
    return 0;
}

static inline uint16_t
cursor_u16(struct cursor *c)
{
    const uint8_t *p = cursor_take(c, 2);
    if (!p)
        return 0;
    if (c->big)
        return load_be16(p);
    return load_le16(p);
}

static inline uint32_t
cursor_u32(struct cursor *c)
{
    const uint8_t *p = cursor_take(c, 4);
    if (!p)
        return 0;
    if (c->big)
        return load_be32(p);
    return load_le32(p);
}

static inline uint64_t
cursor_u64(struct cursor *c)
{
    const uint8_t *p = cursor_take(c, 8);
    if (!p)
        return 0;
    if (c->big)
        return load_be64(p);
    return load_le64(p);
}

#endif
