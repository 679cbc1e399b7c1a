/* tar: the headers of a tar archive, read one by one as Python's tarfile does, which torch tries first on every file. A
 * header needs a valid checksum, but no magic. Source: CPython, Lib/tarfile.py, TarInfo.frombuf() and TarFile.next(). */
#ifndef SOURCE_TAR_H
#define SOURCE_TAR_H

#include "source/source.h"

enum { TAR_BLOCK = 512, TAR_NAME = 100, TAR_SIZE_AT = 124, TAR_TYPE_AT = 156, TAR_MAGIC_AT = 257, TAR_PREFIX_AT = 345 };

struct tar_member {
    uint8_t head[TAR_BLOCK];    /* begins with its name: TAR_NAME bytes, or fewer and a NUL */
    uint64_t at, end;           /* offset and size of its data, which may extend past the end of the archive; UINT64_MAX for
                                 * an offset that overflows */
    uint64_t next;              /* offset of the next header */
};

enum tar_found {
    TAR_MEMBER,
    TAR_ZEROS,                  /* a block of zeros, which ends the archive */
    TAR_SHORT,                  /* less than a block is left */
    TAR_BROKEN,                 /* wrong checksum, or an invalid number */
    TAR_FAILED                  /* read failed: see err */
};

/* Reads the header at `at`, which must not be past the end of the seekable source. */
enum tar_found tar_read(struct tar_member *m, struct source *src, uint64_t at, struct err *err);

/* Returns true if p[0..n) begins a tar archive, judging by the magic or the checksum of its header. */
bool tar_probe(const uint8_t *p, size_t n);

/* Reads the size field of a header without checking its checksum. */
bool tar_size(const uint8_t head[TAR_BLOCK], uint64_t *size);

#endif
