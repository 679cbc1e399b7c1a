/* names: a growing list of names. */
#ifndef BASE_NAMES_H
#define BASE_NAMES_H

#include <stddef.h>

#include "base/err.h"

/* Empty when zero-initialized. name[0] to name[n - 1] may be read directly. Clear it after a failure, too. */
struct names {
    char **name;                /* owned, each NUL-terminated */
    size_t n, room;
};

/* Appends a copy of p[0..n). Fails with ERR_MEMORY. */
bool names_add(struct names *list, const char *p, size_t n, struct err *err);

/* Sorts the names by byte and removes duplicates. */
void names_sort(struct names *list);

void names_clear(struct names *list);

#endif
