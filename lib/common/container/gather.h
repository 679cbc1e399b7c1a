/* gather: the bytes of a tensor in row-major order, independent of its layout in the file. */
#ifndef CONTAINER_GATHER_H
#define CONTAINER_GATHER_H

#include "catalog/tensor.h"
#include "source/source.h"

/* Reads bytes [from, from + n) of t from src into buf; elements keep the byte order of the file. A tensor with a
 * layout is collected through a window on the file and needs a seekable source. If neighbouring elements are far apart in
 * the file, as in a transposed matrix, this takes one read per element; the pipeline transposes such tensors in panels
 * instead. */
bool gather(struct source *src, const struct tensor *t, uint64_t from, void *buf, size_t n, struct err *err);

#endif
