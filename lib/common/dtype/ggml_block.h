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

/* Blocks of forks. Bytes of a row's prefix are not part of its blocks, and a block of interleaved rows is counted once for
 * each row. */
enum {
    Q6_0_ELEMS = 32,      Q6_0_BYTES = 2 + 8 + 16,
    IQ2_K_ELEMS = QK_K,   IQ2_K_BYTES = 2 + 2 + 8 + 64,
    IQ3_K_ELEMS = QK_K,   IQ3_K_BYTES = 2 + 2 + 2 + 8 + 64 + 32,
    IQ4_K_ELEMS = QK_K,   IQ4_K_BYTES = 2 + 2 + 4 + 8 + 128,
    IQ5_K_ELEMS = QK_K,   IQ5_K_BYTES = 2 + 2 + 4 + 8 + 128 + 32,
    IQ6_K_ELEMS = QK_K,   IQ6_K_BYTES = 2 + 2 + 16 + 128 + 64,
    PQ2_0_ELEMS = 128,    PQ2_0_BYTES = 2 + 32,
    PTQ1_0_ELEMS = 128,   PTQ1_0_BYTES = 24 + 2 + 2,
    IQ4_KS_ELEMS = QK_K,  IQ4_KS_BYTES = 8 + 128,
    IQ2_KS_ELEMS = QK_K,  IQ2_KS_BYTES = 2 + 4 + 64,
    IQ4_KSS_ELEMS = QK_K, IQ4_KSS_BYTES = 128,
    IQ5_KS_ELEMS = QK_K,  IQ5_KS_BYTES = 8 + 128 + 32,
    IQ3_KS_ELEMS = QK_K,  IQ3_KS_BYTES = 2 + 4 + 64 + 32,
    IQ2_KL_ELEMS = QK_K,  IQ2_KL_BYTES = 2 + 4 + 64 + 16,
    IQ1_KT_ELEMS = QK_K,  IQ1_KT_BYTES = 8 + 32 + 16,
    IQ2_KT_ELEMS = QK_K,  IQ2_KT_BYTES = 4 + 64,
    IQ3_KT_ELEMS = QK_K,  IQ3_KT_BYTES = 4 + 64 + 32,
    IQ4_KT_ELEMS = QK_K,  IQ4_KT_BYTES = 32 + 64 + 32,
    IQ1_S_R4_ELEMS = 32,  IQ1_S_R4_BYTES = 4 + 2,
    IQ1_M_R4_ELEMS = 32,  IQ1_M_R4_BYTES = 4 + 2 + 1,
    IQ2_K_R4_ELEMS = QK_K,  IQ2_K_R4_BYTES = IQ2_K_BYTES,
    IQ3_K_R4_ELEMS = QK_K,  IQ3_K_R4_BYTES = IQ3_K_BYTES,
    IQ4_K_R4_ELEMS = QK_K,  IQ4_K_R4_BYTES = IQ4_K_BYTES,
    IQ5_K_R4_ELEMS = QK_K,  IQ5_K_R4_BYTES = IQ5_K_BYTES,
    IQ4_KS_R4_ELEMS = QK_K, IQ4_KS_R4_BYTES = IQ4_KS_BYTES,
    IQ5_KS_R4_ELEMS = QK_K, IQ5_KS_R4_BYTES = IQ5_KS_BYTES,

