/* x86: the codecs again for CPUs with wide registers, the same bits as the scalar ones.
 *
 * Each function overwrites the members it has in a copy of the scalar set. The caller knows that the CPU has
 *   avx2     AVX2, F16C, FMA, PCLMULQDQ
 *   avx512   AVX-512 F, BW, VL, DQ, VBMI; it may rest on a copy of the scalar or of the AVX2 set
 * and that the operating system saves the registers. */
#ifndef KERNEL_X86_X86_H
#define KERNEL_X86_X86_H

#include "kernel/kernels.h"

void kernels_use_avx2(struct kernels *k);
void kernels_use_avx512(struct kernels *k);

#endif
