/* zip: the members of a ZIP archive, from its central directory, each compared with its local header.
 *
 * Strict: anything that two readers could interpret differently is ERR_MALFORMED (a name, size, method or flag that differs
 * between directory and local header, overlaps, gaps, data before the first member or after the end record, a duplicate
 * name).
 */
#ifndef SOURCE_ZIP_H
#define SOURCE_ZIP_H

#include "base/limits.h"
#include "base/table.h"
#include "source/source.h"

enum {
    ZIP_MEMBERS_MAX = 1 << 20,
    ZIP_DIRECTORY_MAX = 256 << 20,      /* bytes */
    ZIP_NAME_MAX = 4096,                /* bytes */
    ZIP_RATIO_MAX = 1100,               /* expansion of a deflated member; deflate itself reaches at most 1032 */
    ZIP_OUTPUT_MAX = 16                 /* bytes of all deflated members per byte of the archive, in addition to 1 GiB */
};

struct zip_member {
    const char *name;           /* name_len bytes of UTF-8 without a NUL, followed by a NUL; owned by the zip */
    uint32_t name_len;
    uint32_t crc;               /* CRC-32 of the member; 0 may also mean that there is none, which the caller decides */
    uint16_t flags;             /* flags of its headers */
    bool deflated;              /* else stored */
    uint64_t header_at;         /* offset of its local header */
    uint64_t at;                /* offset of its first byte in the file */
    uint64_t stored;            /* bytes in the file */
    uint64_t nbytes;            /* bytes once inflated */
    uint64_t out_at;            /* offset of its first byte after source_inflate() */
};

/* Empty when zero-initialized. */
struct zip {
    struct zip_member *member;  /* n members in file order; owned */
    size_t n;
    char *names;                /* owned */
    struct table table;
    uint32_t comment_len;       /* length of the archive comment */
    bool files;                 /* read by zip_list() */
    bool lent;                  /* source_inflate() was called: the source owns the contents, which live as long as it does */
};

/* Reads the directory of a seekable source. Allocations are charged to the budget. Clear the zip after a failure, too. Fails
 * with ERR_MALFORMED, ERR_LIMIT, or ERR_UNSUPPORTED (encrypted, another method, several disks). */
bool zip_read(struct zip *zip, struct source *src, struct budget *budget, struct err *err);
void zip_clear(struct zip *zip);

/* The same for an archive of files, perhaps at the end of a program: directories are members of no bytes, and bytes that belong to
 * no member are allowed. */
bool zip_list(struct zip *zip, struct source *src, struct budget *budget, struct err *err);

/* Returns the member with exactly this name, or NULL. */
const struct zip_member *zip_find(const struct zip *zip, const char *name, size_t n);

/* Fails with ERR_MALFORMED if two names differ only in the case of ASCII letters. torch does not distinguish such names;
 * NumPy does. */
bool zip_cases_differ(const struct zip *zip, struct budget *budget, struct err *err);

/* Extends the CRC-32 `crc` by n bytes. Begin with 0. */
uint32_t zip_crc(uint32_t crc, const uint8_t *p, size_t n);

/* Reads the first n bytes of a member, inflated if it is deflated, or all of it if it is shorter, and sets *got. If these
 * are all its bytes, verifies its CRC-32 unless that is 0. Not to be called after source_inflate(). */
bool zip_head(struct source *src, const struct zip_member *m, void *buf, size_t n, size_t *got, struct err *err);

/* Makes the source deliver all members of the archive, inflated, one after another; it is forward-only then (source_spool()
 * makes it seekable). For archives whose deflated members are needed. The source takes over the contents of the zip, which
 * stay readable while it is open. Each member that is read is inflated once, some ahead of the reader in separate threads,
 * in bounded memory; members that are skipped are not inflated. Fails with ERR_LIMIT if the deflated members together exceed
 * what ZIP_OUTPUT_MAX allows.
 *
 * The length of each member read is checked, and its CRC-32 unless `check` is false (ERR_MALFORMED).
 */
bool source_inflate(struct source *src, struct zip *zip, bool check, struct err *err);

#endif
