/* fp4_blocks: MXFP4 (32 elements) and NVFP4 (64) as ggml lays them out.
 *   y    nblocks * <TYPE>_ELEMS floats; must not overlap src
 *   src  nblocks * <TYPE>_BYTES bytes, any alignment
 * Cannot fail, gives no NaN. Exact bits of ggml's C. The F32 tensor `X.scale` that goes with an NVFP4 tensor
 * is not applied here: it multiplies afterwards. */
#ifndef KERNEL_FP4_BLOCKS_H
#define KERNEL_FP4_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

void mxfp4_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks);
void nvfp4_dequantize(float *restrict y, const uint8_t *restrict src, size_t nblocks);

#endif
