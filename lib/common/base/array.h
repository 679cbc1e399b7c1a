/* array: the one way in which arrays grow. */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stddef.h>

#include "base/err.h"

/* Makes room for one more item in an array of n items with *room places of `size` bytes, and returns the array, which may
 * have moved. Start with NULL and no room. The caller keeps and frees the array. On failure returns NULL with ERR_MEMORY and
 * leaves the array as it was. */
void *array_grow(void *array, size_t n, size_t *room, size_t size, struct err *err);

#endif
