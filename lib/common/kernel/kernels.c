/* kernels: the sets that yield values in F32, and the choice for this CPU. The AVX2 set is a copy of the scalar set in which
 * the members that have a faster variant are replaced. complete.c adds the rest, which tools that only read do not contain. */
#include "kernel/kernels_priv.h"

#include "base/num.h"
#include "kernel/affine.h"
#include "kernel/bits.h"
#include "kernel/blocks.h"
#include "kernel/codes4.h"
#include "kernel/codes8.h"
#include "kernel/convrot.h"
#include "kernel/crc.h"
#include "kernel/fp8.h"
#include "kernel/int8_row.h"
#include "kernel/iq_grids.h"
#include "kernel/nan.h"
#include "kernel/packs.h"
#include "kernel/round.h"
#include "kernel/transpose.h"
#include "kernel/widen.h"

#if defined(__x86_64__)
#include "kernel/x86/x86.h"
#endif

#include <assert.h>
#include <float.h>
#include <limits.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* Refuses hosts on which output bytes would silently differ. Kernels store words in host order, so a big-endian host (s390x)
 * would swap every element. If FLT_EVAL_METHOD is not 0 (i386 and its x87), a product of floats is rounded twice. Element
 * counts of 64 bits in a file are converted to size_t here: a block size of 2^32 + 64 would become 64. To port to such a
 * host, store through base/bytes.h, build with -msse2 -mfpmath=sse, check the casts, and run the unit tests of the kernels. */
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "amn has run on little-endian hosts only"
#endif
_Static_assert(FLT_EVAL_METHOD == 0, "amn needs arithmetic of floats in floats");
_Static_assert(sizeof(size_t) >= sizeof(uint64_t), "amn has run on 64-bit hosts only");
_Static_assert(CHAR_BIT == 8 && FLT_MANT_DIG == 24 && FLT_MAX_EXP == 128, "amn needs bytes of 8 bits, and IEEE 754 floats");

