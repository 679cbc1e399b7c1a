/* zip_priv: what the reader of the directory and that of local headers share. */
#ifndef SOURCE_ZIP_PRIV_H
#define SOURCE_ZIP_PRIV_H

#include "source/zip.h"

enum { ZIP64_FIELD = 1 };       /* id of the extra field that has what does not fit elsewhere */

enum {
    FLAG_ENCRYPTED = 1 << 0, FLAG_DESCRIPTOR = 1 << 3, FLAG_STRONG = 1 << 6, FLAG_UTF8 = 1 << 11, FLAG_MASKED = 1 << 13,
    FLAGS_SECRET = FLAG_ENCRYPTED | FLAG_STRONG | FLAG_MASKED,
    FLAGS_TOLD = FLAGS_SECRET | FLAG_DESCRIPTOR | FLAG_UTF8         /* those that change what is read */
};

enum { STORED = 0, DEFLATED = 8 };

/* ERR_MALFORMED about a member. */
bool zip_bad_member(struct err *err, const struct zip_member *m, uint64_t at, const char *text);

/* zip_local.c: hold every member, which zip_read() has read of the directory, against its local header, and set where its
 * bytes are. `at` has the method until then. Together they fill the file up to `end`. */
bool zip_read_locals(struct zip *zip, struct source *src, uint64_t end, struct err *err);

#endif
