/* bytes: integers in memory of any alignment, byte by byte (compilers make a single load or store of it). */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t
load_le16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t
load_le32(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t
load_le64(const uint8_t *p)
{
    return load_le32(p) | (uint64_t)load_le32(p + 4) << 32;
}

static inline uint16_t
load_be16(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t
load_be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline uint64_t
load_be64(const uint8_t *p)
{
    return (uint64_t)load_be32(p) << 32 | load_be32(p + 4);
}

static inline void
store_le16(uint8_t *p, uint16_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}

static inline void
store_le32(uint8_t *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> 8 * i);
}

static inline void
store_le64(uint8_t *p, uint64_t v)
{
    for (int i = 0; i < 8; i++)
        p[i] = (uint8_t)(v >> 8 * i);
}

/* Reverses the bytes of each of n units of `width` bytes, in place. */
static inline void
bytes_swap(uint8_t *p, size_t width, size_t n)
{
    for (; n != 0; n--, p += width)
        for (size_t i = 0; i < width / 2; i++) {
            uint8_t b = p[i];
            p[i] = p[width - 1 - i];
            p[width - 1 - i] = b;
        }
}

/* Negates a little-endian two's complement integer of `width` bytes, in place. */
static inline void
bytes_negate(uint8_t *p, size_t width)
{
    unsigned carry = 1;
    for (size_t i = 0; i < width; i++, carry >>= 8)
        p[i] = (uint8_t)(carry += p[i] ^ 0xFF);
}

/* Return the float with bit pattern u, and the bit pattern of a float. */
static inline float
float_of_bits(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static inline uint32_t
bits_of_float(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

#endif
