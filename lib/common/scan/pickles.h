/* scan: judges the pickles of a file. Nothing is executed and no tensor is read; it knows neither models nor plans. Begin
 * with pickles.c, which decides how loaders could interpret a file; pickle_scan.c reads one pickle, and dangerous.c judges
 * names.
 *
 * pickles: scans every pickle of a file that a loader could execute, whatever the file looks like: a ZIP or tar archive,
 * stacked pickles, NumPy object arrays, a single pickle, or one in the header of another format. Damaged files are scanned
 * as far as their parts can be found.
 */
#ifndef SCAN_PICKLES_H
#define SCAN_PICKLES_H

#include "base/limits.h"
#include "scan/pickle_scan.h"
#include "source/source.h"

/* A pickle found in a file; borrowed for the call. */
struct pickle_found {
    const char *member;         /* member of an archive, member_len arbitrary bytes; NULL: the file itself */
    size_t member_len;
    uint64_t number;            /* index among the pickles of the member */
    uint64_t at;                /* offset of its first byte in the member, after decompression */
    const struct pickle_scan *scan;
};

/* Called for each pickle. Returning false stops the scan, with the error set. */
struct pickles_callback {
    bool (*pickle)(void *of, const struct pickle_found *found, struct err *err);
    void *of;
    bool shards;                /* the file belongs to the checkpoint of a training job: classes that describe its tensors are allowed */
};

struct pickles {
    const char *format;         /* format of the file: "ZIP", "pickle", "tar", "NPY", or the name of a container without
                                 * pickles. Static; NULL: none of these */
    bool opened;                /* it is not compressed, or in a way that can be read */
    uint64_t count;             /* pickles */
    uint64_t unlisted;          /* of these, not reported, because there are many and they are empty */
    struct err fault;           /* the first thing that was not read, or is wrong; ERR_NONE: all bytes are accounted for */
};

/* Scans a source from which nothing has been read. Pipes and compressed files are spooled. Fails if reading fails, without
 * memory, for an unsupported compression, and with the error of container_detect() if no loader accepts the file. Then
 * either nothing was reported, or everything that can be read. */
bool pickles_scan(struct pickles *p, struct source *src, const struct limits *limits, const struct pickles_callback *callback,
    struct err *err);

#endif
