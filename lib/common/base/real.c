#include "base/real.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

enum { FRACTION = 60 };         /* bits of a fixed-point number */

/* Returns the binary logarithm of x in fixed point. Squaring a number between 1 and 2 doubles its logarithm, so each
 * squaring yields one more bit. */
static __int128
log2_fixed(double x)
{
    int exponent;
    uint64_t m = (uint64_t)ldexp(frexp(x, &exponent), 64), bits = 0;    /* m / 2^63 is between 1 and 2 */
    for (int i = 0; i < FRACTION; i++) {
        unsigned __int128 square = (unsigned __int128)m * m;
        unsigned carry = (unsigned)(square >> 127);
        m = (uint64_t)(square >> (63 + carry));
        bits = bits << 1 | carry;
    }
    return (__int128)(exponent - 1) * ((__int128)1 << FRACTION) + bits;
}

/* Returns 2^(f / 2^60) times 2^62, for f below 2^60: the sum of y^k / k!, with y = f ln 2. */
static uint64_t
exp2_fixed(uint64_t f)
{
    enum { TERMS = 24 };        /* ln(2)^24 / 24! is below 2^-91 */
    const uint64_t one = UINT64_C(1) << 62, ln2 = UINT64_C(0xB17217F7D1CF79AB);     /* times 2^64 */
    uint64_t y = (uint64_t)((unsigned __int128)(f << (64 - FRACTION)) * ln2 >> 64), sum = one;
    for (unsigned k = TERMS; k > 0; k--)
        sum = one + (uint64_t)((unsigned __int128)y * sum >> 64) / k;
    return sum;
}

double
real_log2(double x)
{
    return ldexp((double)log2_fixed(x), -FRACTION);
}

/* Returns 2 to the power of l 2^-60 times m 2^(exponent - 24). */
static float
exp2_times(__int128 l, int64_t m, int exponent)
{
    int shift = 127;
    if (24 - exponent < 127)
        shift = 24 - exponent;
    __int128 power = l * m >> shift, whole = power >> FRACTION;
    uint64_t part = (uint64_t)(power - whole * ((__int128)1 << FRACTION));
    return ldexpf((float)exp2_fixed(part), (int)whole - 62);
}

float
real_pow(float base, float x)
{
    int exponent;
    int64_t m = (int64_t)ldexpf(frexpf(x, &exponent), 24);      /* x = m 2^(exponent - 24) */
    if (x == 0 || base == 1)
        return 1;
    if (base == 0 || isinf(base))
        return base;
    return exp2_times(log2_fixed((double)base), m, exponent);
}

double
real_power(double base, double x)
{
    enum { DIGITS = 53, MOST = 1100 };
    int exponent;
    if (!(base > 0) || isinf(base) || isnan(x))
        return NAN;
    const __int128 l = log2_fixed(base);
    int64_t m = (int64_t)ldexp(frexp(x, &exponent), DIGITS);     /* x = m 2^(exponent - 53) */
    if (x == 0 || l == 0)
        return 1;
    if (fabs(x) * fabs((double)l) >= ldexp(MOST, FRACTION))
        return (x > 0) == (l > 0) ? INFINITY : 0;
    int shift = 127;
    if (DIGITS - exponent < 127)
        shift = DIGITS - exponent;
    __int128 power = shift >= 0 ? l * m >> shift : l * m * ((__int128)1 << -shift), whole = power >> FRACTION;
    uint64_t part = (uint64_t)(power - whole * ((__int128)1 << FRACTION));
    return ldexp((double)exp2_fixed(part), (int)whole - 62);
}

float
real_exp(float x)
{
    enum { MOST = 128 };        /* beyond this, the result is infinite or 0 */
    const __int128 log2e = 0x171547652B82FE17;          /* times 2^60 */
    int exponent;
    if (!(fabsf(x) < MOST))
        return isnan(x) ? x : x < 0 ? 0 : INFINITY;
    int64_t m = (int64_t)ldexpf(frexpf(x, &exponent), 24);
    return exp2_times(log2e, m, exponent);
}

float
real_log(float x)
{
    const double ln2 = 0x1.62e42fefa39efp-1;
    if (!(x > 0) || isinf(x))
        return x == 0 ? -INFINITY : x > 0 ? x : NAN;
    return (float)(real_log2((double)x) * ln2);
}

/* The quarter turn is three doubles; the first two have 33 bits, so that up to 2^20 times them is exact. Then Taylor's series, whose
 * next term is below 2^-57 at pi/4. */
void
real_sincos(float x, float *sine, float *cosine)
{
    enum { LAST = 18 };
    const double quarter[] = { 0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2e037073p-69 };
    *sine = *cosine = NAN;
    if (!(fabsf(x) < 0x1p20F))
        return;
    double turns = rint((double)x * 0x1.45f306dc9c883p-1), r = (double)x;
    for (size_t i = 0; i < sizeof quarter / sizeof *quarter; i++)
        r -= turns * quarter[i];
    double s = 1, c = 1;
    for (int n = LAST; n > 0; n -= 2) {
        s = 1 - s * r * r / (n * (n + 1));
        c = 1 - c * r * r / (n * (n - 1));
    }
    s *= r;
    size_t side = (size_t)((int64_t)turns & 3);
    const double circle[] = { s, c, -s, -c, s };
    *sine = (float)circle[side];
    *cosine = (float)circle[side + 1];
}
