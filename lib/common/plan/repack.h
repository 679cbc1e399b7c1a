/* repack: quantized data that an output holds in another arrangement of the same codes and scales. It is made in units: a
 * block, or the bytes of one kind that a block has. */
#ifndef PLAN_REPACK_H
#define PLAN_REPACK_H

#include "catalog/tensor.h"

enum repack_kind {
    REPACK_MXFP4, REPACK_NVFP4,         /* codes and scales to blocks */
    REPACK_MXFP4_CODES, REPACK_MXFP4_SCALES     /* blocks to codes, to scales */
};

/* Sizes of a unit. */
struct repack_facts {
    uint32_t in[2];             /* bytes of each input; 0: absent */
    uint32_t out;               /* bytes of the output */
    uint32_t elems;             /* elements of the weight */
    enum dtype to;              /* type of the output */
};

/* Inputs are stored row-major without gaps, in units that follow each other. */
struct repack {
    enum repack_kind kind;
    const struct tensor *input[2];      /* codes and scales, or blocks and NULL */
};

const struct repack_facts *repack_facts(enum repack_kind kind);

#endif
