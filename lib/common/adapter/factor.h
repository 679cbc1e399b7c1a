/* factor: values of the tensors of an adapter, as floats. */
#ifndef ADAPTER_FACTOR_H
#define ADAPTER_FACTOR_H

#include "kernel/kernels.h"
#include "model/model.h"

/* A matrix inside a tensor: its value (i, k) is element first + i * di + k * dk. */
struct factor {
    const struct tensor *t;
    uint64_t first, di, dk;
};

/* Returns true if the elements of a tensor can be read. An adapter with any other is refused when it is opened. */
bool factor_decodes(const struct kernels *k, const struct tensor *t);

/* Reads elements [first, first + n) of a tensor that factor_decodes() accepts, as floats; F64 is rounded. */
bool factor_elements(const struct model *m, const struct kernels *k, const struct tensor *t, uint64_t first, size_t n, float *out,
    struct err *err);

/* Reads values (i0 + i, k) for i below ni and k below nk to out[i * nk + k], with as few reads as the strides allow. */
bool factor_read(const struct model *m, const struct kernels *k, const struct factor *f, uint64_t i0, size_t ni, size_t nk,
    float *out, struct err *err);

#endif
