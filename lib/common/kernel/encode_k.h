/* encode_k: rows of floats to the super-block types Q2_K to Q6_K, and Q8_K. kernel_encode (kernels.h) says what goes in.
 * Cannot fail; the bytes of ggml's C, built without fused multiplications, on x86-64. */
#ifndef KERNEL_ENCODE_K_H
#define KERNEL_ENCODE_K_H

#include "kernel/kernels.h"

kernel_encode q2_k_encode, q3_k_encode, q4_k_encode, q5_k_encode, q6_k_encode, q8_k_encode;

#endif
