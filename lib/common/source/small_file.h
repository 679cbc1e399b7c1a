/* small_file: a small text file next to a model or in a store, read at once from a single descriptor. */
#ifndef SOURCE_SMALL_FILE_H
#define SOURCE_SMALL_FILE_H

#include "base/limits.h"
#include "source/source.h"

enum { SMALL_FILE_MAX = 16 << 20 };     /* size limit of config.json and the like, in bytes */

/* Opens and reads a regular file of at most `max` bytes and adds it to `inputs`. Set `pipe_ok` for a file that an option names:
 * it may be a pipe, and is never fetched. Fails with ERR_LIMIT, which names `what`, if it is larger or exceeds the budget. The
 * text has no NUL at its end and lives until source_close(*src), which the caller calls after a failure, too. */
bool small_file_open(struct source **src, const char *path, bool pipe_ok, uint64_t max, struct budget *budget, const char *what,
    const char **text, size_t *n, struct inputs *inputs, struct err *err);

/* Sets *exists for a file that exists, or cannot be accessed for another reason than its absence. A file that would be fetched is
 * fetched once, and exists if the command succeeds and prints something. Fails with ERR_MEMORY. */
bool small_file_exists(bool *exists, const char *path, struct inputs *inputs, struct err *err);

#endif
