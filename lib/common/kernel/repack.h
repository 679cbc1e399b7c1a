/* repack: the codes and scales of MXFP4 and NVFP4 between ggml's blocks and separate tensors; no value changes. Cannot fail.
 * Layouts of the blocks are drawn in kernel/ref/fp4_blocks.c; in the tensors, element 2i is the low nibble of byte i. */
#ifndef KERNEL_REPACK_H
#define KERNEL_REPACK_H

#include <stddef.h>
#include <stdint.h>

/* Make n blocks of codes and scales: 16 bytes and one E8M0 each, or 32 bytes and four E4M3, whose sign is cleared. */
void repack_mxfp4(uint8_t *y, const uint8_t *codes, const uint8_t *scales, size_t n);
void repack_nvfp4(uint8_t *y, const uint8_t *codes, const uint8_t *scales, size_t n);

/* Take the codes, 16 bytes each, or the scales out of n MXFP4 blocks. */
void repack_mxfp4_codes(uint8_t *y, const uint8_t *blocks, size_t n);
void repack_mxfp4_scales(uint8_t *y, const uint8_t *blocks, size_t n);

#endif
