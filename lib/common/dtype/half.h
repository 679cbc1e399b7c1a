/* half: IEEE binary16, as a code in a uint16_t.
 *
 *     15 | 14 .. 10 | 9 .. 0       value = (-1)^s * 2^(e - 15) * (1 + m/1024);  e = 0: m * 2^-24
 *      s |    e     |   m                                                       e = 31: inf (m = 0) or NaN
 *
 * Every NaN returned is the canonical one: positive, quiet, no payload.
 */
#ifndef DTYPE_HALF_H
#define DTYPE_HALF_H

#include "base/bytes.h"

#include <stdbool.h>

enum { HALF_INF = 0x7C00, HALF_NAN = 0x7E00 };

static inline bool
half_is_finite(uint16_t h)
{
    return (h & HALF_INF) != HALF_INF;
}

/* Exact. */
static inline float
half_to_float(uint16_t h)
{
    uint32_t magnitude = h & 0x7FFFu;
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16;

    if (magnitude > HALF_INF)
        return float_of_bits(0x7FC00000u);
    if (magnitude == HALF_INF)
        return float_of_bits(sign | 0x7F800000u);
    /* With the fields moved into place, the value is 2^(127-15) too small, subnormals included. */
    float f = float_of_bits(magnitude << 13) * 0x1p112f;
    return float_of_bits(sign | bits_of_float(f));
}

/* Returns the value of a code at any address. */
static inline float
half_load(const uint8_t *p)
{
    return half_to_float(load_le16(p));
}

/* Rounds to nearest, ties to even; 65520 and above become infinity. */
static inline uint16_t
half_of_float(float f)
{
    uint32_t u = bits_of_float(f);
    uint32_t magnitude = u & 0x7FFFFFFFu;
    uint32_t sign = u >> 16 & 0x8000u;
    uint32_t code;

    if (magnitude > 0x7F800000u)
        return HALF_NAN;
    if (magnitude >= 0x477FF000u)               /* 65520, halfway to 2^16: the tie rounds up */
        code = HALF_INF;
    else if (magnitude >= 0x38800000u)          /* 2^-14, the smallest normal: exponent 127-15 less, then RNE */
        code = (magnitude - 0x38000000u + 0xFFFu + (magnitude >> 13 & 1u)) >> 13;
    else                                        /* the last place of 0.5 is 2^-24, as in a half subnormal */
        code = bits_of_float(float_of_bits(magnitude) + 0.5f) - 0x3F000000u;
    return (uint16_t)(sign | code);
}

#endif
