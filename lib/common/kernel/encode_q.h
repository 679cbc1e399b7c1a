/* encode_q: rows of floats to the types whose blocks have factors of their own: one or two of binary16 and codes of 1
 * to 8 bits, or ternary. kernel_encode (kernels.h) says what goes in. Importance matters to Q4_0, Q4_1, Q5_0, Q5_1
 * only. Cannot fail; the bytes of ggml's C, built without fused multiplications, on x86-64. */
#ifndef KERNEL_ENCODE_Q_H
#define KERNEL_ENCODE_Q_H

#include "kernel/kernels.h"

kernel_encode q4_0_encode, q4_1_encode, q5_0_encode, q5_1_encode, q8_0_encode, q1_0_encode, q2_0_encode;
kernel_encode tq1_0_encode, tq2_0_encode;

#endif
