/* avx512: the set, put together from its parts. */
#if defined(__x86_64__)

#include "kernel/x86/x86.h"

#include "kernel/x86/x86_priv.h"

void
kernels_use_avx512(struct kernels *k)
{
    avx512_use_round(k);
    avx512_use_fp8(k);
    avx512_use_blocks(k);
    avx512_use_nibbles(k);
    avx512_use_groups(k);
    avx512_use_codes4(k);
    avx512_use_turn(k);
}

#endif
