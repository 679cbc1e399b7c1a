/* sets: the sets of kernels. This CPU may lack some of them. */
#ifndef SETS_H
#define SETS_H

#include "check.h"
#include "kernel/kernels.h"

enum { SETS = 2 };
static const char *const sets[SETS] = { "scalar", "avx2" };

/* Returns a set, or NULL if this CPU lacks it, which counts as skipped. */
static inline const struct kernels *
sets_pick(const char *name)
{
    struct err err;
    const struct kernels *k;

    err_init(&err);
    k = kernels_pick(name, &err);
    if (k == NULL) {
        CHECK(err.kind == ERR_UNSUPPORTED);
        check_skip(name, err.text);
    }
    return k;
}

#endif
