/* solve_fp8_priv: what the files of solve_fp8 share: the facts of a tile, row or weight, which a survey gathers and from which its scale is
 * chosen. */
#ifndef ENCODE_SOLVE_FP8_PRIV_H
#define ENCODE_SOLVE_FP8_PRIV_H

#include "encode/solve.h"
#include "encode/solve_fp8.h"
#include "encode/solve_fp8_dense.h"

enum { TILE = 128, REGION = 1 << 20 };

/* The facts of a tile or region, as floats. The regions of a weight with one scale then have their distinct magnitudes; after all
 * regions comes one fact, which is set if these are to be collected. */
enum { SCALE, LO, HI, HINT, MOST_HINT, FLAGS, FACTS, COUNT = FACTS, SET, FACTS_OF_WEIGHT = SET + SOLVE_FP8_CODES + 1 };

/* FLAGS: what elements of the tile have in common. */
enum { ANY = 1, DIFFER = 2, BITS = 4, INFINITE = 8, HINT_FAILS = 16, SEEN = 32, UNHINTED = 64 };

/* Returns true if scales are powers of two. */
bool solve_fp8_is_power(const struct solve_fp8 *how);

/* Returns the form of the codes. */
const struct solve_float *solve_fp8_float(const struct solve_fp8 *how);

/* Returns the code nearest to a number; those beyond the codes can be rounded values of the largest one. NaN is a quotient of zeros. */
uint8_t solve_fp8_code(const struct solve_fp8 *how, float x);

/* Returns true if a value is its code times a scale. */
bool solve_fp8_is_code(const struct solve_fp8 *how, enum exact_level level, double v, float scale);

/* Encodes values with a scale, and decodes them to `back`. Returns true if they are the same, and no other codes are; false at other levels
 * than F32 and BF16. */
bool solve_fp8_put(const struct solve_fp8 *how, const struct encode_run *run, const struct solve_block *b, float scale, uint8_t *y,
    float *back);

/* Adds the elements of a block, at most TILE, to the facts of their tile. */
void solve_fp8_gather(const struct solve_fp8 *how, const struct encode_run *run, float *f, const struct solve_block *b);

/* Sets the scale of a tile from its facts if that is possible; else *cause says why not, or EXACT_HOLDS: a search decides. */
bool solve_fp8_choose(const struct encoding *e, const struct solve_fp8 *how, float *f, enum exact_cause *cause, enum exact_way *way);

/* Finds the scales of a band of tiles, one after the other in the matrix, whose facts are at `facts`. */
bool solve_fp8_survey_band(const struct encoding *e, const struct solve_fp8 *how, const struct encode_run *run, uint64_t band,
    float *facts, struct err *err);

/* Survey a region of a weight with one scale, and find this scale from the facts of all regions. */
bool solve_fp8_survey_weight(const struct encoding *e, const struct solve_fp8 *how, const struct encode_run *run, uint64_t region,
    float *facts, struct err *err);
bool solve_fp8_resolve_weight(struct encoding *e, const struct solve_fp8 *how, float *facts, struct exact_fail *fail);

#endif
