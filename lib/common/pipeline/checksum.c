#include "pipeline/checksum.h"

#include "kernel/crc.h"

static uint64_t
digest(void *of, uint64_t at, const uint8_t *p, size_t n)
{
    const struct checksum *c = of;
    (void)at;
    return c->kernels->crc(0, p, n);
}

static void
checksum_see(void *of, uint64_t at, const uint8_t *p, size_t n, uint64_t digest)
{
    struct checksum *c = of;
    (void)at, (void)p;
    c->crc = crc_joined(c->crc, (uint32_t)digest, n);
}

/* The CRC-32 of a string is the sum of those of its parts, each moved by the bytes after it. */
static void
join(void *of, size_t n, uint64_t after, uint64_t digest)
{
    struct checksum *c = of;
    (void)n;
    c->crc ^= crc_joined((uint32_t)digest, 0, after);
}

struct hook
checksum_hook(struct checksum *checksum)
{
    return (struct hook){ .digest = digest, .see = checksum_see, .join = join, .of = checksum };
}
