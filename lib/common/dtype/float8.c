/* float8: values of the one-byte float codes.
 *
 *     E4M3, E4M3FNUZ   s eeee mmm        value = (-1)^s * 2^(e - bias) * (1 + m/2^M)
 *     E5M2, E5M2FNUZ   s eeeee mm        e = 0:  (-1)^s * 2^(1 - bias) * m/2^M
 *     E8M0             eeeeeeee          value = 2^(e - 127), 0xFF is NaN
 *
 *                 bias   NaN                 infinity   minus zero
 *     E4M3          7    0x7F 0xFF           none       0x80
 *     E5M2         15    0x7D-7F 0xFD-FF     0x7C 0xFC  0x80
 *     E4M3FNUZ      8    0x80                none       none
 *     E5M2FNUZ     16    0x80                none       none
 *
 * Sources: OCP 8-bit Floating Point Specification; OCP Microscaling Formats; the FNUZ forms as in ml_dtypes.
 */
#include "dtype/float8.h"

#include "base/bytes.h"

#include <assert.h>

#define FLOAT_NAN 0x7FC00000u
#define FLOAT_INF 0x7F800000u

static float
power_of_two(int k)
{
    return float_of_bits((uint32_t)(127 + k) << 23);
}

/* Decodes sign, exponent and mantissa of the given width and bias, without regard to special codes. */
static float
finite(uint8_t code, int mantissa_bits, int bias)
{
    int e = (code & 0x7F) >> mantissa_bits;
    int m = code & ((1 << mantissa_bits) - 1);
    int one = 1 << mantissa_bits;
    float magnitude;
    if (e == 0)
        magnitude = (float)m * power_of_two(1 - bias - mantissa_bits);
    else
        magnitude = (float)(one + m) * power_of_two(e - bias - mantissa_bits);

    if (code & 0x80)
        return -magnitude;
    return magnitude;
}

float
float8_to_float(enum dtype dtype, uint8_t code)
{
    uint8_t magnitude = code & 0x7F;

    switch (dtype) {
    case DTYPE_F8_E4M3:
        if (magnitude == 0x7F)
            return float_of_bits(FLOAT_NAN);
        return finite(code, 3, 7);
    case DTYPE_F8_E5M2:
        if (magnitude > 0x7C)
            return float_of_bits(FLOAT_NAN);
        if (magnitude == 0x7C)
            return float_of_bits((uint32_t)(code & 0x80) << 24 | FLOAT_INF);
        return finite(code, 2, 15);
    case DTYPE_F8_E4M3FNUZ:
        if (code == 0x80)
            return float_of_bits(FLOAT_NAN);
        return finite(code, 3, 8);
    case DTYPE_F8_E5M2FNUZ:
        if (code == 0x80)
            return float_of_bits(FLOAT_NAN);
        return finite(code, 2, 16);
    case DTYPE_F8_E8M0:
        return float8_e8m0(code);
    default:
        assert(false);          /* not a float8 dtype */
        return 0;
    }
}
