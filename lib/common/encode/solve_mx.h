/* solve_mx: exact encodings in E2M1 and E4M3 codes with a scale for each block, for encoders of any layout. */
#ifndef ENCODE_SOLVE_MX_H
#define ENCODE_SOLVE_MX_H

#include "encode/solve.h"

/* Finds the exponent t of a block of E2M1 or E4M3 codes times 2^t, within [least, most]. */
bool solve_mx_power(int *t, const struct solve_block *b, const struct solve_float *f, int least, int most);

/* Sets the codes of a block, one a byte: the E2M1 code for which code * scale is the value; code 8 where the source had it. */
void solve_mx_e2m1(uint8_t *q, const struct solve_block *b, double scale);

/* Moves a block of 32 codes that had one power of two as its scale, which is the most frequent case: sets the codes, the even ones in the low
 * nibbles, and the exponent. Returns false if the block needs more. */
bool solve_mx_move(uint8_t y[16], int *t, const struct solve_block *b);

/* Solve blocks of a dense weight: of 32 E2M1 or E4M3 codes with a scale of E8M0, or 16 of NVFP4. Return how many they solved,
 * from the first one on: the frequent cases; a block beyond may need a solver of single blocks. Set scales and codes as these
 * solvers do, the codes unless `code` is NULL. The low nibbles have the even codes, or with `halves` the first half of a block.
 * */
size_t solve_mx_dense(const struct encoding *e, const struct encode_run *run, const float *x, size_t nblocks, uint8_t *scale, uint8_t *code,
    bool halves);
size_t solve_mx_dense_e4m3(const struct encoding *e, const struct encode_run *run, const float *x, size_t nblocks, uint8_t *scale,
    uint8_t *code);

/* The largest exponent with which all E2M1 codes are finite F32 values. */
enum { SOLVE_MX_FINITE = 125 };

/* Packs n codes, the even ones in the low nibbles. */
void solve_mx_pack(uint8_t *y, const uint8_t *q, size_t n);

/* Puts eight nibbles into the low halves of eight bytes. */
static inline uint64_t
solve_mx_spread(uint64_t v)
{
    v = (v | v << 16) & UINT64_C(0x0000FFFF0000FFFF);
    v = (v | v << 8) & UINT64_C(0x00FF00FF00FF00FF);
    return (v | v << 4) & UINT64_C(0x0F0F0F0F0F0F0F0F);
}

/* Returns 16 codes with the first half in the low nibbles, from 16 codes with the even ones there. */
static inline uint64_t
solve_mx_halves(uint64_t even)
{
    return solve_mx_spread(even & UINT32_MAX) | solve_mx_spread(even >> 32) << 4;
}

/* --- NVFP4: blocks of 16 codes c, with a scale s of E4M3, and a scale for all blocks */

enum solve_nvfp4_reader {
    SOLVE_NVFP4_MULTIPLIES,             /* V = RN32(c * RN32(s * second)) */
    SOLVE_NVFP4_DIVIDES,                /* V = RN32(c * RN32(s / second)) */
    SOLVE_NVFP4_OVER,                     /* V = RN32(c * RN32(s * RN32(second / 2688))) */
    SOLVE_NVFP4_BLOCKS                    /* V = RN32(RN32(c * s) * second) */
};

enum { SOLVE_NVFP4_UNIT = 2688 };       /* the second scale that SOLVE_NVFP4_OVER takes for 1 */

/* Adds P.input_scale, or P.input_global_scale for a reader that divides, if the source has a scale of activations: one for each of
 * stacked matrices. */
bool solve_nvfp4_add_input(struct encoding *e, enum solve_nvfp4_reader reader, uint32_t rank, struct err *err);

/* Sets nfacts and nregions for surveys of weights whose scale for all blocks is to be found. Returns false, with e->why, if the scale
 * of activations cannot go with them. */
bool solve_nvfp4_fit(struct encoding *e);
bool solve_nvfp4_survey(const struct encoding *e, const struct encode_run *run, uint64_t region, enum solve_nvfp4_reader reader,
    float *facts, struct err *err);

/* Sets facts[0] to the scale for all blocks. May fail; without a cause if the weight has to be surveyed again. */
bool solve_nvfp4_settle(struct encoding *e, enum solve_nvfp4_reader reader, float *facts, struct exact_fail *fail);

/* The same for NVFP4; `code` must not be NULL. */
size_t solve_nvfp4_dense(const struct encoding *e, const struct encode_run *run, enum solve_nvfp4_reader reader, const float *x, size_t nblocks,
    uint8_t *scale, uint8_t *code, bool halves);

/* Finds the scale and the codes of a block. */
bool solve_nvfp4(const struct solve_block *b, enum solve_nvfp4_reader reader, float second, uint8_t *scale, uint8_t q[16]);

/* Returns true if the formulas of source and target denote the same number for any code and scale. */
bool solve_nvfp4_is_same_real(const struct exact_source *s, enum solve_nvfp4_reader reader, float second);

/* Returns what the scale for all blocks multiplies codes by. */
float solve_nvfp4_factor(enum solve_nvfp4_reader reader, float second);

/* Returns the value of a code with a scale. */
float solve_nvfp4_value(enum solve_nvfp4_reader reader, float code, float scale, float second);

#endif
