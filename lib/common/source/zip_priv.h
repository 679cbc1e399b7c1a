/* zip_priv: what the readers of the directory and of local headers share. */
#ifndef SOURCE_ZIP_PRIV_H
#define SOURCE_ZIP_PRIV_H

#include <string.h>

#include "source/zip.h"

/* Sizes of the fixed parts of the structures drawn in zip.c, in bytes. */
enum { LOCAL = 30, ENTRY = 46, END = 22, LOCATOR = 20, RECORD = 56, COMMENT_MAX = 0xFFFF };

enum { ZIP64_FIELD = 1 };       /* id of the extra field with values that do not fit elsewhere */

enum {
    FLAG_ENCRYPTED = 1 << 0, FLAG_DESCRIPTOR = 1 << 3, FLAG_STRONG = 1 << 6, FLAG_UTF8 = 1 << 11, FLAG_MASKED = 1 << 13,
    FLAGS_SECRET = FLAG_ENCRYPTED | FLAG_STRONG | FLAG_MASKED,
    FLAGS_TOLD = FLAGS_SECRET | FLAG_DESCRIPTOR | FLAG_UTF8         /* flags that affect how the member is read */
};

enum { STORED = 0, DEFLATED = 8 };

/* Returns true if p has this signature; p may be NULL. */
static inline bool
zip_is(const uint8_t *p, const char *sig)
{
    return p && memcmp(p, sig, 4) == 0;
}

/* A window on a file, so that bytes close to each other are read at once. */
struct zip_window {
    struct source *src;
    uint64_t end;               /* nothing is read past this offset */
    uint64_t at;
    size_t n;
    uint8_t p[33 << 10];
};

/* Returns true if bytes [at, at + n) end before the end. */
static inline bool
zip_within(const struct zip_window *w, uint64_t at, size_t n)
{
    return at <= w->end && n <= w->end - at;
}

/* Returns bytes [at, at + n), n at most 8 KiB, which are within the window, valid until the next call; or NULL if they cannot be
 * read. If they must be read, reads up to `more` bytes. */
const uint8_t *zip_look(struct zip_window *w, uint64_t at, size_t n, uint64_t more, struct err *err);

/* Fails with ERR_MALFORMED and the name of the member. */
bool zip_bad_member(struct err *err, const struct zip_member *m, uint64_t at, const char *text);

/* zip_local.c: compares every member that zip_read() has found with its local header, and sets the offset of its bytes.
 * Until then `at` has the method. Checks that the members together fill the file up to `end`. */
bool zip_read_locals(struct zip *zip, struct source *src, uint64_t end, struct err *err);

#endif
