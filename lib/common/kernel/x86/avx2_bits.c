/* avx2_bits: packed codes to bytes. */
#if defined(__x86_64__)

#include "kernel/x86/x86_priv.h"

#include "kernel/x86/bits.h"

void
avx2_use_bits(struct kernels *k)
{
    bits_use(k);
}

#endif
