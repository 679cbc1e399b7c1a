/* search: binary search in a list of items sorted by their ends: pieces, members, kept ranges. */
#ifndef BASE_SEARCH_H
#define BASE_SEARCH_H

#include <stddef.h>
#include <stdint.h>

/* Returns the first of n items whose end is after `at`, or n if none is. `end` returns the end of item i. */
static inline size_t
search_end_after(const void *of, size_t n, uint64_t (*end)(const void *of, size_t i), uint64_t at)
{
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (end(of, mid) <= at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

#endif
