/* source: where bytes come from. It answers one question: these n bytes at this offset.
 *
 * A file is read with pread, from any thread, in any order. A pipe keeps its head, what source_keep() named
 * and the last SOURCE_BACK bytes, and otherwise only goes forward, on one thread; a spool makes it seekable.
 */
#ifndef SOURCE_SOURCE_H
#define SOURCE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "source/inputs.h"

struct source;

#define SOURCE_SIZE_UNKNOWN UINT64_MAX
enum { SOURCE_BACK = 4096 };

/* Open a path, or standard input when it is NULL. A path may be a pipe only when `pipe_ok` (one that the
 * user gave), and standard input a socket as well; a directory, or with !pipe_ok anything but a regular file is
 * ERR_OPEN. A regular file is added to `inputs`, unless that is NULL. */
bool source_open(struct source **src, const char *path, bool pipe_ok, struct inputs *inputs, struct err *err);
void source_close(struct source *src);                  /* takes NULL */

const char *source_name(const struct source *src);      /* for messages: escaped; owned by src */
bool source_seekable(const struct source *src);         /* a file, or a pipe that was spooled */
uint64_t source_size(const struct source *src);         /* bytes, or SOURCE_SIZE_UNKNOWN */

/* The first n bytes of the input in memory, fewer only at its end: *have says how many (at least n, or all). They take
 * no more memory than twice that, and no more than a file has. The next call may move them: *p is good until then, or
 * until source_head_done(). At most SOURCE_HEAD_MAX: ERR_LIMIT. */
#define SOURCE_HEAD_MAX (UINT64_C(256) << 20)
bool source_head(struct source *src, uint64_t n, const uint8_t **p, uint64_t *have, struct err *err);

/* Nobody wants the bytes before offset `end` in memory any more: give them back. A pipe keeps what it has read behind
 * them, and source_head() is not called for it again. */
void source_head_done(struct source *src, uint64_t end);

/* Read a pipe on in memory, at most to n bytes: whether it ended there, so that its size is known before anything is
 * made of it. True for a file. */
bool source_ended_by(struct source *src, uint64_t n, bool *ended, struct err *err);

/* Exactly n bytes at `at` into buf. A pipe: within the head, within a kept range, or forward from at most
 * SOURCE_BACK bytes back. Too few bytes:
 * ERR_MALFORMED from a pipe, ERR_IO from a file (its size was known, so it shrank). */
bool source_read(struct source *src, uint64_t at, void *buf, size_t n, struct err *err);

/* A file: bytes [from, to) have been read and will not be again, so the page cache need not hold them. For a job that
 * moves more than memory holds, so that it pushes nothing of others out. From any thread; neighbours are given back some
 * MiB at a time, the last ones when the source is closed. Does nothing to a pipe or a spool. */
void source_drop(struct source *src, uint64_t from, uint64_t to);

/* A pipe: bytes [at, at + n) will be asked for after they have passed. Call before they pass, in rising order
 * of `at`, without overlap. They are held in memory. Does nothing when seekable. */
bool source_keep(struct source *src, uint64_t at, uint64_t n, struct err *err);

/* A pipe: put everything behind its head into an unlinked temporary file in TMPDIR; seekable from then on.
 * Call before anything behind the head was read. *nbytes: the bytes spooled. Does nothing when seekable. */
bool source_spool(struct source *src, uint64_t *nbytes, struct err *err);

/* The end of the job: the input must have `end` bytes, and no more unless tail_ok, else ERR_MALFORMED. A pipe
 * is read to its end, so that its writer is not cut off. */
bool source_finish(struct source *src, uint64_t end, bool tail_ok, struct err *err);

/* The end of the job: a regular file still has the size and the time of its last change that it was opened with, else
 * ERR_IO: what was read of it may be of two versions. */
bool source_unchanged(const struct source *src, struct err *err);

#endif
