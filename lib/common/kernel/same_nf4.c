#include "kernel/same_nf4.h"

#include <math.h>

#include "base/bytes.h"
#include "kernel/bnb_maps.h"
#include "kernel/rounded.h"

const uint8_t same_nf4_up[16] = { 7, 8, 9, 10, 11, 0, 12, 13, 0, 14, 0, 0, 0, 15, 0, 0 };
const uint8_t same_nf4_down[16] = { 0, 6, 5, 0, 4, 3, 0, 2, 0, 1, 0, 0, 0, 0, 0, 0 };

/* Sets the codes of a block. */
static bool
put_block(uint8_t *code, const float *x, size_t n, float absmax, enum dtype type)
{
    const float inverse = SAME_NF4_STEPS / absmax, magic = 0x1.8p23f;
    bool same = true;
    for (size_t i = 0; i < n; i++) {
        int step = absmax == 0 ? 0 : (int)(x[i] * inverse + magic - magic);
        uint8_t number = step < 0 ? same_nf4_down[-step] : same_nf4_up[step];
        same = same && rounded(type, float_of_bits(bnb_nf4_map[number]) * absmax) == x[i];
        if (code)
            code[i / 2] = (uint8_t)(i % 2 == 0 ? number << 4 : code[i / 2] | number);
    }
    return same;
}

size_t
same_nf4(float *absmax, uint8_t *code, const float *x, size_t nblocks, size_t block, enum dtype type)
{
    for (size_t b = 0; b < nblocks; b++, x += block) {
        uint32_t most = 0;
        for (size_t i = 0; i < block; i++) {
            uint32_t u = bits_of_float(x[i]) & 0x7FFFFFFF;
            most = u > most ? u : most;
        }
        absmax[b] = float_of_bits(most);
        bool within = most == 0 || (absmax[b] >= 0x1p-100f && absmax[b] <= 0x1p100f);      /* nor NaN */
        if (!within || !put_block(code ? code + b * (block / 2) : NULL, x, block, absmax[b], type))
            return b;
    }
    return nblocks;
}
