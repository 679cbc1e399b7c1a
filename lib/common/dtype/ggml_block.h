/* ggml_block: elements and bytes of each ggml block. The kernels and the table of dtype.c use these same constants. Layouts
 * are drawn in kernel/, where they are decoded. Source: ggml-common.h. */
#ifndef DTYPE_GGML_BLOCK_H
#define DTYPE_GGML_BLOCK_H

#include "dtype/dtype.h"

enum {
    QK_K = 256,                 /* elements per super-block */

    Q4_0_ELEMS = 32,      Q4_0_BYTES = 2 + 16,
    Q4_1_ELEMS = 32,      Q4_1_BYTES = 2 + 2 + 16,
    Q5_0_ELEMS = 32,      Q5_0_BYTES = 2 + 4 + 16,
    Q5_1_ELEMS = 32,      Q5_1_BYTES = 2 + 2 + 4 + 16,
    Q8_0_ELEMS = 32,      Q8_0_BYTES = 2 + 32,
    Q8_1_ELEMS = 32,      Q8_1_BYTES = 2 + 2 + 32,
    Q2_K_ELEMS = QK_K,    Q2_K_BYTES = 16 + 64 + 2 + 2,
    Q3_K_ELEMS = QK_K,    Q3_K_BYTES = 32 + 64 + 12 + 2,
    Q4_K_ELEMS = QK_K,    Q4_K_BYTES = 2 + 2 + 12 + 128,
    Q5_K_ELEMS = QK_K,    Q5_K_BYTES = 2 + 2 + 12 + 32 + 128,
    Q6_K_ELEMS = QK_K,    Q6_K_BYTES = 128 + 64 + 16 + 2,
    Q8_K_ELEMS = QK_K,    Q8_K_BYTES = 4 + 256 + 32,
    IQ2_XXS_ELEMS = QK_K, IQ2_XXS_BYTES = 2 + 64,
    IQ2_XS_ELEMS = QK_K,  IQ2_XS_BYTES = 2 + 64 + 8,
    IQ3_XXS_ELEMS = QK_K, IQ3_XXS_BYTES = 2 + 64 + 32,
    IQ1_S_ELEMS = QK_K,   IQ1_S_BYTES = 2 + 32 + 16,
    IQ4_NL_ELEMS = 32,    IQ4_NL_BYTES = 2 + 16,
    IQ3_S_ELEMS = QK_K,   IQ3_S_BYTES = 2 + 64 + 8 + 32 + 4,
    IQ2_S_ELEMS = QK_K,   IQ2_S_BYTES = 2 + 32 + 32 + 8 + 8,
    IQ4_XS_ELEMS = QK_K,  IQ4_XS_BYTES = 2 + 2 + 4 + 128,
    IQ1_M_ELEMS = QK_K,   IQ1_M_BYTES = 32 + 16 + 8,
    TQ1_0_ELEMS = QK_K,   TQ1_0_BYTES = 48 + 4 + 2,
    TQ2_0_ELEMS = QK_K,   TQ2_0_BYTES = 64 + 2,
    MXFP4_ELEMS = 32,     MXFP4_BYTES = 1 + 16,
    NVFP4_ELEMS = 64,     NVFP4_BYTES = 4 + 32,
    Q1_0_ELEMS = 128,     Q1_0_BYTES = 2 + 16,
    Q2_0_ELEMS = 64,      Q2_0_BYTES = 2 + 16,
};

/* Swaps the bytes of the 16- and 32-bit fields of nblocks big-endian blocks, in place. */
void ggml_block_swap(enum dtype dtype, uint8_t *p, size_t nblocks);

/* Returns the index of the first of nblocks little-endian blocks whose scale factor is infinite or NaN, or nblocks if there is
 * none. Types without a floating-point scale always pass. Source: ggml-quants.c, ggml_validate_row_data. */
size_t ggml_block_first_nonfinite(enum dtype dtype, const uint8_t *p, size_t nblocks);

#endif
