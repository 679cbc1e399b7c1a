#include "scheme/planes.h"

#include "base/num.h"

struct span
planes_lap(uint64_t n, uint32_t unit, uint64_t first, uint64_t count)
{
    uint64_t at = first % n;
    if (count > n - at)
        return (struct span){ .at = 0, .len = n * unit };
    return (struct span){ .at = at * unit, .len = count * unit };
}

struct span
planes_run(const struct planes *p, uint64_t first, uint64_t count)
{
    return planes_lap(p->units, p->unit, first, count);
}

size_t
planes_unpack(uint8_t *y, const struct planes *p, const struct decoding *d, unsigned part, uint64_t at, size_t n)
{
    uint64_t unit = at % p->units;
    uint32_t plane = (uint32_t)(at / p->units), place = p->high_first ? p->count - 1 - plane : plane;
    n = (size_t)num_min(n, p->units - unit);
    d->k->bits_lane(y, decoding_bytes(d, part, unit * p->unit), n, p->unit, place * p->bits, p->bits);
    return n;
}
