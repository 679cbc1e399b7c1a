/* move: exact encodings of 4-bit codes from the codes that the source had, without their values. A table has the code of the target
 * for each code of the source; it is made once for a scale, not for each element. Private to this layer. */
#ifndef ENCODE_MOVE_H
#define ENCODE_MOVE_H

#include <math.h>

#include "base/bytes.h"
#include "dtype/half.h"
#include "encode/encode.h"
#include "encode/solve_mx.h"
#include "kernel/hints.h"

/* Reads the packs of a block of `elems` elements, a multiple of 16, that begins with element i of the list: sets their scale and zero
 * point, and the codes, elems / 2 bytes. Returns false if these are not packed, or have different scales. */
static inline bool
move_take(struct hint_pack *pack, uint8_t *code, const float *list, size_t i, size_t elems)
{
    uint64_t scales = load_le64((const uint8_t *)(list + i + 2)), differs = 0;
    *pack = hint_pack_at(list, i);
    for (size_t k = 0; k < elems; k += HINT_PACKED) {
        const uint8_t *p = (const uint8_t *)(list + i + k);
        memcpy(code + k / 2, p, HINT_PACKED / 2);
        differs |= (load_le64(p + 8) ^ scales) | (load_le32(p + 16) ^ HINT_MARK);
    }
    return differs == 0;
}

/* The blocks of a run: their codes and scales without gaps, in run->room. */
struct move_all {
    uint8_t *code;
    float *scale, *zero;                /* of each block */
    uint16_t *found;                    /* room for a number of each block */
};

/* Takes all blocks of `block` elements, a multiple of 32, from the packs of a run, without their codes if only the scales are needed. Returns false if one
 * is not packed, or has several scales. */
bool move_take_all(struct move_all *all, const struct encoding *e, const struct encode_run *run, size_t block, bool codes);

/* Decodes the blocks as the source does to run->x, and compares them with run->back. */
void move_prove(const struct move_all *all, const struct encoding *e, const struct encode_run *run, uint64_t at, size_t block);

/* Converts a number to F16. Returns false if F16 cannot hold it. */
static inline bool
move_half(uint16_t *half, float v)
{
    uint32_t u = bits_of_float(v), magnitude = u & 0x7FFFFFFF;
    bool normal = magnitude - 0x38800000u < 0x0F000000u;
    if (normal) {
        *half = (uint16_t)((u >> 16 & 0x8000) | (magnitude - 0x38000000u) >> 13);
        return (u & 0x1FFF) == 0;
    }
    *half = half_of_float(v);
    return solve_is_of(DTYPE_F16, (double)v);
}

/* Returns true if the source has E2M1 codes with powers of two, or integers, and no second scale. */
bool move_is_e2m1(const struct encoding *e);
bool move_is_int(const struct encoding *e);

/* Returns true if it has E2M1 codes with scales of any type, and no second scale. */
bool move_is_e2m1_any(const struct encoding *e);

/* Returns true if it has NVFP4. */
bool move_is_nvfp4(const struct encoding *e);

/* Sets *t to the exponent of a scale of E8M0 with which all codes are finite. */
static inline bool
move_power(int *t, float scale)
{
    uint32_t u = bits_of_float(scale), exponent = u >> 23;
    if ((u & 0x7FFFFF) == 0 && exponent - 1 < SOLVE_MX_FINITE + 127) {         /* normal */
        *t = (int)exponent - 127;
        return true;
    }
    return solve_is_power(scale, t) && *t >= -127 && *t <= SOLVE_MX_FINITE;
}

/* Returns true if a type holds a number that is not 0, and codes times it are finite. The codes of a scale of 0 have no meaning:
 * solvers replace them. */
static inline bool
move_is_scale(enum dtype type, float scale)
{
    return scale != 0 && fabsf(scale) <= 0x1p120f && solve_is_of(type, (double)scale);
}

/* The exponents of the smallest and the largest scale of some elements. `any`: the source has E2M1 codes, and scales that
 * move_power() takes. */
struct move_range {
    int least, most;
    bool any;
};

/* Reads the scales of elements [first, end). */
bool move_scale_range(struct move_range *range, const struct encoding *e, const struct encode_run *run, uint64_t first, uint64_t end,
    struct err *err);

/* How codes become steps: values are (least + q * step) * scale. */
struct move_steps {
    float least, step;
    uint8_t base, unit, factor;         /* q = (number - base) / unit * factor modulo 256; a factor of unit 1 is a power of two */
};

