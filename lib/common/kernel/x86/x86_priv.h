/* x86_priv: the parts of the set, one for each file. */
#ifndef KERNEL_X86_X86_PRIV_H
#define KERNEL_X86_X86_PRIV_H

#include "kernel/kernels.h"

/* F32 to 16 bits */
void avx2_use_round(struct kernels *k);

/* Widening to F32 */
void avx2_use_widen(struct kernels *k);

/* E4M3 and E5M2 */
void avx2_use_fp8(struct kernels *k);
void avx2_use_fp8_bf16(struct kernels *k);

/* Floats to E4M3 and E5M2, to bitsandbytes' codes, and to integers with a scale for a group */
void avx2_use_encode_fp8(struct kernels *k);
void avx2_use_encode_mx(struct kernels *k);
void avx2_use_encode_bnb(struct kernels *k);
void avx2_use_encode_int(struct kernels *k);
kernel_encode_absmax avx2_encode_absmax;

/* Every block type of ggml to F32, and those not listed below to BF16 */
void avx2_use_blocks(struct kernels *k);
void avx2_use_blocks_bf16(struct kernels *k);

/* Types of ik_llama.cpp */
void avx2_use_iqk(struct kernels *k);
void avx2_use_iqk_bf16(struct kernels *k);

/* Types of 4-bit codes with a scale for 32 elements, to BF16 */
void avx2_use_nibbles(struct kernels *k);

/* Types whose groups of 16 elements have few values, to BF16 */
void avx2_use_groups(struct kernels *k);

/* Rows of 4-bit codes */
void avx2_use_codes4(struct kernels *k);
void avx2_use_codes4_bf16(struct kernels *k);
void avx2_use_codes4_lanes(struct kernels *k);
void avx2_use_codes4_lanes_bf16(struct kernels *k);
kernel_codes4_f32 avx2_codes4_f32;
kernel_codes4_bf16 avx2_codes4_bf16;

/* Rows of codes of a byte each */
void avx2_use_rows(struct kernels *k);
void avx2_use_rows_bf16(struct kernels *k);

/* Rotated rows */
void avx2_use_convrot(struct kernels *k);
void avx2_use_convrot_bf16(struct kernels *k);

/* Comparison of floats */
void avx2_use_same(struct kernels *k);
void avx2_use_same_int_rounded(struct kernels *k);

/* Packed codes to a byte each */
void avx2_use_bits(struct kernels *k);

/* Transposed matrices */
void avx2_use_transpose(struct kernels *k);

/* Floats to blocks */
void avx2_use_encode_q(struct kernels *k);
void avx2_use_encode_ternary(struct kernels *k);
void avx2_use_encode_k(struct kernels *k);
void avx2_use_encode_fp4(struct kernels *k);
/* The encoders of ggml's IQ types */
void avx2_use_encode_iq4(struct kernels *k);
void avx2_use_encode_iq(struct kernels *k);
void avx2_use_encode_iq1(struct kernels *k);

/* Quantization error */
void avx2_use_loss(struct kernels *k);
void avx2_use_shift(struct kernels *k);
void avx2_use_wide(struct kernels *k);

/* Products of thin matrices */
void avx2_use_lowrank(struct kernels *k);
void avx2_use_lowrank_merge(struct kernels *k);

/* CRC-32 */
void avx2_use_crc(struct kernels *k);

#endif
