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
    bool sync;                  /* flush the file to the disk before it gets its name */
};

/* Ready to write. A file is a temporary one beside `path` until sink_commit(); what is no regular file is
 * written as it is. ERR_CREATE, or ERR_USAGE for a terminal. */
bool sink_open(struct sink **sink, const struct sink_options *options, struct err *err);

/* Device and inode of the regular file that is or will be replaced by the output; false when there is none. */
bool sink_identity(const struct sink *sink, uint64_t *dev, uint64_t *ino);

/* The output will have nbytes: reserve the room of a file (a full disk shows here), widen a pipe. */
bool sink_expect(struct sink *sink, uint64_t nbytes, struct err *err);

/* Whether the output is a pipe, into which one thread writes faster than several in turn. */
bool sink_is_pipe(const struct sink *sink);

/* Append n bytes, all of them. ERR_IO; err->sys is EPIPE when the reader left. */
bool sink_write(struct sink *sink, const void *p, size_t n, struct err *err);

/* Everything is written: the promised count is checked, the file closed and given its name. */
bool sink_commit(struct sink *sink, struct err *err);

/* Takes NULL. Without a commit the temporary file is removed, and reserved room is given back. */
void sink_close(struct sink *sink);

#endif
