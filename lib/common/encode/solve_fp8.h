/* solve_fp8: exact encodings in E4M3 codes with a scale for each tile, row or weight. */
#ifndef ENCODE_SOLVE_FP8_H
#define ENCODE_SOLVE_FP8_H

#include "encode/encode.h"

enum { SOLVE_FP8_FACTS = 6 };           /* for each tile, or each region of a weight with one scale */

/* Implement members of struct encoder. */
bool solve_fp8_survey(const struct encoding *e, const struct encode_run *run, uint64_t region, float *facts, struct err *err);
bool solve_fp8_resolve(struct encoding *e, float *facts, struct exact_fail *fail);
bool solve_fp8(const struct encoding *e, const struct encode_run *run, unsigned part, uint64_t first, uint64_t count, uint8_t *y,
    struct err *err);

#endif
