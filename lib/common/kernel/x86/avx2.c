/* avx2: assembles the set from its parts. */
#if defined(__x86_64__)

#include "kernel/x86/x86.h"

#include "kernel/x86/x86_priv.h"

void
kernels_use_avx2(struct kernels *k)
{
    avx2_use_round(k);
    avx2_use_widen(k);
    avx2_use_fp8(k);
    avx2_use_blocks(k);
    avx2_use_iqk(k);
    avx2_use_nibbles(k);
    avx2_use_groups(k);
    avx2_use_codes4(k);
    avx2_use_codes4_lanes(k);
    avx2_use_rows(k);
    avx2_use_convrot(k);
    avx2_use_bits(k);
    avx2_use_transpose(k);
    avx2_use_encode_q(k);
    avx2_use_encode_k(k);
    avx2_use_encode_fp4(k);
    avx2_use_crc(k);
    avx2_use_encode_fp8(k);
    avx2_use_encode_mx(k);
    avx2_use_encode_bnb(k);
    avx2_use_loss(k);
    avx2_use_same(k);
    avx2_use_same_int_rounded(k);
    avx2_use_shift(k);
    avx2_use_wide(k);
    avx2_use_lowrank(k);
    avx2_use_encode_iq4(k);
    avx2_use_encode_iq(k);
    avx2_use_encode_iq1(k);
}

#endif
