/* fp4_blocks: 4-bit weights whose codes and scales fit into ggml's blocks. */
#ifndef SCHEME_FP4_BLOCKS_H
#define SCHEME_FP4_BLOCKS_H

#include "scheme/scheme.h"

enum { FP4_BLOCKS_RANK = 8 };

struct fp4_blocks {
    enum dtype dtype;           /* DTYPE_NVFP4, DTYPE_MXFP4 */
    const struct tensor *codes, *scales;
    const struct tensor *second;        /* a factor of the scales, F32: one, or one per expert; or NULL */
    bool divides;               /* the scales are divided by it */
    uint32_t rank;
    uint64_t dim[FP4_BLOCKS_RANK];      /* in the order in which codes are stored; w->shape is transposed for gpt-oss */
};

/* Describes a weight: NVFP4 of ModelOpt or compressed-tensors, stored by rows, or MXFP4 of gpt-oss or compressed-tensors. Returns
 * false for any other weight, and if a row does not consist of whole blocks. */
bool fp4_blocks_of(struct fp4_blocks *b, const struct weight *w);

#endif
