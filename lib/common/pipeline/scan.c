#include "pipeline/scan.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"

bool
scan_init(struct nonfinite_scan *scan, const struct pieces *pieces, struct err *err)
{
    size_t n = pieces_count(pieces);
    *scan = (struct nonfinite_scan){ .pieces = pieces, .count = calloc(num_max(n, 1), sizeof *scan->count) };
    return scan->count || err_memory(err, n * sizeof *scan->count);
}

void
scan_clear(struct nonfinite_scan *scan)
{
    free(scan->count);
    scan->count = NULL;
}

/* Counts values in piece i. */
static void
count_values(struct nonfinite_scan *scan, size_t i, enum dtype dtype, const uint8_t *p, size_t n)
{
    struct nonfinite found = { 0 };
    nonfinite_add(&found, dtype, p, n);
    if (found.nan != 0)
        atomic_fetch_add(&scan->count[i].nan, found.nan);
    if (found.infinite != 0)
        atomic_fetch_add(&scan->count[i].infinite, found.infinite);
}

/* Returns the size of the values of a piece, 0 if there is nothing to scan. */
static size_t
value_size(const struct piece *piece, enum dtype *dtype)
{
    struct tensor t;
    if (!piece_output(&t, piece))
        return 0;
    *dtype = t.dtype;
    return nonfinite_size(t.dtype);
}

/* Out of turn: scans all values that are completely in these bytes. */
static uint64_t
digest(void *of, uint64_t at, const uint8_t *p, size_t n)
{
    struct nonfinite_scan *scan = of;
    uint64_t end = at + n;
    for (size_t i = pieces_find(scan->pieces, at); i < pieces_count(scan->pieces); i++) {
        const struct piece *piece = pieces_at(scan->pieces, i);
        if (piece->at >= end)
            break;
        enum dtype dtype;
        size_t size = value_size(piece, &dtype);
        if (size == 0)
            continue;
        uint64_t from = num_max(at, piece->at), to = num_min(end, piece->at + piece->nbytes);
        uint64_t first = piece->at + num_ceil_div(from - piece->at, size) * size;
        if (first < to)
            count_values(scan, i, dtype, p + (first - at), (size_t)((to - first) / size));
    }
    return 0;
}

static void
keep_tail(struct nonfinite_scan *scan, const uint8_t *p, size_t n)
{
    size_t new = (size_t)num_min(n, SCAN_TAIL);
    memmove(scan->tail, scan->tail + new, SCAN_TAIL - new);
    memcpy(scan->tail + SCAN_TAIL - new, p + n - new, new);
    scan->ntail = (size_t)num_min(scan->ntail + new, SCAN_TAIL);
}

/* In turn: scans the value that starts before these bytes and ends in them. */
static void
scan_see(void *of, uint64_t at, const uint8_t *p, size_t n, uint64_t digest)
{
    struct nonfinite_scan *scan = of;
    size_t i = pieces_find(scan->pieces, at);
    const struct piece *piece = pieces_at(scan->pieces, i);
    enum dtype dtype;
    size_t size = value_size(piece, &dtype), before = size ? (size_t)((at - piece->at) % size) : 0;
    (void)digest;
    if (before != 0 && before <= scan->ntail && n >= size - before) {
        uint8_t value[SCAN_TAIL + 1];
        memcpy(value, scan->tail + SCAN_TAIL - before, before);
        memcpy(value + before, p, size - before);
        count_values(scan, i, dtype, value, 1);
    }
    keep_tail(scan, p, n);
}

struct hook
scan_hook(struct nonfinite_scan *scan)
{
    return (struct hook){ .digest = digest, .see = scan_see, .of = scan };
}

struct nonfinite
scan_found(const struct nonfinite_scan *scan, size_t i)
{
    return (struct nonfinite){ .nan = atomic_load(&scan->count[i].nan), .infinite = atomic_load(&scan->count[i].infinite) };
}
