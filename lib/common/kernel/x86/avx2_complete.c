/* avx2_complete: adds what only tools that write models need. */
#if defined(__x86_64__)

#include "kernel/x86/x86.h"

#include "kernel/x86/x86_priv.h"

void
kernels_complete_avx2(struct kernels *k)
{
    avx2_use_fp8_bf16(k);
    avx2_use_blocks_bf16(k);
    avx2_use_iqk_bf16(k);
    avx2_use_codes4_bf16(k);
    avx2_use_codes4_lanes_bf16(k);
    avx2_use_rows_bf16(k);
    avx2_use_convrot_bf16(k);
    avx2_use_nibbles(k);
    avx2_use_groups(k);
    avx2_use_lowrank_merge(k);
    avx2_use_encode_q(k);
    avx2_use_encode_ternary(k);
    avx2_use_encode_k(k);
    avx2_use_encode_fp4(k);
    avx2_use_encode_fp8(k);
    avx2_use_encode_mx(k);
    avx2_use_encode_bnb(k);
    avx2_use_encode_int(k);
    avx2_use_loss(k);
    avx2_use_same(k);
    avx2_use_same_int_rounded(k);
    avx2_use_shift(k);
    avx2_use_encode_iq4(k);
    avx2_use_encode_iq(k);
    avx2_use_encode_iq1(k);
}

#endif
