#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>

enum { LEAST = 64 };

void *
array_grow(void *array, size_t n, size_t *room, size_t size, struct err *err)
{
    if (n < *room)
        return array;
    size_t more = LEAST;
    if (*room)
        more = 2 * *room;
    void *moved = NULL;
    if (more <= SIZE_MAX / 2 / size)
        moved = realloc(array, more * size);
    if (moved)
        *room = more;
    else
        err_memory(err, more * size);
    return moved;
}

bool
array_sort(void *array, size_t n, size_t size, int (*compare)(const void *, const void *))
{
    const char *p = array;
    for (size_t i = 1; i < n; i++, p += size)
        if (compare(p, p + size) > 0) {
            qsort(array, n, size, compare);
            return true;
        }
    return false;
}
