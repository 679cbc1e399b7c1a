/* gather: the bytes of a tensor as its elements come row-major, however they lie in the file. */
#ifndef MODEL_GATHER_H
#define MODEL_GATHER_H

#include "catalog/tensor.h"
#include "source/source.h"

/* Bytes [from, from + n) of t, whose file is src, into buf; their order within an element is the file's. A tensor with a
 * layout is picked from a window that goes over it, and needs a seekable source; where its neighbours lie far apart, as
 * along the columns of a matrix, that is a read an element: the pipeline makes those in panels. */
bool gather(struct source *src, const struct tensor *t, uint64_t from, void *buf, size_t n, struct err *err);

#endif
