/* tar: the headers of a tar archive, one after the other, as Python's tarfile reads them, with which torch opens any file
 * first: a header needs a checksum, not a magic. Source: CPython, Lib/tarfile.py, TarInfo.frombuf() and TarFile.next(). */
#ifndef SOURCE_TAR_H
#define SOURCE_TAR_H

#include "source/source.h"

enum { TAR_BLOCK = 512, TAR_NAME = 100, TAR_SIZE_AT = 124, TAR_TYPE_AT = 156, TAR_MAGIC_AT = 257, TAR_PREFIX_AT = 345 };

struct tar_member {
    uint8_t head[TAR_BLOCK];    /* its name first: TAR_NAME bytes, or fewer and a NUL */
    uint64_t at, end;           /* of its data, which may pass the end of the archive; a place beyond 64 bits is UINT64_MAX */
    uint64_t next;              /* of the next header */
};

enum tar_found {
    TAR_MEMBER,
    TAR_ZEROS,                  /* a block of zeros, which ends the archive */
    TAR_SHORT,                  /* fewer bytes than a block are left */
    TAR_BROKEN,                 /* its checksum is wrong, or a number of it is none */
    TAR_FAILED                  /* reading failed: see err */
};

/* Reads the header at `at`, which is not past the end of the seekable source. */
enum tar_found tar_read(struct tar_member *m, struct source *src, uint64_t at, struct err *err);

/* Checks whether p[0..n) begins a tar archive: by the magic or the checksum of a header. */
bool tar_probe(const uint8_t *p, size_t n);

/* Reads the size of a header, whose checksum may be wrong. */
bool tar_size(const uint8_t head[TAR_BLOCK], uint64_t *size);

#endif
