/* x86: variants of the kernels for CPUs with wide registers, bit-identical to the scalar ones.
 *
 * Replaces the members that have a variant in a copy of the scalar set. The caller has checked that the CPU has AVX2, F16C,
 * FMA and PCLMULQDQ, and that the operating system saves the registers.
 */
#ifndef KERNEL_X86_X86_H
#define KERNEL_X86_X86_H

#include "kernel/kernels.h"

void kernels_use_avx2(struct kernels *k);           /* those that kernels_values() sets, and the name */
void kernels_complete_avx2(struct kernels *k);      /* the others */

#endif
