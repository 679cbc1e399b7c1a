/* encode_bnb: the stored layout is drawn in scheme/bnb4.c and scheme/bnb8.c. y may slightly exceed 1, which changes no code
 * because all limits are below 1. */
#include "kernel/encode_bnb.h"

#include <math.h>

#include "dtype/half.h"
#include "kernel/encode_fp8.h"

const uint32_t encode_nf4_midpoints[15] = {
    0xbf591cd8, 0xbf1c5270, 0xbeeb8480, 0xbeadea76, 0xbe703cec, 0xbe0d38bc, 0xbd3a7871, 0x3d22faff,
    0x3df64862, 0x3e5067e0, 0x3e9582d4, 0x3ec753f9, 0x3f006d04, 0x3f248daf, 0x3f5c89da,
};
/* Codes of values from -1 to 1, including two zeros. */
const uint8_t encode_fp4_order[16] = { 11, 10, 13, 12, 15, 14, 9, 0, 8, 1, 6, 7, 4, 5, 2, 3 };
const uint32_t encode_fp4_midpoints[15] = {
    0xbf555556, 0xbf155556, 0xbed55556, 0xbe955556, 0xbe555556, 0xbdb00000, 0xbb2aaaab, 0x00000000,
    0x3b2aaaab, 0x3db00000, 0x3e555556, 0x3e955556, 0x3ed55556, 0x3f155556, 0x3f555556,
};
const uint8_t encode_fp4_magnitudes[8] = { 0, 1, 6, 7, 4, 5, 2, 3 };
const uint32_t encode_fp4_limits[7] = {
    0x3b2aaab9, 0x3db00000, 0x3e555555, 0x3e955555, 0x3ed55556, 0x3f155550, 0x3f555555,
};

static unsigned
count_below(float y, const uint32_t *limits, unsigned n)
{
    unsigned count = 0;

    for (unsigned i = 0; i < n; i++)
        count += !(y <= float_of_bits(limits[i]));
    return count;
}

static uint8_t
code_nf4(float x, float y)
{
    (void)x;
    return (uint8_t)count_below(y, encode_nf4_midpoints, 15);
}

static uint8_t
code_fp4(float x, float y)
{
    return encode_fp4_magnitudes[count_below(fabsf(y), encode_fp4_limits, 7)] | (bits_of_float(x) >> 28 & 8);
}

static uint8_t
code_fp4_cpu(float x, float y)
{
    (void)x;
    return encode_fp4_order[count_below(y, encode_fp4_midpoints, 15)];
}

static void
encode_bnb_encode(uint8_t *restrict y, float *restrict absmax, const float *restrict x, size_t n, size_t block,
    uint8_t code_of(float x, float y))
{
    for (size_t i = 0; i < n; i++) {
        if (i % block == 0) {
            encode_absmax(absmax + i / block, x + i, n - i < block ? n - i : block, block);
            if (n - i < block && absmax[i / block] < ENCODE_BNB_LEAST)
                absmax[i / block] = ENCODE_BNB_LEAST;
        }
        float a = absmax[i / block], least = a < ENCODE_BNB_LEAST ? ENCODE_BNB_LEAST : a;
        uint8_t code = code_of(x[i], i / block < n / block ? x[i] * (1.0f / least) : x[i] / a);

        if (i % 2 == 0)
            y[i / 2] = (uint8_t)(code << 4);
        else
            y[i / 2] = y[i / 2] | code;
    }
    if (n % 2 != 0)
        y[n / 2] |= code_of(0, 0);
}

void
encode_nf4(uint8_t *restrict y, float *restrict absmax, const float *restrict x, size_t n, size_t block)
{
    encode_bnb_encode(y, absmax, x, n, block, code_nf4);
}

void
encode_fp4(uint8_t *restrict y, float *restrict absmax, const float *restrict x, size_t n, size_t block)
{
    encode_bnb_encode(y, absmax, x, n, block, code_fp4);
}

void
encode_fp4_cpu(uint8_t *restrict y, float *restrict absmax, const float *restrict x, size_t n, size_t block)
{
    encode_bnb_encode(y, absmax, x, n, block, code_fp4_cpu);
}

float
encode_int8_row(int8_t *restrict y, const float *restrict x, size_t n)
{
    float absmax = 0.0f;

    for (size_t i = 0; i < n; i++) {
        float v = half_to_float(half_of_float(fabsf(x[i])));

        if (bits_of_float(v) > bits_of_float(absmax))
            absmax = v;
    }
    float r = 1.0f / absmax * 127.0f;
    for (size_t i = 0; i < n; i++) {
        float v = half_to_float(half_of_float(x[i])) * r;

        if (v == v)
            y[i] = (int8_t)rintf(v);
        else
            y[i] = 0;
    }
    return absmax;
}
