#include "kernel/crc.h"

#include <zlib.h>

uint32_t
crc_add(uint32_t crc, const uint8_t *x, size_t n)
{
    if (n != 0)
        return (uint32_t)crc32_z(crc, x, n);
    return crc;
}

uint32_t
crc_joined(uint32_t first, uint32_t second, uint64_t n_second)
{
    return (uint32_t)crc32_combine(first, second, (z_off_t)n_second);
}
