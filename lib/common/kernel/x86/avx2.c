/* avx2: assembles the set for values in F32 from its parts. */
#if defined(__x86_64__)

#include "kernel/x86/x86.h"

#include "kernel/x86/x86_priv.h"

void
kernels_use_avx2(struct kernels *k)
{
    k->name = "avx2";
    avx2_use_round(k);
    avx2_use_widen(k);
    avx2_use_fp8(k);
    avx2_use_blocks(k);
    avx2_use_iqk(k);
    avx2_use_codes4(k);
    avx2_use_codes4_lanes(k);
    avx2_use_rows(k);
    avx2_use_convrot(k);
    avx2_use_bits(k);
    avx2_use_transpose(k);
    avx2_use_crc(k);
    avx2_use_wide(k);
    avx2_use_lowrank(k);
}

#endif
