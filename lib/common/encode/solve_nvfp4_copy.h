/* solve_nvfp4_copy: NVFP4 from a dense copy whose values were rounded. The scales for all blocks that yield the values are one
 * run of bit patterns for each block; the runs of all blocks are intersected, in any order. */
#ifndef ENCODE_SOLVE_NVFP4_COPY_H
#define ENCODE_SOLVE_NVFP4_COPY_H

#include "encode/solve_mx.h"
#include "kernel/same_floats.h"

/* Scales, numbered so that values do not fall as the number grows. lo > hi: none. */
struct solve_nvfp4_run {
    uint32_t lo, hi;
};

/* Sets run i of the runs that may hold a weight with this largest magnitude. Returns false after the last one. */
bool solve_nvfp4_try(struct solve_nvfp4_run *run, int i, enum solve_nvfp4_reader reader, enum exact_level level, float most);

/* Returns the run of one scale. */
struct solve_nvfp4_run solve_nvfp4_only(enum solve_nvfp4_reader reader, float second);

/* Returns the scale of a run with the most zero bits at its end. */
float solve_nvfp4_pick(enum solve_nvfp4_reader reader, struct solve_nvfp4_run run);

/* Sets how a kernel finds blocks with this scale for all blocks; if it is a power of two, blocks with powers of two. Returns
 * false if the kernel would not find the blocks that solve_nvfp4_copy() finds: at other levels, or with products that may not be
 * normal numbers of BF16. */
bool solve_nvfp4_kernel(struct same_nvfp4 *how, enum solve_nvfp4_reader reader, enum exact_level level, float second);

/* The codes that occur with each scale of blocks: a bit for each magnitude. */
struct solve_nvfp4_pairs {
    uint8_t seen[128];
};

/* Narrows a run as if solve_nvfp4_copy() were called for blocks with these codes, whose values have the scale `second` of the
 * run, and forgets them. */
void solve_nvfp4_add_pairs(struct solve_nvfp4_run *run, struct solve_nvfp4_pairs *pairs, enum solve_nvfp4_reader reader,
    enum exact_level level, float second);

/* Finds scale and codes of a block, and narrows the run to the scales for which they yield its values. */
bool solve_nvfp4_copy(const struct solve_block *b, enum solve_nvfp4_reader reader, struct solve_nvfp4_run *run, uint8_t *scale,
    uint8_t q[16]);

#endif
