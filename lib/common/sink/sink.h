/* sink: where the output goes: standard output, or a file that appears under its name only when complete.
 *
 * It appends, counts, and reports errors up to and including close. The process is single-threaded at
 * sink_open() and writes from one thread at a time.
 */
#ifndef SINK_SINK_H
#define SINK_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct sink;

struct sink_options {
    const char *path;           /* NULL: standard output */
    bool terminal_ok;           /* binary data may go to a terminal */
    bool sync;                  /* flush the file to the disk before it gets its name, and then its name */
    bool no_clobber;            /* replace no file */
};

/* For the start of a job, before there is anything to write: with no_clobber, a file that is there already is
 * ERR_CREATE. sink_open() and sink_commit() see to it again. */
bool sink_check(const struct sink_options *options, struct err *err);

/* Ready to write. A file is a temporary one beside `path` until sink_commit(); what is no regular file is
 * written as it is, and so is what a path such as /dev/stdout stands for. ERR_CREATE, or ERR_USAGE for a terminal. */
bool sink_open(struct sink **sink, const struct sink_options *options, struct err *err);

/* Device and inode of the regular file that is or will be replaced by the output; false when there is none. */
bool sink_identity(const struct sink *sink, uint64_t *dev, uint64_t *ino);

/* The output will have nbytes: reserve the room of a file (a full disk shows here), widen a pipe. */
bool sink_expect(struct sink *sink, uint64_t nbytes, struct err *err);

/* Whether the output is a pipe, into which one thread writes faster than several in turn. */
bool sink_is_pipe(const struct sink *sink);

/* Append n bytes, all of them. ERR_IO; err->sys is EPIPE when the reader left. */
bool sink_write(struct sink *sink, const void *p, size_t n, struct err *err);

/* Everything is written: the promised count is checked, the file closed and given its name. No thread but this one
 * runs. After a failure no file has appeared, unless it is ERR_IO about flushing its folder. */
bool sink_commit(struct sink *sink, struct err *err);

/* Takes NULL. Without a commit the temporary file is removed, and reserved room is given back. */
void sink_close(struct sink *sink);

#endif
