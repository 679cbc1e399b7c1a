/* parts: the parts of an input that were kept as it passed, as a source of their own. */
#ifndef SOURCE_PARTS_H
#define SOURCE_PARTS_H

#include "source/source.h"

/* Empty when zero-initialized. */
struct parts {
    struct part {
        uint64_t at;            /* offset in the input */
        size_t from, n;         /* kept bytes [from, from + n) */
    } *part;                    /* in ascending order, disjoint; owned */
    size_t nparts, room_parts;
    uint8_t *bytes;             /* owned */
    size_t n, room;
};

/* Appends bytes p[0..n) of offset `at`, which must be after all that was kept before. */
bool parts_keep(struct parts *parts, uint64_t at, const uint8_t *p, size_t n, struct err *err);
void parts_clear(struct parts *parts);

/* Makes a seekable source of `size` bytes from the kept bytes; all others read as zeros. Borrows the parts until the caller
 * closes the source. `shown` is the name in messages. */
bool source_of_parts(struct source **src, const struct parts *parts, uint64_t size, const char *shown, struct err *err);

#endif
