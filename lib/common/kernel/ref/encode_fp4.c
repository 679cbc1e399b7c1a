/* encode_fp4: the layouts are drawn in ref/fp4_blocks.c. A block's scale is computed from the largest magnitude, then each
 * element takes the nearest of the values that the 16 codes have with this scale.
 *
 * Source: ggml-quants.c, quantize_row_mxfp4_ref and quantize_row_nvfp4_ref; ggml-impl.h, ggml_fp32_to_ue4m3.
 */
#include "kernel/encode_fp4.h"

#include "dtype/ggml_block.h"
#include "kernel/encode_math.h"
#include "kernel/blocks.h"

/* Returns the code nearest to x. The lowest code wins a tie, so the result is never -0, and it is 0 for a NaN. */
static uint8_t
nearest_code(float x, const float values[16])
{
    int best = 0;

    for (int code = 1; code < 16; code++)
        if (fabsf(values[code] - x) < fabsf(values[best] - x))
            best = code;
    return (uint8_t)best;
}

/* Computes the values of the 16 codes with a scale byte, using the decoder. */
static void
mxfp4_values(float values[16], uint8_t scale)
{
    uint8_t block[MXFP4_BYTES] = { scale };
    float y[MXFP4_ELEMS];

    for (int j = 0; j < 16; j++)
        block[1 + j] = (uint8_t)j;
    mxfp4_dequantize(y, block, 1);
    memcpy(values, y, 16 * sizeof *values);
}

static void
nvfp4_values(float values[16], uint8_t scale)
{
    uint8_t block[NVFP4_BYTES] = { scale };
    float y[NVFP4_ELEMS];

    for (int j = 0; j < 8; j++)
        block[4 + j] = (uint8_t)(j | (j + 8) << 4);
    nvfp4_dequantize(y, block, 1);
    memcpy(values, y, 16 * sizeof *values);
}

/* Encodes 2 * count elements to `count` bytes, with the second half in the high nibbles. */
static void
put_nearest(uint8_t *restrict qs, const float *restrict x, int count, const float values[16])
{
    for (int j = 0; j < count; j++)
        qs[j] = (uint8_t)(nearest_code(x[j], values) | nearest_code(x[j + count], values) << 4);
}

/* Returns floor(log2f(absmax)) - 2, with the bias of 127. log2f rounds up to an integer just below a power of two, over a
 * distance (in units of the mantissa's last place) that grows with the exponent. A table has these distances because the
 * logarithms of C libraries differ. For values below 2^-125 ggml lets the result wrap around in a byte. */
uint8_t
mxfp4_exponent(float absmax)
{
    static const struct { int first, units; } near[] = {        /* for exponents from `first` up */
        { 64, 44 }, { 32, 22 }, { 16, 11 }, { 8, 5 }, { 4, 2 }, { 2, 1 }, { -2, 0 }, { -4, 1 }, { -8, 2 }, { -16, 5 },
        { -32, 11 }, { -64, 22 }, { -128, 44 }, { -149, 88 },
    };
    int exponent, i = 0;

    if (!(absmax > 0.0f) || absmax == INFINITY)
        return 0;
    int mantissa = (int)(frexpf(absmax, &exponent) * 0x1p24f) - (1 << 23);
    exponent--;
    while (exponent < near[i].first)
        i++;
    if ((1 << 23) - mantissa <= near[i].units)
        exponent++;
    return (uint8_t)(exponent - 2 + 127);
}

bool
encode_mxfp4(enum dtype dtype, uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols,
    const float *restrict importance)
{
    (void)dtype, (void)importance;
    for (size_t i = rows * cols / MXFP4_ELEMS; i > 0; i--, y += MXFP4_BYTES, x += MXFP4_ELEMS) {
        float values[16];

        y[0] = mxfp4_exponent(absmax(x, MXFP4_ELEMS));
        mxfp4_values(values, y[0]);
        put_nearest(y + 1, x, 16, values);
    }
    return true;
}

/* Returns the E4M3 code nearest to absmax / 6, with ties rounded up. Values that would round up to the smallest normal value
 * are rounded down instead, and quotients of at least 256 give 448. */
uint8_t
nvfp4_scale_code(float absmax)
{
    float v = absmax / 6.0f;

    if (!(v > 0.0f))
        return 0;
    if (v > 448.0f)
        v = 448.0f;
    uint32_t bits = bits_of_float(v);
    int exponent = (int)(bits >> 23) - 127 + 7;
    if (exponent <= 0) {
        int mantissa = truncated_int(v * 512.0f + 0.5f);

        if (mantissa > 7)
            return 7;
        return (uint8_t)mantissa;
    }
    uint32_t code = ((uint32_t)exponent << 3 | (bits >> 20 & 7)) + (bits >> 19 & 1);    /* carries into the exponent */
    if (code < 0x78)
        return (uint8_t)code;
    return 0x7E;
}

bool
encode_nvfp4(enum dtype dtype, uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols,
    const float *restrict importance)
{
    (void)dtype, (void)importance;
    for (size_t i = rows * cols / NVFP4_ELEMS; i > 0; i--, y += NVFP4_BYTES, x += NVFP4_ELEMS)
        for (int s = 0; s < 4; s++) {
            float values[16];

            y[s] = nvfp4_scale_code(absmax(x + 16 * s, 16));
            nvfp4_values(values, y[s]);
            put_nearest(y + 4 + 8 * s, x + 16 * s, 8, values);
        }
    return true;
}
