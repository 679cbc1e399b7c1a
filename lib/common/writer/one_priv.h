/* one: formats that hold a single tensor. */
#ifndef WRITER_ONE_PRIV_H
#define WRITER_ONE_PRIV_H

#include "plan/choice.h"

/* Fails with ERR_USAGE unless the choice has exactly one tensor. `format`: "an NPY file". */
static inline bool
one_tensor(const struct choice *choice, const char *format, struct err *err)
{
    return choice->n == 1 || err_set(err, ERR_USAGE, "%s holds one tensor, but %zu are selected; choose one "
        "with --tensor NAME", format, choice->n);
}

#endif
