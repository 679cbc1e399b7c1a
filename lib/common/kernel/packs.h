/* packs: codes of 3, 5, 6 or 7 bits as SDNQ packs them become one a byte, in order.
 *
 * Eight codes take as many bytes as they have bits; of 6 bits four take three. The first codes of a pack are the low
 * bits of its bytes, the others are put together from what is left above. Cannot fail.
 *
 *   y    n codes; must not overlap x
 *   x    from the byte of the first one on, which begins a pack; whole packs, of which the last is not used up
 *
 * Source: sdnq packed_int/unpack.py. */
#ifndef KERNEL_PACKS_H
#define KERNEL_PACKS_H

#include <stddef.h>
#include <stdint.h>

void packs(uint8_t *restrict y, const uint8_t *restrict x, size_t n, unsigned bits);

#endif
