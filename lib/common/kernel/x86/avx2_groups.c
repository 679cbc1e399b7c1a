#if defined(__x86_64__)
#include "kernel/x86/x86_priv.h"
void avx2_use_groups(struct kernels *k) { (void)k; }
#endif
