/* parts: what was kept of an input that went by, as a source of its own. */
#ifndef SOURCE_PARTS_H
#define SOURCE_PARTS_H

#include "source/source.h"

/* Zeroed: nothing was kept. */
struct parts {
    struct part {
        uint64_t at;            /* offset in the input */
        size_t from, n;         /* bytes [from, from + n) of those that were kept */
    } *part;                    /* in rising order, apart from each other; owned */
    size_t nparts, room_parts;
    uint8_t *bytes;             /* owned */
    size_t n, room;
};

/* Keep bytes p[0..n) of offset `at`, behind all that was kept before. */
bool parts_keep(struct parts *parts, uint64_t at, const uint8_t *p, size_t n, struct err *err);
void parts_clear(struct parts *parts);

/* A source of `size` bytes, seekable: those that were kept; all others are zeros. It borrows the parts; close it. `shown`
 * names it in messages. */
bool source_of_parts(struct source **src, const struct parts *parts, uint64_t size, const char *shown, struct err *err);

#endif
