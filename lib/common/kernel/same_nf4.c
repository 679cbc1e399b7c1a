#include "kernel/same_floats.h"

#include <math.h>

#include "kernel/bnb_maps.h"
#include "kernel/same_block.h"

/* The codes and values of steps -16 to 15: values times SAME_NF4_STEPS / absmax round to different integers for all codes, since rounding
 * to BF16 moves them by 0.4 %, while 2 % would leave them there. */
enum { STEPS = 32 };
static const uint8_t same_nf4_codes[STEPS] = { 7, 7, 7, 0, 7, 7, 7, 1, 7, 2, 7, 3, 4, 7, 5, 6, 7, 8, 9, 10, 11, 7, 12, 13, 7, 14, 7, 7, 7, 15, 7, 7 };
#define SAME_NF4_STEPS 12.8f

/* Sets the codes of a block. */
static inline bool
same_put_nf4(float *absmax, uint8_t *code, const float *x, size_t n, const enum dtype type, const int *codes, const float *values)
{
    const float most = float_of_bits(same_look(x, n).most), inverse = most == 0 ? 0 : SAME_NF4_STEPS / most, magic = 0x1.8p23f;
    int wrong = 0;
    *absmax = most;
    if (most != 0 && !(most >= 0x1p-100f && most <= 0x1p100f))      /* nor NaN */
        return false;
    for (size_t i = 0; i < n; i += 32) {
        int step[32];
        for (size_t k = 0; k < 32; k++) {
            step[k] = (int)(bits_of_float(x[i + k] * inverse + magic) + STEPS / 2 - bits_of_float(magic));
            wrong |= same_near(type, values[step[k]] * most) != x[i + k];
        }
        for (size_t k = 0; code && k < 16; k++)
            code[i / 2 + k] = (uint8_t)(codes[step[2 * k]] << 4 | codes[step[2 * k + 1]]);
    }
    return !wrong;
}

static inline size_t
same_all_nf4(float *absmax, uint8_t *code, const float *x, size_t nblocks, size_t block, const enum dtype type)
{
    int codes[STEPS];
    float values[STEPS];
    size_t b = 0;
    for (size_t i = 0; i < STEPS; i++) {
        codes[i] = same_nf4_codes[i];
        values[i] = float_of_bits(bnb_nf4_map[codes[i]]);
    }
    while (b < nblocks && same_put_nf4(absmax + b, code ? code + b * (block / 2) : NULL, x + b * block, block, type, codes, values))
        b++;
    return b;
}

size_t
same_nf4(float *absmax, uint8_t *code, const float *x, size_t nblocks, size_t block, enum dtype type)
{
    if (type == DTYPE_BF16)
        return same_all_nf4(absmax, code, x, nblocks, block, DTYPE_BF16);
    return same_all_nf4(absmax, code, x, nblocks, block, DTYPE_F32);
}
