/* npz: NumPy arrays in a ZIP archive. */
#ifndef CONTAINER_NUMPY_NPZ_H
#define CONTAINER_NUMPY_NPZ_H

#include "container/container.h"
#include "source/zip.h"

/* Checks whether the archive is an NPZ file: it is empty, or a member is an array or is named *.npy. Other members are
 * ignored. */
bool npz_probe(const struct zip *zip, struct source *src, bool *is, struct err *err);
bool npz_read(struct catalog *c, struct source *src, struct zip *zip, uint32_t file, const struct container_options *options,
    struct err *err);

#endif
