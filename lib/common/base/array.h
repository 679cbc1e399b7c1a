/* array: the one way in which arrays grow, and in which mostly sorted ones are sorted. */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stddef.h>

#include "base/err.h"

/* Makes room for one more item in an array of n items with *room places of `size` bytes, and returns the array, which may
 * have moved. Start with NULL and no room. The caller keeps and frees the array. On failure returns NULL with ERR_MEMORY and
 * leaves the array as it was. */
void *array_grow(void *array, size_t n, size_t *room, size_t size, struct err *err);

/* Sorts n items of `size` bytes as qsort() does. Takes one pass if they are sorted. Returns true if they were not. */
bool array_sort(void *array, size_t n, size_t size, int (*compare)(const void *, const void *));

#endif