/* Returns the table of the numbers of codes: integers as they are, twice the values of E2M1, plus 12. */
const uint8_t *move_numbers(const struct encoding *e);

/* Sets the steps of integers: codes of the source less their zero point, or twice the values of E2M1. `middle` is the code of 0. Returns
 * false if one can be outside [low, top]. */
bool move_integers(struct move_steps *s, const struct encoding *e, float zero, int middle, int low, int top);

/* Sets the steps that solve_steps() finds for a block of E2M1 codes. Returns false if it finds none, or not the first
 * ones that it looks for in a type that holds all numbers. `found` has a bit for each code of the block. */
bool move_find_steps(struct move_steps *s, unsigned found, unsigned bits);

/* Replaces the numbers of 32 elements by q. */
static inline void
move_put_steps(uint8_t *restrict q, const struct move_steps *s)
{
    const uint8_t base = s->base, unit = s->unit, factor = s->factor;
    for (int i = 0; i < 32; i++)
        q[i] = (uint8_t)(q[i] - base);
    for (unsigned f = factor; unit == 1 && f > 1; f /= 2)
        for (int i = 0; i < 32; i++)
            q[i] = (uint8_t)(q[i] + q[i]);
    for (int i = 0; unit != 1 && i < 32; i++)
        q[i] = (uint8_t)(q[i] / unit * factor);
}

/* And back. Returns false if one is not a multiple of the factor. */
static inline bool
move_take_steps(uint8_t *restrict q, const struct move_steps *s)
{
    const uint8_t base = s->base, unit = s->unit, factor = s->factor;
    uint8_t rest = 0;
    for (unsigned f = factor; unit == 1 && f > 1; f /= 2)
        for (int i = 0; i < 32; i++) {
            rest |= q[i] & 1;
            q[i] >>= 1;
        }
    for (int i = 0; unit != 1 && i < 32; i++) {
        rest |= q[i] % factor;
        q[i] = (uint8_t)(q[i] / factor * unit);
    }
    for (int i = 0; i < 32; i++)
        q[i] = (uint8_t)(q[i] + base);
    return rest == 0;
}

/* Sets the table of E4M3 codes for E2M1 codes times 2^shift. Returns false if one has none. */
bool move_e4m3(uint8_t table[16], const struct encoding *e, int shift);

/* NVFP4: whether codes times scales are the same numbers for the reader of the target. */
struct move_nvfp4 {
    bool any;                           /* they can be moved */
    bool powers;                        /* the source has powers of two; the target's are 2^`exponent` as large */
    int exponent;
    uint16_t same[128];                 /* by scale without sign: a bit for each code without sign for which they are */
};

/* facts[0] is the second scale of the target. If the encoding has MOVE_NVFP4_FACTS of them, the rest caches the table `same`. */
enum { MOVE_NVFP4_FACTS = 1 + sizeof(uint16_t[128]) / sizeof(float) };
void move_nvfp4_begin(struct move_nvfp4 *m, const struct encoding *e, enum solve_nvfp4_reader reader, const float *facts);

/* Sets the facts that cache the table. */
void move_nvfp4_keep(const struct encoding *e, enum solve_nvfp4_reader reader, float *facts);

/* Sets the code of the scale of a block of 16. `positive`: it must not have a sign. */
bool move_nvfp4_scale(const struct move_nvfp4 *m, float of, bool positive, uint8_t *scale);

/* Moves a block, if that leaves the values of its codes the same; sets the code of its scale, as above. */
bool move_nvfp4(const struct move_nvfp4 *m, const struct hint_pack *pack, bool positive, uint8_t *scale);

/* Packs the low nibbles of a block of 32 codes, one a byte, as ggml does: the first half in the low nibbles. */
static inline void
move_put_halves(uint8_t *restrict y, const uint8_t *restrict q)
{
    for (int i = 0; i < 16; i++)
        y[i] = (uint8_t)((q[i] & 15) | q[i + 16] << 4);
}

/* Returns true if a block has these codes. */
static inline bool
move_same_halves(const uint8_t *restrict y, const uint8_t *restrict q)
{
    uint8_t differs = 0;
    for (int i = 0; i < 16; i++)
        differs |= (uint8_t)(((y[i] & 15) ^ q[i]) | ((y[i] >> 4) ^ q[i + 16]));
    return differs == 0;
}

/* The table that unpacks codes. */
extern const uint8_t move_same_codes[16];

#endif
