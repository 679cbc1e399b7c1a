/* array: the one way an array grows. */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stddef.h>

#include "base/err.h"

/* The array of n items, *room places and `size` bytes an item, with a place for one more: moved when it was full.
 * It starts as NULL with no room; the caller keeps what is returned, and frees it. NULL and ERR_MEMORY when there is
 * none: the array is still where it was. */
void *array_grow(void *array, size_t n, size_t *room, size_t size, struct err *err);

#endif
