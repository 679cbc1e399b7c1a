#include "catalog/shape.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"

bool
shape_numel(const struct shape *shape, uint64_t *numel)
{
    uint64_t n = 1;
    for (uint32_t i = 0; i < shape->rank; i++)
        if (!num_mul(&n, n, shape->dim[i]))
            return false;
    *numel = n;
    return true;
}

bool
shape_nbytes(const struct shape *shape, enum dtype dtype, uint64_t *nbytes, bool *whole)
{
    const struct dtype_facts *f = dtype_facts(dtype);
    uint64_t numel, bits;
    /* The bits of a scalar, as the reference counts them, must fit 64 bits too. */
    if (!shape_numel(shape, &numel) || !num_mul(&bits, numel / f->elems, 8 * (uint64_t)f->bytes))
        return false;
    *whole = numel % f->elems == 0;
    if (*whole)
        *nbytes = bits / 8;
    return true;
}

const char *
shape_text(char buf[SHAPE_TEXT], const struct shape *shape)
{
    size_t n = 0;
    buf[n++] = '[';
    for (uint32_t i = 0; i < shape->rank; i++) {
        char dim[24];
        int len = snprintf(dim, sizeof dim, "%s%" PRIu64, i ? ", " : "", shape->dim[i]);
        if (n + (size_t)len + sizeof ", ...]" > SHAPE_TEXT) {
            n += (size_t)snprintf(buf + n, SHAPE_TEXT - n, ", ...");
            break;
        }
        memcpy(buf + n, dim, (size_t)len);
        n += (size_t)len;
    }
    buf[n++] = ']';
    buf[n] = '\0';
    return buf;
}