    /* Sized, but not decoded. */
    I2_S_ELEMS = 4,       I2_S_BYTES = 1,
    I8_S_ELEMS = 1,       I8_S_BYTES = 1,
    TL1_ELEMS = 4,        TL1_BYTES = 1,
    Q8_0_X4_ELEMS = 32,   Q8_0_X4_BYTES = 34,
    Q8_1_X4_ELEMS = 32,   Q8_1_X4_BYTES = 36,
    Q8_2_X4_ELEMS = 32,   Q8_2_X4_BYTES = 36,
    Q4_0_ROCMFP4_ELEMS = 32,      Q4_0_ROCMFP4_BYTES = 18,
    Q4_0_ROCMFP4_FAST_ELEMS = 32, Q4_0_ROCMFP4_FAST_BYTES = 17,
    Q6_0_ROCMFPX_ELEMS = 32,      Q6_0_ROCMFPX_BYTES = 26,
    Q8_0_ROCMFPX_ELEMS = 32,      Q8_0_ROCMFPX_BYTES = 33,
    Q3_0_ROCMFPX_ELEMS = 32,      Q3_0_ROCMFPX_BYTES = 14,
    Q2_0_ROCMFPX_ELEMS = 32,      Q2_0_ROCMFPX_BYTES = 10,
    Q4_0_ROCMI4_ELEMS = 32,       Q4_0_ROCMI4_BYTES = 17,
    IQ1_BN_ELEMS = 64,    IQ1_BN_BYTES = 13,
    IQ2_BN_ELEMS = 64,    IQ2_BN_BYTES = 16,
    Q8_K64_ELEMS = 64,    Q8_K64_BYTES = 68,
    Q8_K128_ELEMS = 128,  Q8_K128_BYTES = 140,
    Q8_K16_ELEMS = 64,    Q8_K16_BYTES = 64,
    Q8_K32_ELEMS = QK_K,  Q8_K32_BYTES = 296,
    Q8_KR8_ELEMS = QK_K,  Q8_KR8_BYTES = 296,
    Q8_KV_ELEMS = 32,     Q8_KV_BYTES = 32,
    Q4_0_R8_ELEMS = 32,   Q4_0_R8_BYTES = Q4_0_BYTES,
    Q5_0_R4_ELEMS = 32,   Q5_0_R4_BYTES = Q5_0_BYTES,
    Q8_0_R8_ELEMS = 32,   Q8_0_R8_BYTES = Q8_0_BYTES,
    Q2_K_R4_ELEMS = QK_K, Q2_K_R4_BYTES = Q2_K_BYTES,
    Q3_K_R4_ELEMS = QK_K, Q3_K_R4_BYTES = Q3_K_BYTES,
    Q4_K_R4_ELEMS = QK_K, Q4_K_R4_BYTES = Q4_K_BYTES,
    Q5_K_R4_ELEMS = QK_K, Q5_K_R4_BYTES = Q5_K_BYTES,
    Q6_K_R4_ELEMS = QK_K, Q6_K_R4_BYTES = Q6_K_BYTES,
    IQ2_XXS_R4_ELEMS = QK_K, IQ2_XXS_R4_BYTES = IQ2_XXS_BYTES,
    IQ2_XS_R4_ELEMS = QK_K,  IQ2_XS_R4_BYTES = IQ2_XS_BYTES,
    IQ3_XXS_R4_ELEMS = QK_K, IQ3_XXS_R4_BYTES = IQ3_XXS_BYTES,
    IQ4_NL_R4_ELEMS = 32,    IQ4_NL_R4_BYTES = IQ4_NL_BYTES,
    IQ3_S_R4_ELEMS = QK_K,   IQ3_S_R4_BYTES = IQ3_S_BYTES,
    IQ2_S_R4_ELEMS = QK_K,   IQ2_S_R4_BYTES = IQ2_S_BYTES,
    IQ4_XS_R8_ELEMS = QK_K,  IQ4_XS_R8_BYTES = IQ4_XS_BYTES,
    BF16_R16_ELEMS = 1,      BF16_R16_BYTES = 2,
    Q6_0_R4_ELEMS = 32,      Q6_0_R4_BYTES = Q6_0_BYTES,
    IQ2_BN_R4_ELEMS = 64,    IQ2_BN_R4_BYTES = IQ2_BN_BYTES,
    MXFP4_R8_ELEMS = 32,     MXFP4_R8_BYTES = MXFP4_BYTES,
    Q8_K_R16_ELEMS = QK_K,   Q8_K_R16_BYTES = 258,
    Q8_KV_R8_ELEMS = 32,     Q8_KV_R8_BYTES = 32,
    Q8_K_R8_ELEMS = QK_K,    Q8_K_R8_BYTES = 258,
};

/* Swaps the bytes of the 16- and 32-bit fields of nblocks big-endian blocks, in place. */
void ggml_block_swap(enum dtype dtype, uint8_t *p, size_t nblocks);

/* Returns the index of the first of nblocks little-endian blocks whose scale factor is infinite or NaN, or nblocks if there is
 * none. Types without a floating-point scale always pass. Source: ggml-quants.c, ggml_validate_row_data. */
size_t ggml_block_first_nonfinite(enum dtype dtype, const uint8_t *p, size_t nblocks);

#endif
