/* complete: the sets with all members, for tools that write models. */
#include "kernel/kernels_priv.h"

#include <string.h>

#include "kernel/affine.h"
#include "kernel/codes4.h"
#include "kernel/codes8.h"
#include "kernel/convrot.h"
#include "kernel/encode_bnb.h"
#include "kernel/encode_fp4.h"
#include "kernel/encode_fp8.h"
#include "kernel/encode_iq.h"
#include "kernel/encode_k.h"
#include "kernel/encode_q.h"
#include "kernel/fp8.h"
#include "kernel/int8_row.h"
#include "kernel/lowrank.h"
#include "kernel/same.h"
#include "kernel/same_floats.h"

#if defined(__x86_64__)
#include "kernel/x86/x86.h"
#endif

static kernel_encode *const encoders[DTYPE_COUNT] = {
    [DTYPE_Q4_0] = encode_q,        [DTYPE_Q4_1] = encode_q,        [DTYPE_Q5_0] = encode_q,
    [DTYPE_Q5_1] = encode_q,        [DTYPE_Q8_0] = encode_q8_0,     [DTYPE_Q1_0] = encode_q1_0,
    [DTYPE_Q2_0] = encode_q2_0,     [DTYPE_TQ1_0] = encode_tq1_0,   [DTYPE_TQ2_0] = encode_tq2_0,
    [DTYPE_Q2_K] = encode_k,        [DTYPE_Q3_K] = encode_k,        [DTYPE_Q4_K] = encode_k,
    [DTYPE_Q5_K] = encode_k,        [DTYPE_Q6_K] = encode_k,        [DTYPE_Q8_K] = encode_q8_k,
    [DTYPE_IQ4_NL] = encode_iq4,    [DTYPE_IQ4_XS] = encode_iq4,
    [DTYPE_IQ2_XXS] = encode_iq,    [DTYPE_IQ2_XS] = encode_iq,     [DTYPE_IQ2_S] = encode_iq,
    [DTYPE_IQ3_XXS] = encode_iq,    [DTYPE_IQ3_S] = encode_iq,
    [DTYPE_IQ1_S] = encode_iq1,     [DTYPE_IQ1_M] = encode_iq1,
    [DTYPE_MXFP4] = encode_mxfp4,   [DTYPE_NVFP4] = encode_nvfp4,
};

static void
use_scalar(struct kernels *k)
{
    k->fp8_bf16 = fp8_bf16;
    k->codes4_bf16 = codes4_bf16;
    k->codes4_lanes_bf16 = codes4_lanes_bf16;
    k->codes8_bf16 = codes8_bf16;
    k->affine_bf16 = affine_bf16;
    k->affine4_bf16 = affine4_bf16;
    k->convrot_bf16 = convrot_bf16;
    k->int8_row_bf16 = int8_row_bf16;
    k->lowrank_merge = lowrank_merge;
    memcpy(k->encode, encoders, sizeof encoders);
    k->encode_e4m3 = encode_e4m3;
    k->encode_e5m2 = encode_e5m2;
    k->encode_absmax = encode_absmax;
    k->absmax_of[DTYPE_BF16] = encode_absmax_bf16;
    k->absmax_of[DTYPE_F16] = encode_absmax_f16;
    k->encode_e2m1 = encode_e2m1;
    k->encode_most = encode_most;
    k->encode_nf4 = encode_nf4;
    k->encode_fp4 = encode_fp4;
    k->encode_fp4_cpu = encode_fp4_cpu;
    k->encode_int8_row = encode_int8_row;
    k->int_ct = &encode_int_ct;
    k->int_gptq = &encode_int_gptq;
    k->int_awq = &encode_int_awq;
    k->int_mlx = &encode_int_mlx;
    k->int_pack = encode_int_pack;
    k->q_join = q_join;
    k->q_split = q_split;
    k->same_products = same_products;
    k->same_extent = same_extent;
    k->same_rounded = same_rounded;
    k->same_fp8 = same_fp8;
    k->same_int_powers = same_int_powers;
    k->same_int_steps = same_int_steps;
    k->same_int_rounded = same_int_rounded;
    k->same_nvfp4 = same_nvfp4;
    k->same_e2m1 = same_e2m1;
    k->same_e4m3 = same_e4m3;
    k->e2m1_range = e2m1_range;
    k->same_nf4 = same_nf4;
    k->loss = loss_add;
    k->shift = shift_add;
}

const struct kernels *
kernels_pick(const char *amn_cpu, struct err *err)
{
    static struct kernels scalar, fast;
    scalar = kernels_scalar;
    use_scalar(&scalar);
#if defined(__x86_64__)
    if (kernels_have_avx2()) {
        fast = scalar;
        kernels_use_avx2(&fast);
        kernels_complete_avx2(&fast);
    }
#endif
    return kernels_choose(&scalar, &fast, amn_cpu, err);
}
