/* nonfinite: an exponent of all ones means infinity if the mantissa is 0, and NaN otherwise.
 *
 *              sign  exponent   mantissa
 *     BF16     15    14..7      6..0
 *     F16      15    14..10     9..0
 *     F32      31    30..23     22..0
 *     F64      63    62..52     51..0
 *
 * Without the sign, NaN are the codes above infinity and finite values those below. Adding sign bit minus infinity therefore
 * sets the sign bit of exactly the infinities and NaN. Such values are very rare: a run is first tested for having any,
 * which takes three instructions per vector on any processor, and only then are they counted.
 */
#include "kernel/nonfinite.h"

#include <string.h>

#include "base/num.h"

enum { RUN = 4096 };            /* values in a run; they are still in L1 for the second pass */

#define SIGN16 UINT16_C(0x8000)
#define SIGN32 UINT32_C(0x80000000)
#define SIGN64 UINT64_C(0x8000000000000000)

/* Counts a value without its sign. */
static void
add(struct nonfinite *sum, uint64_t code, uint64_t infinity)
{
    sum->nan += code > infinity;
    sum->infinite += code == infinity;
}

/* Counts the values of a run whose type has this many bits. */
#define DEFINE_ADD(bits, sign) \
    static void \
    add##bits(struct nonfinite *sum, uint##bits##_t infinity, const uint8_t *x, size_t n) \
    { \
        uint##bits##_t v, any = 0; \
        for (size_t i = 0; i < n; i++) { \
            memcpy(&v, x + i * sizeof v, sizeof v); \
            any |= (uint##bits##_t)((v & (sign - 1)) + (sign - infinity)); \
        } \
        for (size_t i = 0; any & sign && i < n; i++) { \
            memcpy(&v, x + i * sizeof v, sizeof v); \
            add(sum, v & (sign - 1), infinity); \
        } \
    }
DEFINE_ADD(16, SIGN16)
DEFINE_ADD(32, SIGN32)
DEFINE_ADD(64, SIGN64)

size_t
nonfinite_size(enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_BF16:
    case DTYPE_F16:     return 2;
    case DTYPE_F32:
    case DTYPE_C64:     return 4;
    case DTYPE_F64:     return 8;
    default:            return 0;
    }
}

void
nonfinite_add(struct nonfinite *sum, enum dtype dtype, const uint8_t *x, size_t n)
{
    size_t size = nonfinite_size(dtype);
    for (size_t run; n != 0; n -= run, x += run * size) {
        run = (size_t)num_min(n, RUN);
        if (size == 2)
            add16(sum, dtype == DTYPE_F16 ? 0x7C00 : 0x7F80, x, run);
        else if (size == 4)
            add32(sum, 0x7F800000, x, run);
        else
            add64(sum, 0x7FF0000000000000, x, run);
    }
}
