/* source: where bytes come from. It answers one question: these n bytes at this offset.
 * It knows no model format and no tensor: an archive has members, and a member has bytes.
 * Begin with source_priv.h, which says what a layer is; every other file here is one layer, or reads one index.
 *
 * It is a stack. At the bottom lies a file, read with pread from any thread and in any order, or a pipe, which only goes
 * forward. What is compressed is unpacked on top of either, and only goes forward too. A source that only goes forward
 * is for one thread; it keeps its head, what source_keep() named and the last SOURCE_BACK bytes. A spool on top of it
 * makes it seekable, and so does an end that comes while all behind its header is in memory. */
#ifndef SOURCE_SOURCE_H
#define SOURCE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/meter.h"
#include "source/inputs.h"

struct source;

#define SOURCE_SIZE_UNKNOWN UINT64_MAX

/* The message for an input that ends early: its size, and the size that its header requires. */
#define SOURCE_CUT "truncated: %" PRIu64 " of %" PRIu64 " bytes (incomplete download or copy?)"

enum { SOURCE_BACK = 4096 };

/* Open a path, or standard input when it is NULL. A path may be a pipe only when `pipe_ok` (one that the
 * user gave), and standard input a socket as well; a directory, or with !pipe_ok anything but a regular file is
 * ERR_OPEN. A regular file is added to `inputs`, unless that is NULL. */
bool source_open(struct source **src, const char *path, bool pipe_ok, struct inputs *inputs, struct err *err);
void source_close(struct source *src);                  /* takes NULL */

/* Whether source_spool() may make a temporary file; it may until this says no. */
void source_allow_spool(struct source *src, bool allowed);

/* Tell this meter, borrowed for good, what of the head and of a spool has been read. */
void source_tell(struct source *src, struct meter *meter);

/* When the input is compressed by gzip, zstd or xz, told by its first bytes, the source is from now on what it holds.
 * Call before anything else is asked of it.
 *
 *   ERR_MALFORMED    here and in all that reads later: it is cut or broken, or other bytes follow it; the offset is
 *                    one of the compressed bytes
 *   ERR_UNSUPPORTED  another compression, compressed twice, or no libarchive for it
 *   ERR_LIMIT        it wants a window beyond 128 MiB or limits->alloc; or more than SOURCE_RATIO_FREE bytes
 *                    came out of less than a limits->ratio-th of them (a 200th until source_head_done()) */
#define SOURCE_RATIO_FREE (UINT64_C(1) << 20)
bool source_unpack(struct source *src, const struct limits *limits, struct err *err);

const char *source_name(const struct source *src);      /* for messages: escaped; owned by src */
bool source_is_file(const struct source *src);          /* a regular file, compressed or not; else a pipe */
bool source_seekable(const struct source *src);         /* any byte at any time, from any thread */
uint64_t source_size(const struct source *src);         /* bytes, or SOURCE_SIZE_UNKNOWN: it only goes forward */
uint64_t source_file_size(const struct source *src);    /* of a regular file as it lies there, compressed or not */

/* The first n bytes of the input in memory, fewer only at its end: *have says how many (at least n, or all). They take
 * no more memory than twice that, and no more than a file has. The next call may move them: *p is good until then, or
 * until source_head_done(). At most SOURCE_HEAD_MAX: ERR_LIMIT. */
#define SOURCE_HEAD_MAX (UINT64_C(256) << 20)
bool source_head(struct source *src, uint64_t n, const uint8_t **p, uint64_t *have, struct err *err);

/* Nobody wants the bytes before offset `end` in memory any more: give them back. What only goes forward keeps what it
 * has read behind them, and source_head() is not called for it again. */
void source_head_done(struct source *src, uint64_t end);

/* The header promises that the input has so many bytes: what finds that it ends before says so. */
void source_promise(struct source *src, uint64_t nbytes);

/* A pipe of no more bytes than this stays in memory. */
enum { SOURCE_SETTLE = 1 << 20 };

/* Read what only goes forward on in memory, to n bytes at least: whether it ended there. Then its size is known before
 * anything is made of it, and it is seekable. The bytes stay. True for a file. */
bool source_ended_by(struct source *src, uint64_t n, bool *ended, struct err *err);

/* Exactly n bytes at `at` into buf. What only goes forward: within the head, within a kept range, or forward from at
 * most SOURCE_BACK bytes back; too few bytes are ERR_MALFORMED. Else within source_size(); too few bytes are ERR_IO,
 * since the file shrank. */
bool source_read(struct source *src, uint64_t at, void *buf, size_t n, struct err *err);

/* A file: bytes [from, to) have been read and will not be again, so the page cache need not hold them. For a job that
 * moves more than memory holds, so that it pushes nothing of others out. From any thread; neighbours are given back some
 * MiB at a time, the last ones when the source is closed. Does nothing to anything but a file that is read as it is. */
void source_drop(struct source *src, uint64_t from, uint64_t to);

/* What only goes forward: bytes [at, at + n) will be asked for after they have passed. Call before they pass, in rising
 * order of `at`, without overlap. They are held in memory. Does nothing when seekable. */
bool source_keep(struct source *src, uint64_t at, uint64_t n, struct err *err);

/* What only goes forward: put what lies behind its head and before `end` into an unlinked temporary file in TMPDIR, and
 * go on as source_finish(); seekable from then on. Call before anything behind the head was read. Does nothing when
 * seekable. An `end` of SOURCE_SIZE_UNKNOWN is that of the input. ERR_LIMIT: it is not allowed. */
bool source_spool(struct source *src, uint64_t end, bool tail_ok, struct err *err);

/* The end of the job: the input must have `end` bytes, and no more unless tail_ok, else ERR_MALFORMED. What
 * only goes forward is read to its end, so that a writer is not cut off and a checksum is looked at. */
bool source_finish(struct source *src, uint64_t end, bool tail_ok, struct err *err);

/* Two numbers that are others when a file is another one, or was changed: 0 for a pipe. */
void source_stamp(const struct source *src, uint64_t stamp[2]);

/* The end of the job: a regular file still has the size and the time of its last change that it was opened with, else
 * ERR_IO: what was read of it may be of two versions. */
bool source_unchanged(const struct source *src, struct err *err);

#endif
