/* small_file: a small text that lies beside a model or in a store, read whole from one descriptor. */
#ifndef SOURCE_SMALL_FILE_H
#define SOURCE_SMALL_FILE_H

#include "base/limits.h"
#include "source/source.h"

enum { SMALL_FILE_MAX = 16 << 20 };     /* bytes of config.json and the like */

/* Open a regular file of at most `max` bytes, and within the budget, else ERR_LIMIT that names `what`, and add it to
 * `inputs`. The text is not NUL-terminated and lives until source_close(*src), which is called after a failure too. */
bool small_file_open(struct source **src, const char *path, uint64_t max, struct budget *budget, const char *what,
    const char **text, size_t *n, struct inputs *inputs, struct err *err);

#endif
