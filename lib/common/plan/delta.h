/* delta: a change of the elements of one input tensor or weight, made while they are read. The owner replaces the source by
 * a changed_tensor, or by a copy of the weight with a delta; every piece of that source then has changed elements, also as a part
 * of a composed tensor. Element i stays a function of its position, so any range can be made independently. */
#ifndef PLAN_DELTA_H
#define PLAN_DELTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "catalog/tensor.h"

struct kernels;
struct lowrank_sums;

/* Elements [first, first + n) of a source, row-major, that are being changed. */
struct delta_run {
    const struct kernels *k;
    uint64_t first;
    size_t n;
    double *v;                  /* the n elements, as decoded; changed in place; NULL if there are `codes` instead */
    bool (*read)(void *of, uint64_t first, size_t n, double *v, struct err *err);   /* reads other elements, as decoded */
    void *of;
    uint8_t *codes;             /* the n elements in BF16, of a source of this type; changed in place */
    struct lowrank_sums *sums;  /* of the change of the codes */
};

/* The first member of a larger struct, which its owner frees after the output is complete. */
struct delta {
    /* Changes the elements of a run. Workers call it at the same time. Fails with ERR_IO or ERR_MEMORY. */
    bool (*apply)(const struct delta *delta, const struct delta_run *run, struct err *err);
    /* Returns input i that it reads, or NULL after the last: for reports. Its extent.file counts as in the model. */
    const struct tensor *(*input)(const struct delta *delta, size_t i);
    enum dtype from;            /* F64 for a source of this type, else F32: how elements are read before the change */
    bool merges;                /* apply() accepts codes, too */
    bool again;                 /* goes back by more than SCHEME_BACK bytes of its source: a pipe is spooled */
    size_t number;              /* among the deltas of the job */
    uint64_t numel;             /* elements of the source */
    const char *name;           /* of what it changes, name_len bytes; borrowed from the catalog */
    uint32_t name_len;
    uint64_t fingerprint;       /* of everything that the change depends on, except for the bytes of its inputs */
};

/* A tensor with a delta. Few tensors have one, so struct tensor has no member for it. */
struct changed_tensor {
    struct tensor tensor;       /* with `changed` set */
    const struct delta *delta;  /* borrowed */
};

/* Returns the delta of a tensor, or NULL. */
static inline const struct delta *
tensor_delta(const struct tensor *t)
{
    if (t->changed)
        return ((const struct changed_tensor *)t)->delta;
    return NULL;
}

#endif
