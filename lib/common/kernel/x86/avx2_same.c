/* avx2_same: the files of same.h and its kin, compiled for this set. */
#if defined(__x86_64__)

#include "kernel/x86/x86_priv.h"

static kernel_same_products avx2_same_products;
static kernel_same_extent avx2_same_extent;
static kernel_same_rounded avx2_same_rounded;
static kernel_same_fp8 avx2_same_fp8;
static kernel_same_ints avx2_same_int_powers, avx2_same_int_steps;
static kernel_same_e2m1 avx2_same_e2m1;
static kernel_same_e4m3 avx2_same_e4m3;
static kernel_e2m1_range avx2_e2m1_range;
static kernel_same_nf4 avx2_same_nf4;
static kernel_same_nvfp4 avx2_same_nvfp4;

void
avx2_use_same(struct kernels *k)
{
    k->same_products = avx2_same_products;
    k->same_extent = avx2_same_extent;
    k->same_rounded = avx2_same_rounded;
    k->same_fp8 = avx2_same_fp8;
    k->same_int_powers = avx2_same_int_powers;
    k->same_int_steps = avx2_same_int_steps;
    k->same_e2m1 = avx2_same_e2m1;
    k->same_e4m3 = avx2_same_e4m3;
    k->e2m1_range = avx2_e2m1_range;
    k->same_nf4 = avx2_same_nf4;
    k->same_nvfp4 = avx2_same_nvfp4;
}

#define same_products avx2_same_products
#define same_extent(...) avx2_same_extent(__VA_ARGS__)      /* not the struct */
#define same_rounded avx2_same_rounded
#define same_fp8(...) avx2_same_fp8(__VA_ARGS__)
#define same_int_powers avx2_same_int_powers
#define same_int_steps avx2_same_int_steps
#define same_e2m1(...) avx2_same_e2m1(__VA_ARGS__)
#define same_e4m3 avx2_same_e4m3
#define e2m1_range(...) avx2_e2m1_range(__VA_ARGS__)
#define same_nf4 avx2_same_nf4
#define same_nvfp4(...) avx2_same_nvfp4(__VA_ARGS__)

#include "kernel/same.c"
#include "kernel/same_ints.c"
#include "kernel/same_mx.c"
#include "kernel/same_nf4.c"
#include "kernel/same_nvfp4.c"

#endif
