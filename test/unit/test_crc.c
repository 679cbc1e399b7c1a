/* CRC-32: known values, every set of kernels against zlib, and combined runs. */
#include "check.h"
#include "sets.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "kernel/crc.h"

enum { N = 1 << 16 };

static uint8_t x[N + 64];

static void
check_set(const struct kernels *k)
{
    /* ITU-T V.42, the check value of this CRC. */
    CHECK(k->crc(0, (const uint8_t *)"123456789", 9) == 0xCBF43926);
    CHECK(k->crc(0, x, 0) == 0 && k->crc(0x12345678, x, 0) == 0x12345678);
    for (size_t n = 0; n < 700; n++)
        for (size_t skip = 0; skip < 17; skip += 4)
            CHECK(k->crc((uint32_t)(n * 2654435761u), x + skip, n) == crc32_z(n * 2654435761u & UINT32_MAX, x + skip, n));
    for (size_t n = N - 70; n < N; n++)
        CHECK(k->crc(0, x, n) == crc32_z(0, x, n));
    for (size_t cut = 0; cut <= N; cut += 4099) {
        uint32_t first = k->crc(0, x, cut), second = k->crc(0, x + cut, N - cut);
        CHECK(crc_joined(first, second, N - cut) == crc32_z(0, x, N) && k->crc(first, x + cut, N - cut) == crc32_z(0, x, N));
    }
}

int
main(void)
{
    uint32_t state = 1;
    for (size_t i = 0; i < sizeof x; i++)
        x[i] = (uint8_t)((state = state * 1664525 + 1013904223) >> 24);
    for (size_t i = 0; i < SETS; i++) {
        const struct kernels *k = sets_pick(sets[i]);
        if (k)
            check_set(k);
    }
    return check_done("crc");
}
