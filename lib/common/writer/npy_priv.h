/* npy: what NPY and NPZ have in common: an array of numpy. */
#ifndef WRITER_NPY_PRIV_H
#define WRITER_NPY_PRIV_H

#include "base/err.h"
#include "base/str.h"
#include "catalog/tensor.h"

/* Append the header of an array: version 1.0, up to its data. *nbytes: the data, at most 2^63 - 1. What no array of numpy
 * can be is ERR_UNSUPPORTED. A failed `out` is left to the caller. */
bool npy_header(struct str *out, const struct tensor *t, uint64_t *nbytes, struct err *err);

#endif
