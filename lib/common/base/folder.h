/* folder: the names in one, and paths that are made of it. */
#ifndef BASE_FOLDER_H
#define BASE_FOLDER_H

#include <dirent.h>

#include "base/err.h"

/* The next name in an open folder, until the next call; NULL at its end, and with ERR_IO when it cannot be read on. */
const char *folder_next(DIR *d, struct err *err);

/* dir[0..n)/name as a path, which the caller frees; NULL without memory. */
char *folder_path(const char *dir, size_t n, const char *name, struct err *err);

/* Bytes of the folder in front of a path's last part: 0 when it has none, 1 for the root. */
size_t folder_len(const char *path);

/* The last part of a path. */
const char *folder_name(const char *path);

#endif
