/* packs: assembles eight codes in a word from bytes b0, b1, ..; higher bits of the word are ignored.
 *
 *     3 bits    c0..c2 bits 0-2 of b0..b2, c3..c5 bits 3-5; c6 and c7 bits 6-7 of b0 and b1, below bits 6 and 7 of b2
 *     5 bits    c0..c4 bits 0-4 of b0..b4; c5 and c6 bits 5-7 of b0 and b1, below bits 5-6 of b3 and b4; c7 bits 5-7 of
 *               b2, below bit 7 of b4, below bit 7 of b3
 *     6 bits    c0..c2 bits 0-5 of b0..b2; c3 bits 6-7 of b0, b1, b2, with b0 highest
 *     7 bits    c0..c6 bits 0-6 of b0..b6; c7 bit 7 of b0..b6, with b0 highest
 */
#include "kernel/packs.h"

#include <string.h>

#include "base/num.h"

#define ALL(byte) (UINT64_C(0x0101010101010101) * (byte))

static inline uint64_t
spread3(uint64_t w)
{
    uint64_t c6 = (w >> 6 & 3) | (w >> 20 & 4), c7 = (w >> 14 & 3) | (w >> 21 & 4);

    return (w & 0x070707) | (w >> 3 & 0x070707) << 24 | c6 << 48 | c7 << 56;
}

static inline uint64_t
spread5(uint64_t w)
{
    uint64_t c5 = (w >> 5 & 7) | (w >> 26 & 0x18), c6 = (w >> 13 & 7) | (w >> 34 & 0x18);
    uint64_t c7 = (w >> 21 & 7) | (w >> 36 & 8) | (w >> 27 & 0x10);

    return (w & 0x1F1F1F1F1F) | c5 << 40 | c6 << 48 | c7 << 56;
}

static inline uint64_t
spread6(uint64_t w)
{
    uint64_t high = (w & 0xFFFFFF) | (w & 0xFFFFFF000000) << 8;         /* three of every four bytes */
    uint64_t last = (high >> 2 & 0x3000000030) | (high >> 12 & 0x0C0000000C) | (high >> 22 & 0x0300000003);

    return (high & ALL(0x3F)) | last << 24;
}

/* Bit 8i of one factor times bit 9j of the other is bit 54 - i of the product if j = 6 - i. No other pair contributes to these
 * bits, and no two pairs to the same bit. */
static inline uint64_t
spread7(uint64_t w)
{
    uint64_t last = (w >> 7 & (ALL(1) >> 8)) * 0x0040201008040201 >> 48 & 0x7F;

    return (w & (ALL(0x7F) >> 8)) | last << 56;
}

static inline uint64_t
spread(uint64_t w, const unsigned bits)
{
    switch (bits) {
    case 3:
        return spread3(w);
    case 5:
        return spread5(w);
    case 6:
        return spread6(w);
    default:
        return spread7(w);
    }
}

static inline void
unpack(uint8_t *restrict y, const uint8_t *restrict x, size_t n, const unsigned bits)
{
    uint64_t w;

    for (; n >= 24; n -= 8, x += bits, y += 8) {        /* eight bytes can be read with one load */
        memcpy(&w, x, sizeof w);
        w = spread(w, bits);
        memcpy(y, &w, sizeof w);
    }
    for (size_t some; n > 0; n -= some, x += n > 0 ? bits : 0, y += some) {
        some = (size_t)num_min(n, 8);
        w = 0;
        memcpy(&w, x, bits == 6 && some <= 4 ? 3 : bits);
        w = spread(w, bits);
        memcpy(y, &w, some);
    }
}

void
packs(uint8_t *restrict y, const uint8_t *restrict x, size_t n, unsigned bits)
{
    if (bits == 3)
        unpack(y, x, n, 3);
    else if (bits == 5)
        unpack(y, x, n, 5);
    else if (bits == 6)
        unpack(y, x, n, 6);
    else
        unpack(y, x, n, 7);
}
