/* pickles: all pickles of a file, one after the other, scanned (container/pickle_scan.h): of a ZIP archive, a tar archive,
 * stacked pickles, NumPy's object arrays, or one alone. What is broken is scanned as far as it goes. */
#ifndef CONTAINER_PICKLES_H
#define CONTAINER_PICKLES_H

#include "base/limits.h"
#include "container/pickle_scan.h"
#include "source/source.h"

/* A pickle that was found; borrowed for the call. */
struct pickle_found {
    const char *member;         /* of an archive, member_len bytes of any kind; NULL: the file itself */
    size_t member_len;
    uint64_t number;            /* among the pickles of the member, from 0 */
    uint64_t at;                /* offset of its first byte in the member as it comes out */
    const struct pickle_scan *scan;
};

/* Who is told of each. False stops the scan, with the error set. */
struct pickles_heard {
    bool (*pickle)(void *of, const struct pickle_found *found, struct err *err);
    void *of;
};

struct pickles {
    const char *format;         /* what the file is: "ZIP", "pickle", "tar", "NPY"; or a container without pickles. Static */
    uint64_t count;             /* pickles */
    uint64_t unlisted;          /* of them, those that nobody was told of: nothing is in them, and there are many */
    struct err fault;           /* what is wrong with the file around its pickles; ERR_NONE: nothing that was seen */
};

/* Scan a source that nothing was asked of but what it is compressed by. A pipe is spooled, unless its first bytes show a
 * format without pickles. Fails when reading fails, without memory, and with what container_detect() says of a file
 * that is nothing of that; then nobody was told of anything, or all that can be read was. */
bool pickles_scan(struct pickles *p, struct source *src, const struct limits *limits, const struct pickles_heard *heard,
    struct err *err);

#endif
