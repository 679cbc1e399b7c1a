/* encode_q: quantizes rows of floats to the types whose blocks have their own factors: one or two of binary16 and codes of 1
 * to 8 bits, or ternary. Arguments are described at kernel_encode (kernels.h). Only Q4_0, Q4_1, Q5_0 and Q5_1 use
 * importance. Cannot fail. Byte-identical to ggml's C, built without fused multiplications, on x86-64. */
#ifndef KERNEL_ENCODE_Q_H
#define KERNEL_ENCODE_Q_H

#include "dtype/ggml_block.h"
#include "kernel/kernels.h"

kernel_encode encode_q;                         /* Q4_0, Q4_1, Q5_0, Q5_1 */
kernel_encode encode_q8_0, encode_q1_0, encode_q2_0, encode_tq1_0, encode_tq2_0;

/* Parameters of Q4_0 to Q5_1. A block is a factor, optionally a minimum, optionally the fifth bits, and 32 nibbles. */
struct encode_q_type {
    int top;                    /* codes are 0 .. 2 top - 1, with top for 0; with a minimum, 0 .. top */
    bool with_min, fifth_bits;
    size_t nbytes;
};

static inline struct encode_q_type
encode_q_type(enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_Q4_0: return (struct encode_q_type){ 8, false, false, Q4_0_BYTES };
    case DTYPE_Q4_1: return (struct encode_q_type){ 15, true, false, Q4_1_BYTES };
    case DTYPE_Q5_0: return (struct encode_q_type){ 16, false, true, Q5_0_BYTES };
    default: return (struct encode_q_type){ 31, true, true, Q5_1_BYTES };
    }
}

/* Join codes and factors to blocks of Q4_0, Q4_1, Q5_0, Q5_1 or Q8_0, and split such blocks. Codes: one a byte; Q8_0 codes in
 * two's complement. Factors: two binary16 for each block, scale and minimum; the minimum is 0 if the type has none. */
kernel_q_join q_join;
kernel_q_split q_split;

#endif
