/* bits: packed codes become one a byte, in order.
 *
 * A stream has its codes one behind the other, the low bits of a byte first; it is the same in words of any size that
 * are little-endian. A lane is one code of each unit, at the same bits of it: what lies beside it in the unit belongs
 * to other rows of the output. Cannot fail. */
#ifndef KERNEL_BITS_H
#define KERNEL_BITS_H

#include <stddef.h>
#include <stdint.h>

/* Codes [first, first + n) of a stream of 1 to 8 bits each.
 *   y    n codes; must not overlap x
 *   x    from the byte on that holds the first bit of code first / 8 * 8 */
void bits_stream(uint8_t *restrict y, const uint8_t *restrict x, size_t first, size_t n, unsigned bits);

/* One code of each of n units of 1 or 4 bytes, the latter little-endian: `bits` (1 to 8) from bit `shift` on.
 *   y    n codes; must not overlap x
 *   x    n units */
void bits_lane(uint8_t *restrict y, const uint8_t *restrict x, size_t n, size_t unit, unsigned shift, unsigned bits);

/* Blocks of eight little-endian words of 16 bits, whose codes of 4 or 8 bits come out by their place in the word: the lowest
 * of each of the eight first.
 *   y    nblocks * 128 / bits codes; must not overlap x
 *   x    nblocks * 16 bytes */
void bits_blocks(uint8_t *restrict y, const uint8_t *restrict x, size_t nblocks, unsigned bits);

#endif
