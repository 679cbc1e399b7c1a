/* solve_nvfp4_copy: NVFP4 from a dense copy whose values were rounded. The scales for all blocks that yield the values are one run
 * of bit patterns for each block; those of all blocks are intersected, in any order. */
#ifndef ENCODE_SOLVE_NVFP4_COPY_H
#define ENCODE_SOLVE_NVFP4_COPY_H

#include "encode/solve_mx.h"

/* Scales, numbered so that values do not fall as the number grows. lo > hi: none. */
struct solve_nvfp4_run {
    uint32_t lo, hi;
};

/* Returns the scales for which the largest magnitude of a weight is that of the largest code and block scale, as all known
 * quantizers choose it. */
struct solve_nvfp4_run solve_nvfp4_all(enum solve_nvfp4_reader reader, enum exact_level level, float most);

/* Returns the run of one scale. */
struct solve_nvfp4_run solve_nvfp4_only(enum solve_nvfp4_reader reader, float second);

/* Returns the scale of a run with the most zero bits at its end. */
float solve_nvfp4_pick(enum solve_nvfp4_reader reader, struct solve_nvfp4_run run);

/* Finds scale and codes of a block, and narrows the run to the scales for which they yield its values. */
bool solve_nvfp4_copy(const struct solve_block *b, enum solve_nvfp4_reader reader, struct solve_nvfp4_run *run, uint8_t *scale,
    uint8_t q[16]);

#endif
