/* zip: the members of a ZIP archive, from its central directory, each held against its local header.
 *
 * Strict: what two readers could read in two ways is ERR_MALFORMED (names, sizes, methods or flags that differ between the
 * directory and a local header, overlaps, gaps, anything in front of the first member or behind the end record, a name
 * twice). */
#ifndef SOURCE_ZIP_H
#define SOURCE_ZIP_H

#include "base/limits.h"
#include "base/table.h"
#include "source/source.h"

enum {
    ZIP_MEMBERS_MAX = 1 << 20,
    ZIP_DIRECTORY_MAX = 256 << 20,      /* bytes */
    ZIP_NAME_MAX = 4096,                /* bytes */
    ZIP_RATIO_MAX = 1100,               /* expansion of a deflated member: deflate itself makes 1032 of one */
    ZIP_OUTPUT_MAX = 16                 /* bytes of all deflated members for one of the archive, beyond 1 GiB */
};

struct zip_member {
    const char *name;           /* name_len bytes of UTF-8, no NUL in it, then a NUL; owned by the zip */
    uint32_t name_len;
    uint32_t crc;               /* CRC-32 of the member; 0 may also mean none, which whoever reads it decides */
    uint16_t flags;             /* of its headers */
    bool deflated;              /* else stored as it is */
    uint64_t header_at;         /* of its local header */
    uint64_t at;                /* of its first byte, as it lies in the file */
    uint64_t stored;            /* bytes in the file */
    uint64_t nbytes;            /* bytes of the member */
    uint64_t out_at;            /* of its first byte, once source_inflate() was called */
};

/* Zeroed: empty. */
struct zip {
    struct zip_member *member;  /* n of them, in the order of the file; owned */
    size_t n;
    char *names;                /* owned */
    struct table table;
    uint32_t comment_len;       /* bytes of a comment on the archive */
    bool lent;                  /* source_inflate() was called: the source owns all of it, which lives as long */
};

/* Read the directory of a seekable source. What it takes is asked of the budget. Clear it also after a failure.
 * ERR_MALFORMED, ERR_LIMIT, ERR_UNSUPPORTED (encrypted, another method, several disks). */
bool zip_read(struct zip *zip, struct source *src, struct budget *budget, struct err *err);
void zip_clear(struct zip *zip);

/* The member of exactly this name, or NULL. */
const struct zip_member *zip_find(const struct zip *zip, const char *name, size_t n);

/* No two names are equal but for the case of ASCII letters, by which torch does not tell them apart: else ERR_MALFORMED.
 * NumPy does. */
bool zip_cases_differ(const struct zip *zip, struct budget *budget, struct err *err);

/* The CRC-32 of n bytes behind others whose is `crc`; 0: there are none. */
uint32_t zip_crc(uint32_t crc, const uint8_t *p, size_t n);

/* The first n bytes of a member, inflated where it is deflated; fewer when it has no more: *got. With all of them its
 * CRC-32 is checked, unless it is 0. Not after source_inflate(). */
bool zip_head(struct source *src, const struct zip_member *m, void *buf, size_t n, size_t *got, struct err *err);

/* The archive has deflated members whose bytes are wanted: from now on the source is all of its members as they come out,
 * one behind the other, and only goes forward (source_spool() makes it seekable). It takes over what the zip holds, which
 * can still be read while the source is open. Each member that is read is inflated once, some ahead of the reader by
 * threads of their own, in bounded memory; members nobody reads are not inflated. ERR_LIMIT when the deflated ones
 * together are more than ZIP_OUTPUT_MAX allows.
 *
 * The length of each that is read is checked, and its CRC-32 (ERR_MALFORMED) unless `check` is false. */
bool source_inflate(struct source *src, struct zip *zip, bool check, struct err *err);

#endif
