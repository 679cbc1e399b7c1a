/* zip_loose: everything that any reader could take for a member of a ZIP archive, however damaged the archive is. For
 * scanning, which must not miss what other readers see. Conversions use source/zip.h.
 *
 * Members are found by directory entries, of every end record in the file, by local headers, or by both. If these disagree,
 * the member has the larger size, and is listed for each name and each method.
 */
#ifndef SOURCE_ZIP_LOOSE_H
#define SOURCE_ZIP_LOOSE_H

#include "base/limits.h"
#include "base/str.h"
#include "source/source.h"

struct zip_loose_member {
    size_t name;                /* its first byte in ->names; may have any bytes */
    uint32_t name_len;
    uint64_t header_at;         /* offset of its local header */
    uint64_t at, end;           /* its bytes in the file, never past its end */
    bool deflated;              /* else stored */
    bool open;                  /* no header gives its length: `end` is an upper bound */
};

/* Empty when zero-initialized. */
struct zip_loose {
    struct zip_loose_member *member;    /* n members in file order; owned */
    size_t n, room;
    struct str names;
    bool cut;                   /* more than ZIP_MEMBERS_MAX members or ZIP_DIRECTORY_MAX bytes of names: the list is
                                 * incomplete */
};

/* Finds the members of a seekable source. Fails only if reading fails or memory is short. Clear it after a failure, too. */
bool zip_loose_find(struct zip_loose *zip, struct source *src, const struct limits *limits, struct err *err);
void zip_loose_clear(struct zip_loose *zip);

/* Sets whether the file ends like an archive that Python's zipfile would open, whatever it begins with: an end record must
 * lead to a directory, so that weights that look like an end record do not count. Fails if reading fails. */
bool zip_loose_ends(struct source *src, bool *ends, struct err *err);

/* The bytes of a member, decompressed as far as possible. They end at the first byte that cannot be inflated; nothing is
 * verified. */
struct zip_loose_bytes;

struct zip_loose_bytes *zip_loose_open(struct source *src, uint64_t at, uint64_t end, bool deflated, struct err *err);
/* The some() function of struct window. */
bool zip_loose_some(void *bytes, uint8_t *buf, size_t n, size_t *got, struct err *err);
/* Returns true if the bytes ended early because they could not be inflated. */
bool zip_loose_broken(const struct zip_loose_bytes *bytes);
void zip_loose_close(struct zip_loose_bytes *bytes);            /* NULL is allowed */

#endif
