/* npz: arrays of NumPy in a ZIP archive. */
#ifndef CONTAINER_NUMPY_NPZ_H
#define CONTAINER_NUMPY_NPZ_H

#include "container/container.h"
#include "source/zip.h"

/* Checks whether the members are arrays: at least one of them is, or the archive is empty. A member that is not an array and
 * has no name of one does not count. */
bool npz_probe(const struct zip *zip, struct source *src, bool *is, struct err *err);
bool npz_read(struct catalog *c, struct source *src, struct zip *zip, uint32_t file, const struct container_options *options,
    struct err *err);

#endif
