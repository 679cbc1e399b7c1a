/* zip_priv: what the reader of the directory and that of local headers share. */
#ifndef SOURCE_ZIP_PRIV_H
#define SOURCE_ZIP_PRIV_H

#include <string.h>

#include "source/zip.h"

/* Bytes of the parts of an archive that are drawn in zip.c, without what has a length of its own. */
enum { LOCAL = 30, ENTRY = 46, END = 22, LOCATOR = 20, RECORD = 56, COMMENT_MAX = 0xFFFF };

enum { ZIP64_FIELD = 1 };       /* id of the extra field that has what does not fit elsewhere */

enum {
    FLAG_ENCRYPTED = 1 << 0, FLAG_DESCRIPTOR = 1 << 3, FLAG_STRONG = 1 << 6, FLAG_UTF8 = 1 << 11, FLAG_MASKED = 1 << 13,
    FLAGS_SECRET = FLAG_ENCRYPTED | FLAG_STRONG | FLAG_MASKED,
    FLAGS_TOLD = FLAGS_SECRET | FLAG_DESCRIPTOR | FLAG_UTF8         /* those that change what is read */
};

enum { STORED = 0, DEFLATED = 8 };

/* Checks for a signature; p may be NULL. */
static inline bool
zip_is(const uint8_t *p, const char *sig)
{
    return p && memcmp(p, sig, 4) == 0;
}

/* A part of a file, of which what lies near each other is read at once. */
struct zip_window {
    struct source *src;
    uint64_t end;               /* nothing is read past this offset */
    uint64_t at;
    size_t n;
    uint8_t p[33 << 10];
};

/* Returns bytes [at, at + n), n at most 8 KiB, good until the next call; reads up to `more` of them, if it reads at all. NULL:
 * they pass the end, or reading failed, which err says. */
const uint8_t *zip_look(struct zip_window *w, uint64_t at, size_t n, uint64_t more, struct err *err);

/* ERR_MALFORMED about a member. */
bool zip_bad_member(struct err *err, const struct zip_member *m, uint64_t at, const char *text);

/* zip_local.c: hold every member, which zip_read() has read of the directory, against its local header, and set where its
 * bytes are. `at` has the method until then. Together they fill the file up to `end`. */
bool zip_read_locals(struct zip *zip, struct source *src, uint64_t end, struct err *err);

#endif
