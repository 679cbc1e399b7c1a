/* bits: the definition, one code at a time. */
#include "kernel/bits.h"

#include "base/bytes.h"

void
bits_stream(uint8_t *restrict y, const uint8_t *restrict x, size_t first, size_t n, unsigned bits)
{
    for (size_t i = 0; i < n; i++)
        y[i] = (uint8_t)bits_code(x, (first % 8 + i) * bits, bits);
}

void
bits_lane(uint8_t *restrict y, const uint8_t *restrict x, size_t n, size_t unit, unsigned shift, unsigned bits)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t u = unit == 1 ? x[i] : load_le32(x + 4 * i);

        y[i] = (uint8_t)(u >> shift & ((1U << bits) - 1));
    }
}

void
bits_blocks(uint8_t *restrict y, const uint8_t *restrict x, size_t nblocks, unsigned bits)
{
    for (; nblocks > 0; nblocks--, x += 16)
        for (unsigned shift = 0; shift < 16; shift += bits)
            for (int i = 0; i < 8; i++)
                *y++ = (uint8_t)(load_le16(x + 2 * i) >> shift & ((1U << bits) - 1));
}

void
bits_table(uint8_t *restrict y, const uint8_t *restrict x, size_t n, const uint8_t table[16])
{
    for (size_t i = 0; i < n; i++)
        y[i] = table[x[i / 2] >> 4 * (i % 2) & 15];
}

void
bits_found(uint16_t *restrict found, const uint8_t *restrict x, size_t nblocks, size_t block)
{
    for (size_t i = 0; i < nblocks; i++) {
        unsigned all = 0;
        for (size_t j = 0; j < block / 2; j++, x++)
            all |= 1u << (*x & 15) | 1u << (*x >> 4);
        found[i] = (uint16_t)all;
    }
}

/* Returns the codes in the low half of each word of 32 bits, each in the low half of a byte. */
static uint64_t
spread(uint64_t x)
{
    x &= UINT64_C(0x0000ffff0000ffff);
    x = (x | x << 8) & UINT64_C(0x00ff00ff00ff00ff);
    return (x | x << 4) & UINT64_C(0x0f0f0f0f0f0f0f0f);
}

void
bits_order(uint8_t *restrict y, const uint8_t *restrict x, size_t n)
{
    for (; n >= 2; n -= 2, x += 8, y += 8) {
        uint64_t two = load_le64(x);
        store_le64(y, spread(two) | spread(two >> 16) << 4);
    }
    if (n == 1) {
        uint64_t one = load_le32(x);
        store_le32(y, (uint32_t)(spread(one) | spread(one >> 16) << 4));
    }
}