const struct kernels kernels_scalar = {
    .name = "scalar",
    .round_bf16 = round_bf16,
    .round_f16 = round_f16,
    .round_int8 = round_int8,
    .widen = {
        [DTYPE_F64] = widen_f64,                [DTYPE_F32] = widen_f32,
        [DTYPE_F16] = widen_f16,                [DTYPE_BF16] = widen_bf16,
    },
    .block_f32 = {
        [DTYPE_Q4_0] = q4_0_dequantize,         [DTYPE_Q4_1] = q4_1_dequantize,
        [DTYPE_Q5_0] = q5_0_dequantize,         [DTYPE_Q5_1] = q5_1_dequantize,
        [DTYPE_Q8_0] = q8_0_dequantize,         [DTYPE_Q8_1] = q8_1_dequantize,
        [DTYPE_Q2_K] = q2_k_dequantize,         [DTYPE_Q3_K] = q3_k_dequantize,
        [DTYPE_Q4_K] = q4_k_dequantize,         [DTYPE_Q5_K] = q5_k_dequantize,
        [DTYPE_Q6_K] = q6_k_dequantize,         [DTYPE_Q8_K] = q8_k_dequantize,
        [DTYPE_IQ2_XXS] = iq2_xxs_dequantize,   [DTYPE_IQ2_XS] = iq2_xs_dequantize,
        [DTYPE_IQ3_XXS] = iq3_xxs_dequantize,   [DTYPE_IQ1_S] = iq1_s_dequantize,
        [DTYPE_IQ4_NL] = iq4_nl_dequantize,     [DTYPE_IQ3_S] = iq3_s_dequantize,
        [DTYPE_IQ2_S] = iq2_s_dequantize,       [DTYPE_IQ4_XS] = iq4_xs_dequantize,
        [DTYPE_IQ1_M] = iq1_m_dequantize,       [DTYPE_TQ1_0] = tq1_0_dequantize,
        [DTYPE_TQ2_0] = tq2_0_dequantize,       [DTYPE_MXFP4] = mxfp4_dequantize,
        [DTYPE_NVFP4] = nvfp4_dequantize,       [DTYPE_Q1_0] = q1_0_dequantize,
        [DTYPE_Q2_0] = q2_0_dequantize,
        [DTYPE_Q6_0] = q6_0_dequantize,         [DTYPE_PQ2_0] = pq2_0_dequantize,
        [DTYPE_PTQ1_0] = ptq1_0_dequantize,     [DTYPE_IQ2_K] = iq2_k_dequantize,
        [DTYPE_IQ3_K] = iq3_k_dequantize,       [DTYPE_IQ4_K] = iq4_k_dequantize,
        [DTYPE_IQ5_K] = iq5_k_dequantize,       [DTYPE_IQ6_K] = iq6_k_dequantize,
    },
    .row_f32 = {
        [DTYPE_IQ4_KS] = iq4_ks_dequantize,     [DTYPE_IQ2_KS] = iq2_ks_dequantize,
        [DTYPE_IQ4_KSS] = iq4_kss_dequantize,   [DTYPE_IQ5_KS] = iq5_ks_dequantize,
        [DTYPE_IQ3_KS] = iq3_ks_dequantize,     [DTYPE_IQ2_KL] = iq2_kl_dequantize,
        [DTYPE_IQ1_KT] = iq1_kt_dequantize,     [DTYPE_IQ2_KT] = iq2_kt_dequantize,
        [DTYPE_IQ3_KT] = iq3_kt_dequantize,     [DTYPE_IQ4_KT] = iq4_kt_dequantize,
        [DTYPE_IQ1_S_R4] = iq1_s_r4_dequantize, [DTYPE_IQ1_M_R4] = iq1_m_r4_dequantize,
        [DTYPE_IQ2_K_R4] = iq2_k_r4_dequantize, [DTYPE_IQ3_K_R4] = iq3_k_r4_dequantize,
        [DTYPE_IQ4_K_R4] = iq4_k_r4_dequantize, [DTYPE_IQ5_K_R4] = iq5_k_r4_dequantize,
        [DTYPE_IQ4_KS_R4] = iq4_ks_r4_dequantize,   [DTYPE_IQ5_KS_R4] = iq5_ks_r4_dequantize,
    },
    .fp8_f32 = fp8_f32,
    .codes4_f32 = codes4_f32,
    .codes4_lanes_f32 = codes4_lanes_f32,
    .codes8_f32 = codes8_f32,
    .affine_f32 = affine_f32,
    .bits_stream = bits_stream,
    .bits_lane = bits_lane,
    .bits_blocks = bits_blocks,
    .bits_table = bits_table,
    .bits_found = bits_found,
    .convrot_f32 = convrot_f32,
    .packs = packs,
    .lowrank_product = lowrank_product,
    .lowrank_add = lowrank_add,
    .int8_row_f32 = int8_row_f32,
    .transpose = transpose,
    .crc = crc_add,
    .wide_from = wide_from,
    .wide_to = wide_to,
    .wide_beyond = wide_beyond,
};

bool
kernels_have_avx2(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;                    /* clang's builtin does not know F16C */

    return __builtin_cpu_supports("avx2") && __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) && (c & bit_FMA)
        && (c & bit_PCLMUL);
#else
    return false;
#endif
}

const struct kernels *
kernels_choose(const struct kernels *scalar, const struct kernels *avx2, const char *amn_cpu, struct err *err)
{
    const struct kernels *fast = NULL;
    if (avx2->name != NULL)
        fast = avx2;

    fp8_build();
    iq_grids_build();
    if (amn_cpu == NULL || amn_cpu[0] == '\0')              /* an empty variable counts as unset */
        return fast != NULL ? fast : scalar;
    if (strcmp(amn_cpu, "scalar") == 0)
        return scalar;
    if (strcmp(amn_cpu, "avx2") != 0)
        err_set(err, ERR_USAGE, "unknown AMN_CPU '%s': expected scalar or avx2", amn_cpu);
    else if (fast == NULL)
        err_set(err, ERR_UNSUPPORTED, "AMN_CPU=avx2 is not supported by this CPU");
    else
        return fast;
    return NULL;
}

