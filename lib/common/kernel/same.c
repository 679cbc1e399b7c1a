#include "kernel/same.h"

#include <math.h>

#include "base/bytes.h"
#include "kernel/rounded.h"
#include "kernel/same_block.h"

/* Returns true if x and y are the same finite number, v and w, after rounding, or the same before. */
static inline bool
same_number(float x, float y, float v, float w)
{
    return ((v == w) & (fabsf(v) < INFINITY) & (x == x) & (y == y)) | (x == y);
}

static inline bool
same_as(enum dtype type, const float *x, const float *y, size_t n)
{
    int differs = 0;
    for (size_t i = 0; i < n; i++)
        differs |= !same_number(x[i], y[i], same_near(type, x[i]), same_near(type, y[i]));
    return !differs;
}

bool
same_rounded(enum dtype type, const float *x, const float *y, size_t n)
{
    if (type == DTYPE_BF16)
        return same_as(DTYPE_BF16, x, y, n);
    if (type == DTYPE_F16)
        return same_as(DTYPE_F16, x, y, n);
    return same_as(DTYPE_F32, x, y, n);
}

/* How a quotient q, |q| < end, is rounded: to the bits of a code, t - (t - q) with t = q * split; below `least` to a multiple of the
 * smallest code, q + magic - magic. */
struct same_fp8_form {
    float split, least, magic, end;
};
static const struct same_fp8_form same_e4m3_form = { 0x1.00001p20f, 0x1p-6f, 0x1.8p14f, 464 },
    same_e5m2_form = { 0x1.000008p21f, 0x1p-14f, 0x1.8p7f, 61440 };

static inline int
same_is_fp8(float x, float scale, float inverse, const struct same_fp8_form *f, enum dtype type)
{
    const float q = x * inverse, t = q * f->split, large = t - (t - q), small = q + f->magic - f->magic;
    const float code = same_select(same_magnitude(q) < same_magnitude(f->least), small, large);
    return (fabsf(q) < f->end) & (same_near(type, code * scale) == x);
}

/* Looks for the first wrong one only where some are. */
static inline size_t
same_count_fp8(enum dtype type, const float *x, size_t n, float scale, const struct same_fp8_form f)
{
    enum { STEP = 32 };
    const float inverse = 1 / scale;
    size_t i = 0;
    for (int all = 1; n - i >= STEP; i += STEP) {
        for (size_t k = 0; k < STEP; k++)
            all &= same_is_fp8(x[i + k], scale, inverse, &f, type);
        if (!all)
            break;
    }
    while (i < n && same_is_fp8(x[i], scale, inverse, &f, type))
        i++;
    return i;
}

size_t
same_fp8(enum dtype codes, enum dtype type, const float *x, size_t n, float scale)
{
    struct same_fp8_form f = same_e5m2_form;
    if (codes == DTYPE_F8_E4M3)
        f = same_e4m3_form;
    if (type == DTYPE_BF16)
        return same_count_fp8(DTYPE_BF16, x, n, scale, f);
    return same_count_fp8(DTYPE_F32, x, n, scale, f);
}

enum { AT_ONCE = 32 };

static inline bool
same_put_products(uint8_t *q, const float *x, size_t n, const struct same_codes c, const enum dtype type)
{
    const float magic = 0x1.8p23f;              /* rounds to the nearest integer, ties to even */
    for (; n != 0; n -= AT_ONCE, x += AT_ONCE, q += AT_ONCE) {
        int wrong = 0, field[AT_ONCE];
        for (int i = 0; i < AT_ONCE; i++) {
            float r = (x[i] - c.m) / c.d + magic - magic, f = r + c.zero;
            int out = (f >= c.low) & (f <= c.top) & (same_near(type, r * c.d + c.m) == x[i]);
            wrong |= !out;
            field[i] = (int)(out ? f : 0.0f);
        }
        if (wrong)
            return false;
        for (int i = 0; i < AT_ONCE; i++)
            q[i] = (uint8_t)field[i];
    }
    return true;
}

bool
same_products(uint8_t *q, const float *x, size_t n, const struct same_codes *c)
{
    if (c->rounds)
        return same_put_products(q, x, n, *c, DTYPE_BF16);
    return same_put_products(q, x, n, *c, DTYPE_F32);
}

struct same_extent
same_extent(const float *x, size_t n)
{
    int32_t high = INT32_MIN, low = INT32_MAX, least = INT32_MAX, unit = INT32_MAX, most = 0;
    uint32_t wide = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t u = bits_of_float(x[i]);
        int32_t order = same_order(u), magnitude = (int32_t)(u & 0x7FFFFFFF), exponent = magnitude >> 23;
        int32_t normal = exponent != 0, m = (int32_t)(u & 0x7FFFFF) | normal << 23;
        float last = (float)(m & -m) * 0x1p-23f * float_of_bits((uint32_t)(exponent + !normal) << 23);
        int32_t nothing = -(magnitude == 0) & INT32_MAX, bit = (int32_t)bits_of_float(last) | nothing, some = magnitude | nothing;
        wide |= u & 0xFFFF;
        if (order > high)
            high = order;
        if (order < low)
            low = order;
        if (magnitude > most)
            most = magnitude;
        if (some < least)
            least = some;
        if (bit < unit)
            unit = bit;
    }
    return (struct same_extent){ same_of_order(high), same_of_order(low), most == 0 ? INFINITY : float_of_bits((uint32_t)least),
        most == 0 ? INFINITY : float_of_bits((uint32_t)unit), most < 0x7F800000, wide == 0 };
}
