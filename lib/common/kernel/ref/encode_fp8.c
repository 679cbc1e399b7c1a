/* encode_fp8: the codes are drawn in dtype/float8.c. */
#include "kernel/encode_fp8.h"

#include <string.h>

#include "dtype/bfloat16.h"
#include "dtype/half.h"
#include "kernel/rounded.h"

/* Returns x divided by, or multiplied with, the scale in the quantizer's arithmetic. */
static float
scaled(float x, const struct encode_fp8 *how)
{
    float v = how->multiplies ? x * how->scale : x / how->scale;

    v = rounded(how->quotient, v);
    if (how->adds_zero)
        return v + 0.0f;
    return v;
}

/* NaN stays NaN. Its sign comes from an operand or, if no operand is NaN, depends on the CPU, so it is dropped. */
static float
clamp(float v, float max)
{
    if (v != v)
        return float_of_bits(0x7FC00000u);
    if (v > max)
        return max;
    if (v < -max)
        return -max;
    return v;
}

void
encode_e4m3(uint8_t *restrict y, const float *restrict x, size_t n, const struct encode_fp8 *how)
{
    for (size_t i = 0; i < n; i++)
        y[i] = e4m3_of_float(clamp(scaled(x[i], how), 448.0f));
}

void
encode_e5m2(uint8_t *restrict y, const float *restrict x, size_t n, const struct encode_fp8 *how)
{
    for (size_t i = 0; i < n; i++)
        y[i] = e5m2_of_float(clamp(scaled(x[i], how), 57344.0f));
}

/* Without the sign, the bits of floats have the order of their magnitudes, with NaN above all. */
void
encode_absmax(float *restrict y, const float *restrict x, size_t n, size_t group)
{
    for (size_t at = 0; at < n; at += group) {
        uint32_t most = 0;

        for (size_t i = at; i < n && i - at < group; i++) {
            uint32_t magnitude = bits_of_float(x[i]) & 0x7FFFFFFFu;

            if (magnitude > most)
                most = magnitude;
        }
        *y++ = float_of_bits(most);
    }
}

/* So have the bits of codes. */
static uint16_t
largest_code(const uint8_t *x, size_t n)
{
    uint16_t most = 0, code;

    for (size_t i = 0; i < n; i++) {
        memcpy(&code, x + i * sizeof code, sizeof code);
        if ((code & 0x7FFF) > most)
            most = code & 0x7FFF;
    }
    return most;
}

void
encode_absmax_bf16(float *restrict y, const uint8_t *restrict x, size_t n, size_t group)
{
    for (size_t at = 0; at < n; at += group)
        *y++ = bfloat16_to_float(largest_code(x + at * 2, n - at < group ? n - at : group));
}

void
encode_absmax_f16(float *restrict y, const uint8_t *restrict x, size_t n, size_t group)
{
    for (size_t at = 0; at < n; at += group)
        *y++ = half_to_float(largest_code(x + at * 2, n - at < group ? n - at : group));
}
