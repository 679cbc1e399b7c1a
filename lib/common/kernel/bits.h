/* bits: unpacks codes to one a byte, in order.
 *
 * A stream holds its codes contiguously, the low bits of a byte first; the layout is the same in little-endian words of any
 * size. A lane is one code of each unit, always in the same bits; the other bits of the unit belong to other rows of the
 * output. Cannot fail.
 */
#ifndef KERNEL_BITS_H
#define KERNEL_BITS_H

#include <stddef.h>
#include <stdint.h>

/* Returns the code of 1 to 8 bits that begins at bit `at` of x: a code of a stream, or of any field. */
static inline unsigned
bits_code(const uint8_t *x, uint64_t at, unsigned bits)
{
    unsigned code = x[at / 8] >> at % 8;

    if (at % 8 + bits > 8)
        code |= (unsigned)x[at / 8 + 1] << (8 - at % 8);
    return code & ((1U << bits) - 1);
}

/* Unpacks codes [first, first + n) of a stream of 1 to 8 bits each.
 *
 *     y    n codes; must not overlap x
 *     x    starts with the byte that holds the first bit of code first / 8 * 8
 */
void bits_stream(uint8_t *restrict y, const uint8_t *restrict x, size_t first, size_t n, unsigned bits);

/* Unpacks one code of each of n units of 1 or 4 bytes, the latter little-endian: `bits` (1 to 8) bits starting at bit
 * `shift`.
 *
 *     y    n codes; must not overlap x
 *     x    n units
 */
void bits_lane(uint8_t *restrict y, const uint8_t *restrict x, size_t n, size_t unit, unsigned shift, unsigned bits);

/* Replaces each of n codes of 4 bits, n even, by a byte: y[i] = table[code i], the low nibble of a byte first. */
void bits_table(uint8_t *restrict y, const uint8_t *restrict x, size_t n, const uint8_t table[16]);

/* Finds the codes of 4 bits that blocks of `block` of them have, a multiple of 32: bit c of found[i] is set if code c occurs in block i. */
void bits_found(uint16_t *restrict found, const uint8_t *restrict x, size_t nblocks, size_t block);

/* Unpacks blocks of eight little-endian words of 16 bits, with codes of 4 or 8 bits. The codes are ordered by their position
 * in the word: the lowest code of each of the eight words comes first.
 *
 *     y    nblocks * 128 / bits codes; must not overlap x
 *     x    nblocks * 16 bytes
 */
void bits_blocks(uint8_t *restrict y, const uint8_t *restrict x, size_t nblocks, unsigned bits);

/* Puts the eight codes of 4 bits in each of n little-endian words in order: the low half of a word holds the even ones, the
 * high half the odd ones, as AWQ orders them.
 *
 *     y    n words; must not overlap x
 */
void bits_order(uint8_t *restrict y, const uint8_t *restrict x, size_t n);

#endif
