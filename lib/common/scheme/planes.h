/* planes: codes packed so that those in one byte (or word) are far apart in the weight. The rows of a matrix of codes are
 * divided into planes of equally many elements; unit i of the packed tensor holds element i of each plane:
 *
 *     element e of the weight: bits [shift, shift + bits) of unit e % units, with the shift of plane e / units
 *
 * A run of elements therefore needs one run of units, or two if it crosses into another plane, and every unit is needed once
 * for each plane. HQQ and quanto pack this way.
 */
#ifndef SCHEME_PLANES_H
#define SCHEME_PLANES_H

#include "scheme/scheme.h"

struct planes {
    uint64_t units;             /* elements in a plane; 0: the weight is not packed in planes */
    uint32_t unit;              /* bytes in a unit: 1 or 4 */
    uint32_t bits;
    uint32_t count;             /* of planes */
    bool high_first;            /* the first plane has the highest bits and the last one the lowest; otherwise the reverse */
};

/* Returns the bytes needed for elements [first, first + count) of a row of n units of `unit` bytes that repeats: the units
 * themselves, or all of them if the elements wrap around the end. */
struct span planes_lap(uint64_t n, uint32_t unit, uint64_t first, uint64_t count);

/* Like planes_lap, for packed codes. */
struct span planes_run(const struct planes *p, uint64_t first, uint64_t count);

/* Unpacks the codes of elements [at, at + n) of a part into y and returns how many, which is less than n at the end of a
 * plane. */
size_t planes_unpack(uint8_t *y, const struct planes *p, const struct decoding *d, unsigned part, uint64_t at, size_t n);

#endif
