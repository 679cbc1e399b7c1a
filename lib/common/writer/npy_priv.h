/* npy: shared by NPY and NPZ: the header of a NumPy array. */
#ifndef WRITER_NPY_PRIV_H
#define WRITER_NPY_PRIV_H

#include "base/err.h"
#include "base/str.h"
#include "catalog/tensor.h"

/* Appends the header of an array, version 1.0, up to its data. Sets *nbytes to the size of the data, at most 2^63 - 1. Fails
 * with ERR_UNSUPPORTED for a type or shape that NumPy does not have. The caller checks out->failed. */
bool npy_header(struct str *out, const struct tensor *t, uint64_t *nbytes, struct err *err);

#endif
