/* crc: the CRC-32 of gzip and ZIP: reflected, polynomial 0x04C11DB7, begun and ended with all bits set (RFC 1952, 8).
 *   crc       of the bytes before these; 0: there are none
 *   x         n bytes, any alignment; n may be 0
 * Gives the CRC-32 of all of them. Cannot fail. */
#ifndef KERNEL_CRC_H
#define KERNEL_CRC_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc_add(uint32_t crc, const uint8_t *x, size_t n);

/* The CRC-32 of two runs of bytes, one behind the other, from that of each and the length of the second. */
uint32_t crc_joined(uint32_t first, uint32_t second, uint64_t n_second);

#endif
