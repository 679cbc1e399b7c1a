/* experts: how adapters name the experts of a layer. */
#ifndef ADAPTER_EXPERTS_H
#define ADAPTER_EXPERTS_H

#include "adapter/adapter_priv.h"

/* The parameters of transformers' experts, in the order of its modules, and the tensors that a file has of one expert. A weight is the
 * parameter of an ordinary module. */
struct parameter {
    const char *name;
    size_t parts;
    const char *part[2][2];             /* each by two names */
};
enum { EXPERTS_PARAMETERS = 3 };
extern const struct parameter experts_parameters[EXPERTS_PARAMETERS];

/* Returns true if p[0..n) is a name, or ends in one after a dot. */
bool experts_ends_in(const char *p, size_t n, const char *name, size_t len);

/* Splits PATH.experts.E.NAME: the length of PATH, E, and the number of the part of the parameter returned. NULL if a name is
 * not of this form. */
const struct parameter *experts_split(const char *name, size_t len, size_t *path, uint64_t *e, size_t *part);

/* Returns true if the factors of a module are stacks of experts, [experts, rank, in] and [experts, out, rank], and not the
 * kernels of a convolution. One side can have a single matrix for all experts. */
bool experts_is_stack(const struct adapter_module *m);

/* Finds the parameter of target_parameters that the factors of a module are of, and writes its path to *name; leaves it empty otherwise. */
bool experts_find_parameter(struct adapter_module *m, struct str *name, const struct adapter *a, struct err *err);

#endif
