/* sink: one stream of bytes to standard output, to a file, to nowhere, or compared with a file. Knows nothing about
 * models, only how many bytes to expect and how they arrive. Start here, with sink_open(). */

/* sink: the destination of an output: standard output, or a file that appears under its name only when complete.
 *
 * A sink writes, counts, and reports errors up to and including close, in one of two modes, chosen by sink_expect().
 * Buffered: appends through the page cache, from one thread at a time. Direct: writes blocks with O_DIRECT to their offsets,
 * out of order, from several threads. Only a file that still has its temporary name can be direct, or be written out of order
 * through the page cache. Any other output contains a prefix of the data at all times, so a killed job can be continued. No
 * other thread may accept signals during sink_open().
 *
 * Errors name the output, never an input: its path, or "(standard output)".
 */
#ifndef SINK_SINK_H
#define SINK_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct sink;

enum sink_direct {
    SINK_DIRECT_AUTO,           /* if the output does not fit into free memory */
    SINK_DIRECT_ALWAYS,
    SINK_DIRECT_NEVER
};

struct sink_options {
    const char *path;           /* NULL: standard output */
    enum sink_direct direct;    /* for a regular file, if its file system supports it */
    bool terminal_ok;           /* allow binary data on a terminal */
    bool sync;                  /* fsync the file before it is renamed, and its directory after */
    bool no_clobber;            /* do not replace an existing file */
    bool resume;                /* continue an existing file in place; its bytes must equal the output's first bytes */
};

/* Checks the output path before a job starts: with no_clobber, an existing file is ERR_CREATE. sink_open() and sink_commit()
 * check again. */
bool sink_check(const struct sink_options *options, struct err *err);

/* Opens the output. A regular file is written under a temporary name next to `path` until sink_commit(). Devices, FIFOs and
 * paths such as /dev/stdout are written in place. Fails with ERR_CREATE, or ERR_USAGE for a terminal. */
bool sink_open(struct sink **sink, const struct sink_options *options, struct err *err);

/* Opens a sink that only counts bytes. */
bool sink_nowhere(struct sink **sink, struct err *err);
bool sink_is_nowhere(const struct sink *sink);

/* Opens a sink that compares: the bytes written to it must equal the regular file at `path`, which is only read. A different
 * byte or length is ERR_CREATE. */
bool sink_compare(struct sink **sink, const char *path, struct err *err);

/* Returns true if a resumed file held every byte that was written to the sink so far. */
bool sink_was_complete(const struct sink *sink);

/* Returns true if a directory entry has the form of a temporary file, ".NAME.amn-XXXXXX", as left by a killed job, and
 * copies NAME to `name`. A long output name is truncated in NAME. */
enum { SINK_TEMP_NAME = 201 };
bool sink_temp_name(char name[SINK_TEMP_NAME], const char *entry);

/* Removes such a file unless a running job has it open. */
void sink_remove_stale(int folder, const char *entry);

/* Returns the name that sink_commit() will give the file, with links resolved; NULL if the output is written in place, such
 * as a pipe. */
const char *sink_path(const struct sink *sink);

/* Returns device and inode of the file being written. False if fstat(2) fails, or if nothing is written. */
bool sink_identity(const struct sink *sink, uint64_t id[2]);

/* Announces the output size: chooses the mode, reserves the blocks of a file so that a full disk shows at once, and enlarges
 * a pipe. */
bool sink_expect(struct sink *sink, uint64_t nbytes, struct err *err);

/* Returns true if the output is a pipe. One thread writes to a pipe faster than several that take turns. */
bool sink_is_pipe(const struct sink *sink);

/* Returns true if sink_write_at() must be called, false for sink_write(). Does not change after sink_expect(). */
bool sink_is_direct(const struct sink *sink);

/* Returns true if sink_write_at() may be called instead of sink_write() for all bytes, after sink_expect(). */
bool sink_has_offsets(const struct sink *sink);

/* Appends all n bytes. Fails with ERR_IO; err->sys is EPIPE if the reader closed the pipe. */
bool sink_write(struct sink *sink, const void *p, size_t n, struct err *err);

/* Writes all n bytes at offset `at` of this sink's data. Callable from any thread, once for each byte. In direct mode, if p and
 * `at` are multiples of SINK_ALIGN, all but the last n % SINK_ALIGN bytes bypass the page cache; the rest, and whatever the
 * file system rejects, goes through it. Fails with ERR_IO. */
enum { SINK_ALIGN = 4096 };
bool sink_write_at(struct sink *sink, uint64_t at, const void *p, size_t n, struct err *err);

/* Completes the output: checks the announced size, closes the file and renames it. No other thread may accept signals. After
 * a failure there is no new file, except after ERR_IO from flushing its directory. */
bool sink_commit(struct sink *sink, struct err *err);

/* Accepts NULL. Without a commit, removes the temporary file and releases reserved blocks. */
void sink_close(struct sink *sink);

#endif
