/* Folder output/sink: one stream of bytes to standard output, a file, nowhere, or into a comparison with a file.
 * Knows nothing of models: only how many bytes are promised, and how they arrive.
 * Begin here, with sink_open(). */

/* sink: where the output goes: standard output, or a file that appears under its name only when complete.
 *
 * It writes, counts, and reports errors up to and including close, in one of two regimes, which sink_expect() chooses:
 * through the page cache it appends, from one thread at a time; or it is direct, past the page cache: blocks go to
 * their offsets, out of turn, from several threads. Only a file that has not got its name yet can be direct. What has
 * come to any other output is at all times a beginning of the whole, from which a job that was killed can go on. At
 * sink_open() no other thread takes signals.
 *
 * A failure bears the name of the output, not of an input: its path, or "(standard output)".
 */
#ifndef SINK_SINK_H
#define SINK_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct sink;

enum sink_direct {
    SINK_DIRECT_AUTO,           /* when the output does not fit into free memory */
    SINK_DIRECT_ALWAYS,
    SINK_DIRECT_NEVER
};

struct sink_options {
    const char *path;           /* NULL: standard output */
    enum sink_direct direct;    /* where the output is a file, and its file system can */
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

/* Ready to count: what is written goes nowhere. */
bool sink_nowhere(struct sink **sink, struct err *err);
bool sink_is_nowhere(const struct sink *sink);

/* Opens a sink that compares: the bytes written to it must be those of the regular file at `path`, which is only read. The
 * first byte that differs, and another length, is ERR_CREATE. */
bool sink_compare(struct sink **sink, const char *path, struct err *err);

/* Checks that a name in a folder has the form of a temporary file, ".NAME.amn-XXXXXX", as a job that was killed leaves it.
 * Then `name` is the output's, of a long one the beginning. */
enum { SINK_TEMP_NAME = 201 };
bool sink_temp_name(char name[SINK_TEMP_NAME], const char *entry);

/* Removes such a file from a folder unless a job has it open. */
void sink_remove_stale(int folder, const char *entry);

/* The name that sink_commit() will give the file, with links resolved. NULL: the output is written under its name, as a pipe
 * is. */
const char *sink_path(const struct sink *sink);

/* Returns device and inode of the file that is written; false when it cannot be examined, or nothing is written. */
bool sink_identity(const struct sink *sink, uint64_t id[2]);

/* The output will have nbytes: choose the regime, reserve the room of a file (a full disk shows here), widen a pipe. */
bool sink_expect(struct sink *sink, uint64_t nbytes, struct err *err);

/* Whether the output is a pipe, into which one thread writes faster than several in turn. */
bool sink_is_pipe(const struct sink *sink);

/* The regime, the same from sink_expect() on: whether sink_write_at() is to be called, or sink_write(). */
bool sink_is_direct(const struct sink *sink);

/* Append n bytes, all of them. ERR_IO; err->sys is EPIPE when the reader left. */
bool sink_write(struct sink *sink, const void *p, size_t n, struct err *err);

/* Direct: n bytes, all of them, at offset `at` of what this sink is given; from any thread, each byte once. Where p and
 * at are multiples of SINK_ALIGN, all but the last n % SINK_ALIGN bytes go past the page cache; the rest, and all that
 * the file system refuses, through it. ERR_IO. */
enum { SINK_ALIGN = 4096 };
bool sink_write_at(struct sink *sink, uint64_t at, const void *p, size_t n, struct err *err);

/* Everything is written: the promised count is checked, the file closed and given its name. No thread but this one
 * takes signals. After a failure no file has appeared, unless it is ERR_IO about flushing its folder. */
bool sink_commit(struct sink *sink, struct err *err);

/* Takes NULL. Without a commit the temporary file is removed, and reserved room is given back. */
void sink_close(struct sink *sink);

#endif
