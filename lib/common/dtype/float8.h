/* float8: the one-byte floats of OCP (E4M3, E5M2, E8M0) and of AMD (the FNUZ forms). */
#ifndef DTYPE_FLOAT8_H
#define DTYPE_FLOAT8_H

#include "base/bytes.h"
#include "dtype/dtype.h"

/* Returns the exact value of a code; a NaN is the canonical one. `dtype` is DTYPE_F8_E4M3, _E5M2, _E4M3FNUZ, _E5M2FNUZ or
 * _E8M0. */
float float8_to_float(enum dtype dtype, uint8_t code);

/* Returns the value of an E8M0 code, 2^(code - 127); the value of code 0 is subnormal. */
static inline float
float8_e8m0(uint8_t code)
{
    return float_of_bits(code == 0xFF ? 0x7FC00000 : code == 0 ? 0x00400000 : (uint32_t)code << 23);
}

#endif
