/* frames: checks the headers of a compressed stream on its way to a library that would allocate the memory they request.
 *
 * Follows only the structure, from one header to the next. After an invalid header it stops checking: the library refuses
 * the stream there.
 */
#ifndef SOURCE_FRAMES_H
#define SOURCE_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { FRAMES_HEADER = 1024 };          /* size of the longest header, a block header of xz */

struct frames {
    bool (*step)(struct frames *f, struct err *err);    /* parses the header once it is complete */
    uint8_t header[FRAMES_HEADER];
    size_t have, want;          /* size of the header, in bytes */
    uint64_t skip;              /* bytes to skip before it */
    uint64_t at;                /* offset of the next byte */
    uint64_t window;            /* largest window allowed, in bytes */
    uint8_t kind;               /* zstd: descriptor of the frame; xz: check type of the stream */
    uint8_t control;            /* xz: first byte of a chunk */
    uint64_t count;             /* xz: bytes of the block or index so far */
    uint64_t numbers;           /* xz: numbers left in an index */
    unsigned shift;             /* xz: bits of the index's first number so far */
};

void frames_of_zstd(struct frames *f, uint64_t window);
void frames_of_xz(struct frames *f, uint64_t window);

/* Checks the next bytes p[0..n). Fails with ERR_LIMIT if a window is too large, ERR_UNSUPPORTED if a zstd frame needs a
 * dictionary, ERR_MALFORMED if something else follows a zstd frame or an xz stream. */
bool frames_pass(struct frames *f, const uint8_t *p, size_t n, struct err *err);

#endif
