/* names: a list of names that grows. */
#ifndef BASE_NAMES_H
#define BASE_NAMES_H

#include <stddef.h>

#include "base/err.h"

/* Zeroed: none. Read name[0] to name[n - 1] freely; clear with names_clear, after a failure too. */
struct names {
    char **name;                /* owned, each with a NUL behind it */
    size_t n, room;
};

/* One more: p[0..n), copied. ERR_MEMORY. */
bool names_add(struct names *list, const char *p, size_t n, struct err *err);

/* Order them by their bytes and keep one of each. */
void names_sort(struct names *list);

void names_clear(struct names *list);

#endif
