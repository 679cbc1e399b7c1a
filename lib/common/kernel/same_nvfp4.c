#include "kernel/same_floats.h"

#include <math.h>

#include "kernel/same_block.h"

/* Scales of some blocks: their codes, 0 for none, what multiplies the codes of elements, and its inverse. */
enum { FEW = 8 };
struct same_scales {
    int most[FEW], code[FEW];           /* the bits of the largest magnitudes; s->code[i] is set before if scales are powers of two */
    float first[FEW], inverse[FEW];
};

static inline void
same_find_scales(struct same_scales *s, const struct same_nvfp4 *how)
{
    const float inverse = same_nvfp4_inverse(how), magic = 0x1p14f;
    const int powers = how->powers, divides = how->divides, codes_first = how->codes_first;
    for (int i = 0; i < FEW; i++) {
        const float ratio = float_of_bits((uint32_t)s->most[i]) * inverse;
        const int u = (int)bits_of_float(ratio), normal = ((u + (u >> 20 & 1) + 0x7FFFF) >> 20) - (120 << 3);
        const int small = (int)(bits_of_float(ratio + magic) - bits_of_float(magic)), near = u < 0x3C800000 ? small : normal;
        int of;
        if (powers)
            of = s->code[i];
        else if (near > 0x7E)
            of = 0;
        else
            of = near;
        int code = of;
        if (s->most[i] == 0)
            code = 1;
        const float large = float_of_bits(((uint32_t)code << 20) + (120u << 23)), tiny = (float)code * 0x1p-9f;
        const float v = same_select(code >= 8, large, tiny), product = v * how->second, quotient = v / how->second;
        const float unit = same_select(divides, quotient, product);
        s->code[i] = code;
        s->first[i] = same_select(codes_first, v, unit);
        s->inverse[i] = 1 / unit;
    }
}

/* Sets the codes of a block. */
static inline bool
same_put_nvfp4(uint8_t *code, uint8_t *found, const float *x, float first, float last, float inverse, const enum dtype type)
{
    int wrong = 0, set = 0, number[SAME_NVFP4];
    for (size_t i = 0; i < SAME_NVFP4; i++) {
        const float q = x[i] * inverse, t = q * SAME_E2M1_SPLIT, large = t - (t - q), small = q + SAME_E2M1_MAGIC - SAME_E2M1_MAGIC;
        const float r = same_select(same_magnitude(q) < same_magnitude(1), small, large);
        const int bits = (int)(bits_of_float(r) & 0x7FFFFFFF), some = bits != 0, n = (bits >> 22) - 252, m = n > some ? n : some;
        wrong |= !((fabsf(q) < SAME_E2M1_END) & (same_near(type, r * first * last) == x[i]));
        set |= 1 << (m & 7);
        number[i] = m | (int)(bits_of_float(x[i]) >> 28 & 8);
    }
    same_pack(code, number, SAME_NVFP4, false);
    if (found)
        *found = (uint8_t)set;
    return !wrong;
}

static inline size_t
same_all_nvfp4(uint8_t *scale, uint8_t *code, uint8_t *found, const float *x, size_t nblocks, const struct same_nvfp4 *how, const enum dtype type)
{
    const float last = how->codes_first ? how->second : 1.0f, inverse = same_nvfp4_inverse(how);
    struct same_scales s = { .most = { 0 } };
    for (size_t i = 0; i < nblocks; i++) {
        const size_t k = i % FEW;
        for (size_t m = 0; k == 0 && m < FEW && i + m < nblocks; m++)
            s.most[m] = (int)same_look(x + (i + m) * SAME_NVFP4, SAME_NVFP4).most;
        for (size_t m = 0; k == 0 && how->powers && m < FEW; m++)
            s.code[m] = same_nvfp4_scale(how, float_of_bits((uint32_t)s.most[m]), inverse);
        if (k == 0)
            same_find_scales(&s, how);
        scale[i] = (uint8_t)s.code[k];
        if (!same_put_nvfp4(code + 8 * i, found ? found + i : NULL, x + i * SAME_NVFP4, s.first[k], last, s.inverse[k], type) || s.code[k] == 0)
            return i;
    }
    return nblocks;
}

size_t
same_nvfp4(uint8_t *scale, uint8_t *code, uint8_t *found, const float *x, size_t nblocks, const struct same_nvfp4 *how)
{
    if (how->type == DTYPE_BF16)
        return same_all_nvfp4(scale, code, found, x, nblocks, how, DTYPE_BF16);
    return same_all_nvfp4(scale, code, found, x, nblocks, how, DTYPE_F32);
}