const struct kernels *
kernels_values(const char *amn_cpu, struct err *err)
{
    static struct kernels fast;
#if defined(__x86_64__)
    if (kernels_have_avx2()) {
        fast = kernels_scalar;
        kernels_use_avx2(&fast);
    }
#endif
    return kernels_choose(&kernels_scalar, &fast, amn_cpu, err);
}

/* Floats between decoding and rounding: they stay in L1, and two buffers of CAST fit in 8 KiB of stack. */
enum { PIECE = 1024, CAST = 960 };

/* Decodes nblocks blocks: with row_f32 if `at` is not NULL, else with block_f32. */
static void
decode_f32(const struct kernels *k, enum dtype dtype, float *restrict y, const uint8_t *restrict src, size_t nblocks,
    const struct kernel_row *at)
{
    if (at != NULL)
        k->row_f32[dtype](y, src, nblocks, at);
    else
        k->block_f32[dtype](y, src, nblocks);
}

/* Decodes nblocks blocks through floats, PIECE at a time. */
static void
decode_pieces(const struct kernels *k, enum dtype dtype, enum dtype to, uint16_t *restrict y, const uint8_t *restrict src,
    size_t nblocks, const struct kernel_row *at)
{
    kernel_round16 *round = to == DTYPE_BF16 ? k->round_bf16 : k->round_f16;
    size_t elems = dtype_facts(dtype)->elems, step = dtype_block_step(dtype), now;
    float piece[PIECE];

    for (; nblocks > 0; nblocks -= now) {
        now = (size_t)num_min(nblocks, PIECE / elems);
        decode_f32(k, dtype, piece, src, now, at);
        round(y, piece, now * elems);
        y += now * elems;
        src += now * step;
    }
}

void
kernels_block(const struct kernels *k, enum dtype dtype, enum dtype to, void *restrict y,
    const uint8_t *restrict src, size_t nblocks)
{
    assert(dtype_facts(dtype)->elems <= PIECE && (to == DTYPE_F32 || to == DTYPE_BF16 || to == DTYPE_F16));
    if (to == DTYPE_F32)
        k->block_f32[dtype](y, src, nblocks);
    else if (to == DTYPE_BF16 && k->block_bf16[dtype] != NULL)
        k->block_bf16[dtype](y, src, nblocks);
    else
        decode_pieces(k, dtype, to, y, src, nblocks, NULL);
}

void
kernels_row(const struct kernels *k, enum dtype dtype, enum dtype to, void *restrict y,
    const uint8_t *restrict src, size_t nblocks, const struct kernel_row *at)
{
    assert(dtype_facts(dtype)->elems <= PIECE && (to == DTYPE_F32 || to == DTYPE_BF16 || to == DTYPE_F16));
    if (to == DTYPE_F32)
        k->row_f32[dtype](y, src, nblocks, at);
    else if (to == DTYPE_BF16 && k->row_bf16[dtype] != NULL)
        k->row_bf16[dtype](y, src, nblocks, at);
    else
        decode_pieces(k, dtype, to, y, src, nblocks, at);
}

void
kernels_round(const struct kernels *k, enum dtype to, void *restrict y, float *restrict x, size_t n)
{
    assert(to == DTYPE_F32 || to == DTYPE_BF16 || to == DTYPE_F16);
    if (to == DTYPE_BF16)
        k->round_bf16(y, x, n);
    else if (to == DTYPE_F16)
        k->round_f16(y, x, n);
    else if (n > 0) {
        if (!k->raw)
            nan_canonical_all(x, n);
        memcpy(y, x, n * sizeof *x);
    }
}

void
kernels_cast(const struct kernels *k, enum dtype from, enum dtype to, uint8_t *restrict y, const uint8_t *restrict x,
    size_t n)
{
    float floats[CAST], out[CAST];              /* kernels store whole elements */
    for (size_t now; n != 0; n -= now) {
        now = (size_t)num_min(n, CAST);
        k->widen[from](floats, x, now);
        kernels_round(k, to, out, floats, now);
        memcpy(y, out, now * dtype_facts(to)->bytes);
        y += now * dtype_facts(to)->bytes;
        x += now * dtype_facts(from)->bytes;
    }
}
