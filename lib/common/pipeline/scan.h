/* scan: the values of an output that are NaN or infinite, counted tensor by tensor: of F16, BF16, F32, F64 and C64. Each
 * block is looked at by the worker that made it; the counts are the same however many there are. */
#ifndef PIPELINE_SCAN_H
#define PIPELINE_SCAN_H

#include <stdatomic.h>

#include "kernel/nonfinite.h"
#include "plan/pieces.h"

enum { SCAN_TAIL = 7 };                 /* bytes of a value but its last */

struct nonfinite_scan {
    const struct pieces *pieces;        /* borrowed */
    struct scan_count {
        atomic_uint_fast64_t nan, infinite;
    } *count;                           /* one a piece; owned */
    uint8_t tail[SCAN_TAIL];            /* ends with the last `ntail` bytes that went by */
    size_t ntail;
};

bool scan_init(struct nonfinite_scan *scan, const struct pieces *pieces, struct err *err);
void scan_clear(struct nonfinite_scan *scan);     /* takes a zeroed one */

/* The hook that counts; the scan is borrowed as long as the hook is called. A value that a range cuts is not counted. */
struct hook scan_hook(struct nonfinite_scan *scan);

/* What was found in piece i. */
struct nonfinite scan_found(const struct nonfinite_scan *scan, size_t i);

#endif
