/* kernels_priv: what the two choices of a set share. */
#ifndef KERNEL_KERNELS_PRIV_H
#define KERNEL_KERNELS_PRIV_H

#include "kernel/kernels.h"

/* The scalar set without encoders. */
extern const struct kernels kernels_scalar;

/* Checks the requirements of kernel/x86/x86.h, and that the system saves the registers. */
bool kernels_have_avx2(void);

/* Builds the tables that kernels share, and returns the set that AMN_CPU names, or the fastest; *avx2 has no name if this
 * machine cannot run it. Fails as kernels_pick() does. */
const struct kernels *kernels_choose(const struct kernels *scalar, const struct kernels *avx2, const char *amn_cpu,
    struct err *err);

#endif
