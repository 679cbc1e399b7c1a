#include "catalog/shape.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"

size_t
shape_pack(uint8_t *out, const uint64_t *dim, uint32_t rank)
{
    uint8_t *p = out;
    for (uint32_t i = 0; i < rank; i++) {
        uint64_t left = dim[i];
        for (; left >= 0x80; left >>= 7)
            *p++ = (uint8_t)(left | 0x80);
        *p++ = (uint8_t)left;
    }
    return (size_t)(p - out);
}

size_t
shape_packed_len(const struct shape *shape)
{
    const uint8_t *p = shape->packed;
    for (uint32_t i = 0; i < shape->rank; i++)
        shape_next(&p);
    return (size_t)(p - shape->packed);
}

uint64_t
shape_dim(const struct shape *shape, uint32_t i)
{
    const uint8_t *p = shape->packed;
    while (i-- != 0)
        shape_next(&p);
    return shape_next(&p);
}

bool
shape_same(const struct shape *a, const struct shape *b, uint32_t n)
{
    const uint8_t *p = a->packed, *q = b->packed;
    for (uint32_t i = 0; i < n; i++)
        if (shape_next(&p) != shape_next(&q))
            return false;
    return true;
}

bool
shape_is_empty(const struct shape *shape)
{
    const uint8_t *p = shape->packed;
    for (uint32_t i = 0; i < shape->rank; i++)
        if (shape_next(&p) == 0)
            return true;
    return false;
}

bool
shape_numel(const struct shape *shape, uint64_t *numel)
{
    uint64_t n = 1;
    const uint8_t *p = shape->packed;
    for (uint32_t i = 0; i < shape->rank; i++)
        if (!num_mul(&n, n, shape_next(&p)))
            return false;
    *numel = n;
    return true;
}

/* Returns the elements per row. Scalars are contiguous, even if they have fewer than eight bits, so they form a single row. */
static uint64_t
row_of(const struct shape *shape, enum dtype dtype, uint64_t numel)
{
    if (dtype_facts(dtype)->kind == DTYPE_IS_BLOCK && shape->rank != 0)
        return shape_dim(shape, shape->rank - 1);
    return numel;
}

bool
shape_nbytes(const struct shape *shape, enum dtype dtype, uint64_t *nbytes, bool *whole)
{
    uint64_t numel, n;
    if (!shape_numel(shape, &numel))
        return false;
    uint64_t row = row_of(shape, dtype, numel);
    /* The reference library counts bits of scalars, so their number must fit 64 bits as well. */
    if (!dtype_rows_bytes(&n, dtype, row != 0 ? numel / row : 0, row) || n > UINT64_MAX / 8)
        return false;
    *whole = numel == 0 || row % dtype_facts(dtype)->elems == 0;
    if (*whole)
        *nbytes = n;
    return true;
}

uint64_t
shape_offset(const struct shape *shape, enum dtype dtype, uint64_t i)
{
    uint64_t row = row_of(shape, dtype, UINT64_MAX);
    return dtype_block_offset(dtype, row, i / row, i % row);
}

const char *
shape_text(char buf[SHAPE_TEXT], const struct shape *shape)
{
    size_t n = 0;
    const uint8_t *p = shape->packed;
    buf[n++] = '[';
    for (uint32_t i = 0; i < shape->rank; i++) {
        char dim[24];
        int len = snprintf(dim, sizeof dim, "%s%" PRIu64, i ? ", " : "", shape_next(&p));
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
