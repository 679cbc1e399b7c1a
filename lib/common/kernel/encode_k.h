/* encode_k: quantizes rows of floats to the super-block types Q2_K to Q6_K, and Q8_K. Arguments are described at
 * kernel_encode (kernels.h). Cannot fail. Byte-identical to ggml's C, built without fused multiplications, on x86-64. */
#ifndef KERNEL_ENCODE_K_H
#define KERNEL_ENCODE_K_H

#include "kernel/kernels.h"

kernel_encode encode_k, encode_q8_k;

#endif
