/* archive: what a ZIP archive is, from the names of its members. */
#ifndef CONTAINER_ARCHIVE_H
#define CONTAINER_ARCHIVE_H

#include "source/zip.h"

/* Returns true for a PyTorch checkpoint. */
bool archive_is_checkpoint(const struct zip *zip);

/* Returns the name of a format that is known but not read, with an article, or NULL. */
const char *archive_format(const struct zip *zip);

#endif
