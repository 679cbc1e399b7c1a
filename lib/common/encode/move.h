/* move: exact encodings of 4-bit codes from the codes that the source had, without their values. A table has the code of the target
 * for each code of the source; it is made once for a scale, not for each element. Private to this layer. */
#ifndef ENCODE_MOVE_H
#define ENCODE_MOVE_H

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
    bool same = true;
    *pack = hint_pack_at(list, i);
    for (size_t k = 0; k < elems; k += HINT_PACKED) {
        struct hint_pack next = hint_pack_at(list, i + k);
        memcpy(code + k / 2, next.code, sizeof next.code);
        same = same & (next.mark == HINT_MARK) & (next.scale == pack->scale) & (next.zero == pack->zero);
    }
    return same;
}

/* The blocks of a run: their codes and scales without gaps, in run->room. */
struct move_all {
    uint8_t *code;
    float *scale, *zero;
};

/* Takes all blocks of `block` elements from the packs of a run. Returns false if one is not packed, or has several scales. */
bool move_take_all(struct move_all *all, const struct encode_run *run, size_t block);

/* Decodes the blocks as the source does to run->x, and compares them with run->back. */
void move_prove(const struct move_all *all, const struct encoding *e, const struct encode_run *run, uint64_t at, size_t block);

/* Converts a number to F16. Returns false if it is none of F16. */
static inline bool
move_half(uint16_t *half, float v)
{
    uint32_t u = bits_of_float(v), magnitude = u & 0x7FFFFFFF;
    bool normal = magnitude - 0x38800000u < 0x0F000000u;
    *half = normal ? (uint16_t)((u >> 16 & 0x8000) | (magnitude - 0x38000000u) >> 13) : half_of_float(v);
    return normal ? (u & 0x1FFF) == 0 : solve_is_of(DTYPE_F16, (double)v);
}

/* Returns true if the source has E2M1 codes with powers of two, or integers, and no second scale. */
bool move_is_e2m1(const struct encoding *e);
bool move_is_int(const struct encoding *e);

/* Returns true if it has NVFP4. */
bool move_is_nvfp4(const struct encoding *e);

/* Sets *t to the exponent of a scale, within the range of E8M0. */
bool move_power(int *t, float scale);

/* Sets the table of integers for the codes of the source, plus `offset`: for E2M1, twice the values. Returns false if one is not within
 * [low, top]. */
bool move_integers(uint8_t table[16], const struct encoding *e, float zero, int offset, int low, int top);

/* Sets the table of E4M3 codes for E2M1 codes times 2^shift. Returns false if one has none. */
bool move_e4m3(uint8_t table[16], const struct encoding *e, int shift);

/* NVFP4: whether codes times scales are the same numbers for the reader of the target. */
struct move_nvfp4 {
    bool any;                           /* they can be moved */
    bool powers;                        /* the source has powers of two; those of the target are 2^`exponent` as large */
    int exponent;
    uint16_t same[128];                 /* by scale without sign: a bit for each code without sign for which they are */
};
void move_nvfp4_begin(struct move_nvfp4 *m, const struct encoding *e, enum solve_nvfp4_reader reader, float second);

/* Moves a block of 16: sets the code of its scale. */
bool move_nvfp4(const struct move_nvfp4 *m, const struct hint_pack *pack, bool positive, uint8_t *scale);

/* Packs a block of 32 codes as ggml does, the first half in the low nibbles; and compares such a block with the codes. */
static inline uint64_t
move_spread(uint32_t code)
{
    uint64_t v = code;
    v = (v | v << 16) & UINT64_C(0x0000FFFF0000FFFF);
    v = (v | v << 8) & UINT64_C(0x00FF00FF00FF00FF);
    return (v | v << 4) & UINT64_C(0x0F0F0F0F0F0F0F0F);
}

static inline void
move_put_halves(uint8_t y[16], const uint8_t code[16])
{
    for (int half = 0; half < 8; half += 4)
        store_le64(y + 2 * half, move_spread(load_le32(code + half)) | move_spread(load_le32(code + 8 + half)) << 4);
}

static inline bool
move_same_halves(const uint8_t y[16], const uint8_t code[16])
{
    uint64_t differs = 0;
    for (int half = 0; half < 2; half++) {              /* elements 8 half.., and 16 + 8 half.. */
        uint64_t v = load_le64(y + 8 * half), low = v & UINT64_C(0x0F0F0F0F0F0F0F0F), high = v >> 4 & UINT64_C(0x0F0F0F0F0F0F0F0F);
        low = (low | low >> 4) & UINT64_C(0x00FF00FF00FF00FF);
        high = (high | high >> 4) & UINT64_C(0x00FF00FF00FF00FF);
        low = (low | low >> 8) & UINT64_C(0x0000FFFF0000FFFF);
        high = (high | high >> 8) & UINT64_C(0x0000FFFF0000FFFF);
        differs |= (uint32_t)(low | low >> 16) ^ load_le32(code + 4 * half);
        differs |= (uint32_t)(high | high >> 16) ^ load_le32(code + 8 + 4 * half);
    }
    return differs == 0;
}

#endif
