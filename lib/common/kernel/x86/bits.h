/* bits: eight codes of a stream in a word, and lanes as loops that a compiler turns into vectors; its instruction set
 * is that of the file that includes this. */
#ifndef KERNEL_X86_BITS_H
#define KERNEL_X86_BITS_H

#include "kernel/bits.h"
#include "kernel/kernels.h"

#include <string.h>

/* Eight codes to a byte each: fours, then twos, then single ones move apart. */
static ALWAYS_INLINE uint64_t
spread8(uint64_t u, const unsigned bits)
{
    const uint64_t four = (UINT64_C(1) << 4 * bits) - 1;
    const uint64_t two = ((UINT64_C(1) << 2 * bits) - 1) * 0x0000000100000001;
    const uint64_t one = ((UINT64_C(1) << bits) - 1) * 0x0001000100010001;

    u = (u & four) | (u & four << 4 * bits) << (32 - 4 * bits);
    u = (u & two) | (u & two << 2 * bits) << (16 - 2 * bits);
    return (u & one) | (u & one << bits) << (8 - bits);
}

/* n codes of `bits`, a constant, from a multiple of eight on. */
static ALWAYS_INLINE void
stream(uint8_t *restrict y, const uint8_t *restrict x, size_t n, const unsigned bits)
{
    for (; n * bits >= 64 && n >= 8; n -= 8, x += bits, y += 8) {      /* eight bytes are there, which is one load */
        uint64_t u;

        memcpy(&u, x, sizeof u);
        u = spread8(u, bits);
        memcpy(y, &u, sizeof u);
    }
    bits_stream(y, x, 0, n, bits);
}

/* Two codes a byte, without the shifts of longer words. */
static ALWAYS_INLINE void
stream4(uint8_t *restrict y, const uint8_t *restrict x, size_t n)
{
    size_t pairs = n / 2;

    for (size_t i = 0; i < pairs; i++) {
        y[2 * i] = x[i] & 15;
        y[2 * i + 1] = x[i] >> 4;
    }
    if (n % 2)
        y[n - 1] = x[n / 2] & 15;
}

static void
row_stream(uint8_t *restrict y, const uint8_t *restrict x, size_t first, size_t n, unsigned bits)
{
    size_t head = (8 - first % 8) % 8 < n ? (8 - first % 8) % 8 : n;

    bits_stream(y, x, first, head, bits);
    if (head == n)
        return;
    x += head ? bits : 0;
    y += head;
    n -= head;
    switch (bits) {
    case 1: stream(y, x, n, 1); break;
    case 2: stream(y, x, n, 2); break;
    case 3: stream(y, x, n, 3); break;
    case 4: stream4(y, x, n); break;
    case 5: stream(y, x, n, 5); break;
    case 6: stream(y, x, n, 6); break;
    case 7: stream(y, x, n, 7); break;
    default: memcpy(y, x, n); break;
    }
}

static void
row_lane(uint8_t *restrict y, const uint8_t *restrict x, size_t n, size_t unit, unsigned shift, unsigned bits)
{
    const uint32_t mask = (1U << bits) - 1;

    if (unit == 1) {
        for (size_t i = 0; i < n; i++)
            y[i] = (uint8_t)(x[i] >> shift & mask);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t u;

        memcpy(&u, x + 4 * i, sizeof u);
        y[i] = (uint8_t)(u >> shift & mask);
    }
}

static void
bits_use(struct kernels *k)
{
    k->bits_stream = row_stream;
    k->bits_lane = row_lane;
}

#endif
