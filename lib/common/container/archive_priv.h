/* What a ZIP archive can be. */
#ifndef CONTAINER_ARCHIVE_PRIV_H
#define CONTAINER_ARCHIVE_PRIV_H

#include "container/container.h"
#include "source/zip.h"

/* npz.c: its members are arrays, at least one of them, or it has none. A member that is no array and does not say that it
 * is one is passed over. */
bool npz_probe(const struct zip *zip, struct source *src, bool *is, struct err *err);
bool npz_read(struct catalog *c, struct source *src, struct zip *zip, uint32_t file, const struct container_options *options,
    struct err *err);

#endif
