/* solve_fp8: exact encodings in E4M3 or E5M2 codes with a scale for each tile, row or weight. */
#ifndef ENCODE_SOLVE_FP8_H
#define ENCODE_SOLVE_FP8_H

#include "encode/encode.h"

enum solve_fp8_share { SOLVE_FP8_TILES, SOLVE_FP8_ROWS, SOLVE_FP8_WEIGHT };

/* A target. */
struct solve_fp8 {
    enum dtype codes, scale;            /* types */
    enum solve_fp8_share share;
    uint64_t rows, grid_rows, grid_cols;        /* tiles of 128 x 128: of one matrix */
};

/* Sets nregions and nfacts. */
void solve_fp8_fit(struct encoding *e, const struct solve_fp8 *how);

/* Implement members of struct encoder. A weight with one scale may have to be surveyed twice. */
bool solve_fp8_survey(const struct encoding *e, const struct solve_fp8 *how, const struct encode_run *run, uint64_t region, float *facts,
    struct err *err);
bool solve_fp8_resolve(struct encoding *e, const struct solve_fp8 *how, float *facts, struct exact_fail *fail);

/* Encode grains of the scales, and the elements in run->x, which start at number `at` of the weight. */
bool solve_fp8_scales(const struct encoding *e, const struct solve_fp8 *how, const struct encode_run *run, uint64_t first,
    uint64_t count, uint8_t *y);
bool solve_fp8_codes(const struct encoding *e, const struct solve_fp8 *how, const struct encode_run *run, uint64_t at, uint8_t *y);

/* Implements move() of struct encoder for the codes or scales: E2M1 to E4M3 with powers of two. */
bool solve_fp8_move(const struct encoding *e, const struct solve_fp8 *how, const struct encode_run *run, bool codes, uint64_t at,
    uint8_t *y);

#endif
