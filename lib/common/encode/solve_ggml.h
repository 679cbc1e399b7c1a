/* solve_ggml: exact encodings in the block types of ggml that have one or two factors for a block. */
#ifndef ENCODE_SOLVE_GGML_H
#define ENCODE_SOLVE_GGML_H

#include "encode/encode.h"

/* Implement members of struct encoder. */
bool solve_ggml(const struct encoding *e, const struct encode_run *run, unsigned part, uint64_t first, uint64_t count, uint8_t *y,
    struct err *err);
bool solve_ggml_survey(const struct encoding *e, const struct encode_run *run, uint64_t region, float *facts, struct err *err);
bool solve_ggml_resolve(struct encoding *e, float *facts, struct exact_fail *fail);

/* For fit(): sets up an exact encoding of a type. NVFP4 gets a part P.scale. */
enum encode_fit solve_ggml_fit(struct encoding *e, struct err *err);

/* Implements move() of struct encoder. */
bool solve_ggml_move(const struct encoding *e, const struct encode_run *run, unsigned part, uint64_t first, uint64_t count, uint8_t *y);

#endif
