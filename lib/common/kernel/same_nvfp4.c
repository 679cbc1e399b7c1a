#include "kernel/same_nvfp4.h"

#include <math.h>

#include "kernel/rounded.h"

/* Sets the codes of a block. */
static bool
put_block(uint8_t *restrict code, const float *restrict x, float first, float last, enum dtype type)
{
    const float inverse = 1 / (first * last);
    bool same = true;
    for (size_t i = 0; i < SAME_NVFP4; i++) {
        float q = x[i] * inverse, t = q * SAME_E2M1_SPLIT;
        float r = fabsf(q) < 1 ? q + SAME_E2M1_MAGIC - SAME_E2M1_MAGIC : t - (t - q), a = fabsf(r);
        int number = a >= 1 ? (int)(bits_of_float(a) >> 22) - 252 : a > 0;
        same = same && fabsf(q) < SAME_E2M1_END && rounded(type, r * first * last) == x[i];
        number |= signbit(x[i]) ? 8 : 0;
        code[i / 2] = (uint8_t)(i % 2 == 0 ? number : code[i / 2] | number << 4);
    }
    return same;
}

size_t
same_nvfp4(uint8_t *scale, uint8_t *code, uint8_t *found, const float *x, size_t nblocks, const struct same_nvfp4 *how)
{
    const float inverse = same_nvfp4_inverse(how);
    for (size_t i = 0; i < nblocks; i++, x += SAME_NVFP4) {
        float most = 0, last;
        for (size_t k = 0; k < SAME_NVFP4; k++)
            most = bits_of_float(fabsf(x[k])) > bits_of_float(most) ? fabsf(x[k]) : most;
        scale[i] = most == 0 ? 1 : same_nvfp4_scale(how, most, inverse);
        float first = same_nvfp4_factor(&last, how, scale[i]);
        if (scale[i] == 0 || !put_block(code + 8 * i, x, first, last, how->type))
            return i;
        for (size_t k = 0, set = 0; found && k < SAME_NVFP4; k++)
            found[i] = (uint8_t)(set |= (size_t)1 << (code[8 * i + k / 2] >> k % 2 * 4 & 7));
    }
    return nblocks;
}
