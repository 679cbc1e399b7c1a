/* scan: counts the NaN and infinite values of an output per tensor, for F16, BF16, F32, F64 and C64. Each worker scans its
 * own blocks; the counts do not depend on the number of workers. */
#ifndef PIPELINE_SCAN_H
#define PIPELINE_SCAN_H

#include <stdatomic.h>

#include "kernel/nonfinite.h"
#include "plan/pieces.h"

enum { SCAN_TAIL = 7 };                 /* bytes of the widest value minus 1 */

struct nonfinite_scan {
    const struct pieces *pieces;        /* borrowed */
    struct scan_count {
        atomic_uint_fast64_t nan, infinite;
    } *count;                           /* one per piece; owned */
    uint8_t tail[SCAN_TAIL];            /* its end holds the last `ntail` bytes seen */
    size_t ntail;
};

bool scan_init(struct nonfinite_scan *scan, const struct pieces *pieces, struct err *err);
void scan_clear(struct nonfinite_scan *scan);     /* accepts a zeroed one */

/* Returns the hook that counts; the scan is borrowed while the hook is in use. A value cut by the range is not counted. */
struct hook scan_hook(struct nonfinite_scan *scan);

/* Returns the counts of piece i. */
struct nonfinite scan_found(const struct nonfinite_scan *scan, size_t i);

#endif
