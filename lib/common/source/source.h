/* source: where bytes come from. It answers one question: which n bytes are at this offset? It knows neither model formats
 * nor tensors; for it, an archive has members, and a member has bytes. Begin with source_priv.h, which explains layers.
 * Every other file here is a layer or reads an index.
 *
 * A source is a stack of layers. At the bottom is a file, which any thread may read at any offset, or a pipe, which is
 * forward-only. A compressed input is unpacked by a layer on top of it, which is forward-only as well. A forward-only source
 * is for one thread; it keeps its head, the ranges given to source_keep() and the last SOURCE_BACK bytes. It becomes
 * seekable by a spool on top of it, or if it ends while all that follows its header is in memory.
 */
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

/* Text for a truncated input; takes its length and the length that its header declares. */
#define SOURCE_TRUNCATED "truncated: %" PRIu64 " of %" PRIu64 " bytes (incomplete download or copy?)"

enum { SOURCE_BACK = 32 << 10 };

/* Opens a path, or standard input if it is NULL. With `pipe_ok`, set for paths that the user gave, the path may be a pipe
 * and standard input may also be a socket. Fails with ERR_OPEN for a directory, and without `pipe_ok` for anything but a
 * regular file. Adds a regular file to `inputs` unless that is NULL. */
bool source_open(struct source **src, const char *path, bool pipe_ok, struct inputs *inputs, struct err *err);
void source_close(struct source *src);                  /* NULL is allowed */

/* Forbids source_spool() to create a temporary file. `twice`: the option with which a job reads its input twice, static; NULL:
 * none, and only what the input has out of order needs the file. */
void source_forbid_spool(struct source *src, const char *twice);

/* Reports bytes read of the head and of a spool to this meter, which must outlive the source. */
void source_set_meter(struct source *src, struct meter *meter);

/* If the input is compressed with gzip, zstd or xz, detected by its first bytes, makes the source deliver the decompressed
 * bytes. Call before anything else.
 *
 *     ERR_MALFORMED    here and in later reads: truncated or corrupt stream, or trailing data; the offset is one of the
 *                      compressed input
 *     ERR_UNSUPPORTED  another compression, compressed twice, or no libarchive for it
 *     ERR_LIMIT        a window over 128 MiB or limits->alloc; or more than SOURCE_RATIO_FREE bytes and more than
 *                      limits->ratio times the compressed bytes (200 times until source_head_done())
 */
#define SOURCE_RATIO_FREE (UINT64_C(1) << 20)
bool source_unpack(struct source *src, const struct limits *limits, struct err *err);

const char *source_name(const struct source *src);      /* for messages: escaped; owned by src */
bool source_is_file(const struct source *src);          /* a regular file, compressed or not; otherwise a pipe */
bool source_seekable(const struct source *src);         /* readable at any offset from any thread */
uint64_t source_size(const struct source *src);         /* in bytes, or SOURCE_SIZE_UNKNOWN if forward-only */
uint64_t source_file_size(const struct source *src);    /* size of the regular file itself, before any decompression */

/* Returns the first n bytes of the input in memory. *have is at least n, or less only if that is the whole input. Takes at
 * most twice that much memory, and no more than the size of a file. *p is valid until the next call or source_head_done().
 * Fails with ERR_LIMIT above SOURCE_HEAD_MAX. */
#define SOURCE_HEAD_MAX (UINT64_C(256) << 20)
bool source_head(struct source *src, uint64_t n, const uint8_t **p, uint64_t *have, struct err *err);

/* Frees the head up to offset `end`. A forward-only source keeps what it has read after that. Do not call source_head() on
 * such a source afterwards. */
void source_head_done(struct source *src, uint64_t end);

/* For a fetched source, whose size is unknown, of a format that has an index at its end: sets its size if its first window was
 * short, else makes it forward-only. Call it before the header is read. */
void source_settle_size(struct source *src);

/* Sets the input size that the header declares, for messages about truncation. */
void source_promise(struct source *src, uint64_t nbytes);

/* A pipe with at most this many bytes after its header is kept in memory. */
enum { SOURCE_SETTLE = 1 << 20 };

/* Reads a forward-only source into memory up to at least n bytes, and sets *ended if it ended. Its size is then known before
 * any output is produced, and it is seekable. The bytes are kept. For a file, sets *ended. */
bool source_ended_by(struct source *src, uint64_t n, bool *ended, struct err *err);

/* Reads exactly n bytes at `at` into buf. A forward-only source can read within the head, within a kept range, or forward
 * from at most SOURCE_BACK bytes before its position; it fails with ERR_MALFORMED if it ends early. Any other source can
 * read within source_size(); it fails with ERR_IO if bytes are missing, because the file has shrunk. */
bool source_read(struct source *src, uint64_t at, void *buf, size_t n, struct err *err);

/* Tells that bytes [from, to) of a file will not be read again, so that they can leave the page cache. Used by jobs larger
 * than memory, which would otherwise evict other programs' data. Callable from any thread. Adjacent ranges are dropped some
 * MiB at a time, the last ones on close. Does nothing unless the source is an uncompressed file. */
void source_drop(struct source *src, uint64_t from, uint64_t to);

/* Announces that bytes [at, at + n) of a forward-only source will be read after they have passed; they are kept in memory.
 * Call before they pass, in ascending order of `at`, without overlap. Does nothing if the source is seekable. */
bool source_keep(struct source *src, uint64_t at, uint64_t n, struct err *err);

/* Copies the rest of a forward-only source, from its head to `end`, into an unlinked temporary file in TMPDIR, continues
 * like source_finish() and makes the source seekable. Call before anything after the head was read. An `end` of
 * SOURCE_SIZE_UNKNOWN means the end of the input. Does nothing if the source is seekable. Fails with ERR_LIMIT if spooling
 * is forbidden, or with ERR_UNSUPPORTED if the job reads its input twice. */
bool source_spool(struct source *src, uint64_t end, bool tail_ok, struct err *err);

/* Ends a job. Fails with ERR_MALFORMED unless the input has exactly `end` bytes, or at least that many with tail_ok. Reads a
 * forward-only source to its end, so that its writer gets no SIGPIPE and checksums are verified. */
bool source_finish(struct source *src, uint64_t end, bool tail_ok, struct err *err);

/* Returns two numbers that differ if a file is replaced or modified. Both are 0 for a pipe. */
void source_stamp(const struct source *src, uint64_t stamp[2]);

/* Ends a job. Fails with ERR_IO if the size or modification time of a regular file has changed since it was opened, because
 * the bytes read may then be of two versions. */
bool source_unchanged(const struct source *src, struct err *err);

#endif
