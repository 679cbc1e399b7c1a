/* packs: unpacks codes of 3, 5, 6 or 7 bits in SDNQ's layout to one a byte, in order.
 *
 * Eight codes of b bits take b bytes; four codes of 6 bits take three. The first codes of a pack are the low bits of its
 * bytes; the last ones are assembled from the remaining high bits. Cannot fail.
 *
 *     y    n codes; must not overlap x
 *     x    starts with the byte of the first code, which begins a pack; whole packs, the last of which may have more codes
 *
 * Source: sdnq packed_int/unpack.py.
 */
#ifndef KERNEL_PACKS_H
#define KERNEL_PACKS_H

#include <stddef.h>
#include <stdint.h>

void packs(uint8_t *restrict y, const uint8_t *restrict x, size_t n, unsigned bits);

#endif
