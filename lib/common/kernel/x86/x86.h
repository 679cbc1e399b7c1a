/* x86: the codecs again for CPUs with wide registers, the same bits as the scalar ones.
 *
 * Overwrites the members it has in a copy of the scalar set. The caller knows that the CPU has AVX2, F16C, FMA and
 * PCLMULQDQ, and that the operating system saves the registers. */
#ifndef KERNEL_X86_X86_H
#define KERNEL_X86_X86_H

#include "kernel/kernels.h"

void kernels_use_avx2(struct kernels *k);

#endif
