/* folder: the names in a directory, and paths made from them. */
#ifndef BASE_FOLDER_H
#define BASE_FOLDER_H

#include <dirent.h>

#include "base/err.h"

/* Returns the next name in an open directory, valid until the next call. Returns NULL at the end, and with ERR_IO on
 * failure. */
const char *folder_next(DIR *d, struct err *err);

/* Returns the path dir[0..n)/name, which the caller frees, or NULL if out of memory. */
char *folder_path(const char *dir, size_t n, const char *name, struct err *err);

/* Returns the length of the directory part of a path: 0 if it has none, 1 for the root. */
size_t folder_len(const char *path);

/* Returns the last component of a path. */
const char *folder_name(const char *path);

#endif
