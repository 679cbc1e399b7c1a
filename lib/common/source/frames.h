/* frames: the headers of a compressed stream, seen as it passes on its way to a library that takes the memory they name.
 *
 * Only the structure is followed, from one header to the next. What contradicts it is left to the library, which
 * refuses it when it comes there: nothing behind is looked at. */
#ifndef SOURCE_FRAMES_H
#define SOURCE_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { FRAMES_HEADER = 1024 };          /* the longest: a block header of xz */

struct frames {
    bool (*step)(struct frames *f, struct err *err);    /* takes the header when all of it is there */
    uint8_t header[FRAMES_HEADER];
    size_t have, want;          /* bytes of it */
    uint64_t skip;              /* bytes to pass over before it */
    uint64_t at;                /* offset of the next byte */
    uint64_t window;            /* the largest that may be asked for, bytes */
    uint8_t kind;               /* zstd: the descriptor of the frame; xz: the type of the stream's check */
    uint8_t control;            /* xz: the first byte of a chunk */
    uint64_t count;             /* xz: bytes of a block or an index so far */
    uint64_t numbers;           /* xz: numbers of an index still to come */
    unsigned shift;             /* xz: bits of the index's first number so far */
};

void frames_of_zstd(struct frames *f, uint64_t window);
void frames_of_xz(struct frames *f, uint64_t window);

/* The bytes p[0..n) pass. ERR_LIMIT: a window is too large; ERR_UNSUPPORTED: a zstd frame needs a dictionary;
 * ERR_MALFORMED: something else follows behind a frame of zstd or a stream of xz. */
bool frames_pass(struct frames *f, const uint8_t *p, size_t n, struct err *err);

#endif
