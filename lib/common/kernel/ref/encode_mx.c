/* encode_mx: the definition. The encoders (encode/mx.c and others) compute the inputs of scales.
 *
 * Sources: OCP Microscaling Formats; compressed-tensors quantization/utils/mxfp_utils.py and fp4_utils.py; ModelOpt
 * torch/quantization/qtensor/mxfp4_tensor.py and nvfp4_tensor.py; comfy-kitchen backends/eager/quantization.py.
 */
#include "kernel/encode_mx.h"

#include <math.h>

#include "dtype/float8.h"
#include "kernel/encode_math.h"
#include "kernel/rounded.h"

/* Rounds to a power of two, where mantissas from 1.75 up count as the next one. F16 rounds its subnormals to 2^-14 or 0; a
 * scale of 0 in F16 becomes 1. */
uint8_t
encode_mx_nearest(float absmax, int below, enum dtype dtype)
{
    if (dtype == DTYPE_F16 && absmax < 0x1p-14f) {
        if (absmax < 0x1.8p-15f)
            return 127;
        absmax = 0x1p-14f;
    }
    int code = (int)((bits_of_float(absmax) + 0x00200000) >> 23) - below;
    if (code < 0)
        return 0;
    return (uint8_t)code;
}

/* Returns how many units in the last place above 2^k still have the F32 logarithm k: log2(1 + u) is 1.44 u, and the last
 * place of k is half as large below a power of two. */
static uint32_t
lost_units(int k)
{
    static const uint8_t units[] = { 0, 0, 0, 1, 2, 5, 11, 22 };        /* for |k| below 1, 2, 4, 8 ... */
    int j = 0, m = k < 0 ? -k : k;

    while (m >> j != 0)
        j++;
    return units[k < 0 && (m & (m - 1)) == 0 ? j - 1 : j];
}

uint8_t
encode_mx_ceil(float f)
{
    int k;

    if (!(f > 0x1p-127f))
        return 0;
    if (!(f <= 0x1p127f))
        return 254;
    uint32_t units = bits_of_float(frexpf(f, &k)) & 0x7FFFFF;
    k--;
    return (uint8_t)(k + 127 + (units > lost_units(k)));
}

/* --- E2M1: 0 .5 1 1.5 2 3 4 6 */

static inline unsigned
magnitude_of(float a)
{
    return (a > 0.25f) + (a >= 0.75f) + (a > 1.25f) + (a >= 1.75f) + (a > 2.5f) + (a >= 3.5f) + (unsigned)(a > 5.0f);
}

static inline unsigned
magnitude_down(float a)
{
    return (a > 0.25f) + (a > 0.75f) + (a > 1.25f) + (a > 1.75f) + (a > 2.5f) + (a > 3.5f) + (unsigned)(a > 5.0f);
}

static inline unsigned
encode_mx_code_of(float x, const struct encode_e2m1 *how)
{
    float v = rounded(how->quotient, x / how->scale), a = fabsf(v);
    switch (how->rule) {
    case E2M1_DOWN:     return magnitude_down(a) | !(v > 0) << 3;
    case E2M1_SIGNED:   return magnitude_of(a) | (signbit(v) != 0) << 3;
    default:            return magnitude_of(a) | (v < 0) << 3;
    }
}

void
encode_e2m1(uint8_t *restrict y, float *restrict back, const float *restrict x, size_t n, const struct encode_e2m1 *how)
{
    static const float values[16] = { 0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6 };

    for (size_t i = 0; i < n; i += 2) {
        unsigned q[2] = { encode_mx_code_of(x[i], how), encode_mx_code_of(x[i + 1], how) };

        if (how->high_first)
            y[i / 2] = (uint8_t)(q[0] << 4 | q[1]);
        else
            y[i / 2] = (uint8_t)(q[0] | q[1] << 4);
        for (unsigned j = 0; back && j < 2; j++)
            back[i + j] = (how->plus_zero && q[j] == 8 ? 0.0f : values[q[j]]) * how->scale;
    }
}

float
encode_most(const float *x, size_t n)
{
    return absmax(x, n);
}
