/* scan: the verdict on the pickles of a file. Nothing is executed, and no tensor is read: it knows neither model nor plan.
 * Begin with pickles.c, which decides what loaders could take a file for; pickle_scan.c reads one pickle, and dangerous.c
 * knows which names are.
 *
 * pickles: all pickles that a loader could execute of a file, scanned, whatever the file looks like: a ZIP or tar archive,
 * stacked pickles, NumPy's object arrays, one alone, or one in the header of another format. Damaged files are scanned as
 * far as their parts can be found. */
#ifndef SCAN_PICKLES_H
#define SCAN_PICKLES_H

#include "base/limits.h"
#include "scan/pickle_scan.h"
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
    const char *format;         /* what the file is: "ZIP", "pickle", "tar", "NPY"; or a container without pickles. Static;
                                 * NULL: none of them */
    bool opened;                /* it is not compressed, or by what is read */
    uint64_t count;             /* pickles */
    uint64_t unlisted;          /* of them, those that nobody was told of: nothing is in them, and there are many */
    struct err fault;           /* the first thing that was not read or is wrong; ERR_NONE: all bytes are accounted for */
};

/* Scans a source from which nothing was read. Pipes and compressed files are spooled. Fails when reading fails, without
 * memory, when it is compressed by what is not read, and with what container_detect() says of a file that is nothing a
 * loader takes; then nothing was reported, or all that can be read was. */
bool pickles_scan(struct pickles *p, struct source *src, const struct limits *limits, const struct pickles_heard *heard,
    struct err *err);

#endif
