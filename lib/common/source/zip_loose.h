/* zip_loose: all that any reader could take for a member of a ZIP archive, and its bytes, whatever is wrong with the
 * archive. For a scan, which must not be blind where others see; what is read goes through source/zip.h.
 *
 * A member is found by the entry of a directory, of every end record that there is, by its local header, or by both. Where
 * they disagree it is as long as the longer of the two, and there for each name and each method. */
#ifndef SOURCE_ZIP_LOOSE_H
#define SOURCE_ZIP_LOOSE_H

#include "base/limits.h"
#include "base/str.h"
#include "source/source.h"

struct zip_loose_member {
    size_t name;                /* its first byte in ->names; any bytes */
    uint32_t name_len;
    uint64_t header_at;         /* of its local header */
    uint64_t at, end;           /* its bytes as they lie in the file, which they do not pass */
    bool deflated;              /* else as it is */
    bool open;                  /* nothing says how long it is: `end` is as far as it can go */
};

/* Zeroed: empty. */
struct zip_loose {
    struct zip_loose_member *member;    /* n of them, in the order of the file; owned */
    size_t n, room;
    struct str names;
    bool cut;                   /* there are more than ZIP_MEMBERS_MAX, or than names of ZIP_DIRECTORY_MAX bytes */
};

/* Find the members of a seekable source. Fails only when reading fails, or without memory. Clear it also then. */
bool zip_loose_find(struct zip_loose *zip, struct source *src, const struct limits *limits, struct err *err);
void zip_loose_clear(struct zip_loose *zip);

/* Checks whether a file, whatever it begins with, ends as an archive that Python's zipfile would open: an end record leads
 * to a directory. Four bytes of weights that look like an end record do not. Fails when reading fails. */
bool zip_loose_ends(struct source *src, bool *ends, struct err *err);

/* The bytes of a member as they come out, as far as they do: what cannot be inflated ends them, and nothing is checked. */
struct zip_loose_bytes;

struct zip_loose_bytes *zip_loose_open(struct source *src, uint64_t at, uint64_t end, bool deflated, struct err *err);
/* For struct window: some(). */
bool zip_loose_some(void *bytes, uint8_t *buf, size_t n, size_t *got, struct err *err);
/* Checks whether they ended early, because they cannot be inflated. */
bool zip_loose_broken(const struct zip_loose_bytes *bytes);
void zip_loose_close(struct zip_loose_bytes *bytes);            /* takes NULL */

#endif
