/* crc: computes the CRC-32 of gzip and ZIP: reflected, polynomial 0x04C11DB7, initial value and final XOR all ones (RFC
 * 1952, 8).
 *
 *     crc       CRC of the preceding bytes; 0 for none
 *     x         n bytes, any alignment; n may be 0
 *
 * Returns the CRC-32 of all bytes so far. Cannot fail.
 */
#ifndef KERNEL_CRC_H
#define KERNEL_CRC_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc_add(uint32_t crc, const uint8_t *x, size_t n);

/* Returns the CRC-32 of two concatenated byte strings from the CRC-32 of each and the length of the second. */
uint32_t crc_joined(uint32_t first, uint32_t second, uint64_t n_second);

#endif
