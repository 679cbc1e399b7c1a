/* bfloat16: the upper half of a binary32, as a code in a uint16_t. */
#ifndef DTYPE_BFLOAT16_H
#define DTYPE_BFLOAT16_H

#include "base/bytes.h"

enum { BFLOAT16_NAN = 0x7FC0 };

/* Exact, except that every NaN becomes the canonical one. */
static inline float
bfloat16_to_float(uint16_t b)
{
    if ((b & 0x7FFFu) > 0x7F80u)
        return float_of_bits(0x7FC00000u);
    return float_of_bits((uint32_t)b << 16);
}

/* Rounds to nearest, ties to even, and preserves subnormals. Overflow carries into infinity. */
static inline uint16_t
bfloat16_of_float(float f)
{
    uint32_t u = bits_of_float(f);

    if ((u & 0x7FFFFFFFu) > 0x7F800000u)
        return BFLOAT16_NAN;
    return (uint16_t)((u + 0x7FFFu + (u >> 16 & 1u)) >> 16);
}

#endif
