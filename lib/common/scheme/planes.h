/* planes: codes packed so that those of one byte (or word) lie far apart in the weight. A matrix of codes is cut across
 * its rows into planes of as many elements; unit i of the packed tensor holds element i of each plane:
 *
 *     element e of the weight: bits [shift, shift + bits) of unit e % units, shift that of plane e / units
 *
 * So a run of elements needs a run of units, or two of them where it crosses planes; and every unit is needed once for
 * each plane. HQQ and quanto pack so. */
#ifndef SCHEME_PLANES_H
#define SCHEME_PLANES_H

#include "scheme/scheme.h"

struct planes {
    uint64_t units;             /* elements of a plane; 0: there are none */
    uint32_t unit;              /* bytes: 1 or 4 */
    uint32_t bits;
    uint32_t count;             /* of planes */
    bool high_first;            /* the first plane has the highest bits, the last one the lowest; else the other way */
};

/* Bytes for elements [first, first + count) of a row of n units of so many bytes that is gone through again and again:
 * those units, or all where the elements go past the end. */
struct span planes_lap(uint64_t n, uint32_t unit, uint64_t first, uint64_t count);

/* The same of packed codes. */
struct span planes_run(const struct planes *p, uint64_t first, uint64_t count);

/* Unpacks codes of elements [at, at + n) of a part into y and returns how many: fewer than n where a plane ends. */
size_t planes_unpack(uint8_t *y, const struct planes *p, const struct decoding *d, unsigned part, uint64_t at, size_t n);

#endif
