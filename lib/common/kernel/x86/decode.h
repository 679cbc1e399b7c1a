/* decode: unpacked blocks to F32 and BF16, and the kernels made so: to F32 every block type, to BF16 those that
 * gain nothing from a table of their values. avx2_blocks.c and avx512_blocks.c include this after saying how 32
 * codes are multiplied and written:
 *
 *     emit32(y, format, q, f, canonical)
 *         y           32 elements of `format`
 *         q           32 codes
 *         f           their factors
 *         canonical   some product may be NaN */
#ifndef KERNEL_X86_DECODE_H
#define KERNEL_X86_DECODE_H

#include "kernel/kernels.h"
#include "kernel/x86/factors.h"
#include "kernel/x86/unpack_iq.h"
#include "kernel/x86/unpack_k.h"
#include "kernel/x86/unpack_q.h"

/* What a decoder needs to know of a type. Always a constant once inlined. */
struct codec {
    unpack_fn *unpack;
    int elems, bytes;
    int group;                  /* elements per scale */
    bool has_min;
};

static ALWAYS_INLINE void
emit_block(void *y, const enum format format, const struct unpacked *u, const struct codec c, const bool canonical)
{
    const size_t size = size_of(format);

    for (int e = 0; e < c.elems; e += 32) {
        int g = e / c.group, h = (e + 16) / c.group;
        struct factors f = { c.has_min, { u->scale[g], u->scale[h] }, { 0, 0 } };

        if (c.has_min) {
            f.min[0] = u->min[g];
            f.min[1] = u->min[h];
        }
        emit32((char *)y + (size_t)e * size, format, u->codes + e, f, canonical);
    }
}

static ALWAYS_INLINE void
decode(void *restrict y, const enum format format, const uint8_t *restrict src, size_t nblocks, const struct codec c)
{
    const size_t size = size_of(format);
    struct unpacked u;
    char *to = y;

    u.codes = u.q;
    for (; nblocks > 0; nblocks--, src += c.bytes, to += (size_t)c.elems * size) {
        bool finite = c.unpack(&u, src);

        fetch_ahead(src, c.bytes);
        if (c.elems > c.group)
            keep_in_memory(&u);
        if (finite)
            emit_block(to, format, &u, c, false);
        else
            emit_block(to, format, &u, c, true);
    }
}

static const struct codec Q4_0 = { q4_0_unpack, Q4_0_ELEMS, Q4_0_BYTES, 32, false };
static const struct codec Q4_1 = { q4_1_unpack, Q4_1_ELEMS, Q4_1_BYTES, 32, true };
static const struct codec Q5_0 = { q5_0_unpack, Q5_0_ELEMS, Q5_0_BYTES, 32, false };
static const struct codec Q5_1 = { q5_1_unpack, Q5_1_ELEMS, Q5_1_BYTES, 32, true };
static const struct codec Q8_0 = { q8_0_unpack, Q8_0_ELEMS, Q8_0_BYTES, 32, false };
static const struct codec Q8_1 = { q8_1_unpack, Q8_1_ELEMS, Q8_1_BYTES, 32, false };
static const struct codec Q1_0 = { q1_0_unpack, Q1_0_ELEMS, Q1_0_BYTES, Q1_0_ELEMS, false };
static const struct codec Q2_0 = { q2_0_unpack, Q2_0_ELEMS, Q2_0_BYTES, Q2_0_ELEMS, false };
static const struct codec Q2_K = { q2_k_unpack, Q2_K_ELEMS, Q2_K_BYTES, 16, true };
static const struct codec Q3_K = { q3_k_unpack, Q3_K_ELEMS, Q3_K_BYTES, 16, false };
static const struct codec Q4_K = { q4_k_unpack, Q4_K_ELEMS, Q4_K_BYTES, 32, true };
static const struct codec Q5_K = { q5_k_unpack, Q5_K_ELEMS, Q5_K_BYTES, 32, true };
static const struct codec Q6_K = { q6_k_unpack, Q6_K_ELEMS, Q6_K_BYTES, 16, false };
static const struct codec Q8_K = { q8_k_unpack, Q8_K_ELEMS, Q8_K_BYTES, QK_K, false };
static const struct codec IQ2_XXS = { iq2_xxs_unpack, IQ2_XXS_ELEMS, IQ2_XXS_BYTES, 32, false };
static const struct codec IQ2_XS = { iq2_xs_unpack, IQ2_XS_ELEMS, IQ2_XS_BYTES, 16, false };
static const struct codec IQ2_S = { iq2_s_unpack, IQ2_S_ELEMS, IQ2_S_BYTES, 16, false };
static const struct codec IQ3_XXS = { iq3_xxs_unpack, IQ3_XXS_ELEMS, IQ3_XXS_BYTES, 32, false };
static const struct codec IQ3_S = { iq3_s_unpack, IQ3_S_ELEMS, IQ3_S_BYTES, 32, false };
static const struct codec IQ1_S = { iq1_s_unpack, IQ1_S_ELEMS, IQ1_S_BYTES, 32, false };
static const struct codec IQ1_M = { iq1_m_unpack, IQ1_M_ELEMS, IQ1_M_BYTES, 16, false };
static const struct codec IQ4_NL = { iq4_nl_unpack, IQ4_NL_ELEMS, IQ4_NL_BYTES, 32, false };
static const struct codec IQ4_XS = { iq4_xs_unpack, IQ4_XS_ELEMS, IQ4_XS_BYTES, 32, false };
static const struct codec TQ1_0 = { tq1_0_unpack, TQ1_0_ELEMS, TQ1_0_BYTES, QK_K, false };
static const struct codec TQ2_0 = { tq2_0_unpack, TQ2_0_ELEMS, TQ2_0_BYTES, QK_K, false };
static const struct codec MXFP4 = { mxfp4_unpack, MXFP4_ELEMS, MXFP4_BYTES, 32, false };
static const struct codec NVFP4 = { nvfp4_unpack, NVFP4_ELEMS, NVFP4_BYTES, 16, false };

static ALWAYS_INLINE void
to_f32(float *restrict y, const uint8_t *restrict src, size_t nblocks, const struct codec c)
{
    decode(y, TO_F32, src, nblocks, c);
}

static ALWAYS_INLINE void
to_bf16(uint16_t *restrict y, const uint8_t *restrict src, size_t nblocks, const struct codec c)
{
    decode(y, TO_BF16, src, nblocks, c);
}

static void q4_0_f32(float *restrict y, const uint8_t *restrict s, size_t n) { to_f32(y, s, n, Q4_0); }
static void q4_1_f32(float *restrict y, const uint8_t *restrict s, size_t n) { to_f32(y, s, n, Q4_1); }
static void q5_0_f32(float *restrict y, const uint8_t *restrict s, size_t n) { to_f32(y, s, n, Q5_0); }
static void q5_1_f32(float *restrict y, const uint8_t *restrict s, size_t n) { to_f32(y, s, n, Q5_1); }
static void q8_0_f32(float *restrict y, const uint8_t *restrict s, size_t n) { to_f32(y, s, n, Q8_0); }
static void q8_1_f32(float *restrict y, const uint8_t *restrict s, size_t n) { to_f32(y, s, n, Q8_1); }
static void q1_0_f32(float *restrict y, const uint8_t *restrict s, size_t n) { to_f32(y, s, n, Q1_0); }
static void q2_0_f32(float *restrict y, const uint8_t *restrict s, size_t n) { to_f32(y, s, n, Q2_0); }
static void q2_k_f32(float *restrict y, const uint8_t *restrict s, size_t n) { to_f32(y, s, n, Q2_K); }
static void q3_k_f32(float *restrict y, const uint8_t *restrict s, size_t n) { to_f32(y, s, n, Q3_K); }
static void q4_k_f32(float *restrict y, const uint8_t *restrict s, size_t n) { to_f32(y, s, n, Q4_K); }
static void q5_k_f32(float *restrict y, const uint8_t *restrict s, size_t n) { to_f32(y, s, n, Q5_K); }
static void q6_k_f32(float *restrict y, const uint8_t *restrict s, size_t n) { to_f32(y, s, n, Q6_K); }
static void q8_k_f32(float *restrict y, const uint8_t *restrict s, size_t n) { to_f32(y, s, n, Q8_K); }
static void iq2_xxs_f32(float *restrict y, const uint8_t *restrict s, size_t n) { to_f32(y, s, n, IQ2_XXS); }
static void iq2_xs_f32(float *restrict y, const uint8_t *restrict s, size_t n) { to_f32(y, s, n, IQ2_XS); }
static void iq2_s_f32(float *restrict y, const uint8_t *restrict s, size_t n) { to_f32(y, s, n, IQ2_S); }
static void iq3_xxs_f32(float *restrict y, const uint8_t *restrict s, size_t n) { to_f32(y, s, n, IQ3_XXS); }
static void iq3_s_f32(float *restrict y, const uint8_t *restrict s, size_t n) { to_f32(y, s, n, IQ3_S); }
static void iq1_s_f32(float *restrict y, const uint8_t *restrict s, size_t n) { to_f32(y, s, n, IQ1_S); }
static void iq1_m_f32(float *restrict y, const uint8_t *restrict s, size_t n) { to_f32(y, s, n, IQ1_M); }
static void iq4_nl_f32(float *restrict y, const uint8_t *restrict s, size_t n) { to_f32(y, s, n, IQ4_NL); }
static void iq4_xs_f32(float *restrict y, const uint8_t *restrict s, size_t n) { to_f32(y, s, n, IQ4_XS); }
static void tq1_0_f32(float *restrict y, const uint8_t *restrict s, size_t n) { to_f32(y, s, n, TQ1_0); }
static void tq2_0_f32(float *restrict y, const uint8_t *restrict s, size_t n) { to_f32(y, s, n, TQ2_0); }
static void mxfp4_f32(float *restrict y, const uint8_t *restrict s, size_t n) { to_f32(y, s, n, MXFP4); }
static void nvfp4_f32(float *restrict y, const uint8_t *restrict s, size_t n) { to_f32(y, s, n, NVFP4); }

/* Not here: the types of nibbles.h and of *_groups.c. */
static void q5_0_bf16(uint16_t *restrict y, const uint8_t *restrict s, size_t n) { to_bf16(y, s, n, Q5_0); }
static void q5_1_bf16(uint16_t *restrict y, const uint8_t *restrict s, size_t n) { to_bf16(y, s, n, Q5_1); }
static void q8_0_bf16(uint16_t *restrict y, const uint8_t *restrict s, size_t n) { to_bf16(y, s, n, Q8_0); }
static void q8_1_bf16(uint16_t *restrict y, const uint8_t *restrict s, size_t n) { to_bf16(y, s, n, Q8_1); }
static void q1_0_bf16(uint16_t *restrict y, const uint8_t *restrict s, size_t n) { to_bf16(y, s, n, Q1_0); }
static void q2_0_bf16(uint16_t *restrict y, const uint8_t *restrict s, size_t n) { to_bf16(y, s, n, Q2_0); }
static void q5_k_bf16(uint16_t *restrict y, const uint8_t *restrict s, size_t n) { to_bf16(y, s, n, Q5_K); }
static void q6_k_bf16(uint16_t *restrict y, const uint8_t *restrict s, size_t n) { to_bf16(y, s, n, Q6_K); }
static void q8_k_bf16(uint16_t *restrict y, const uint8_t *restrict s, size_t n) { to_bf16(y, s, n, Q8_K); }
static void iq2_xxs_bf16(uint16_t *restrict y, const uint8_t *restrict s, size_t n) { to_bf16(y, s, n, IQ2_XXS); }
static void iq2_xs_bf16(uint16_t *restrict y, const uint8_t *restrict s, size_t n) { to_bf16(y, s, n, IQ2_XS); }
static void iq2_s_bf16(uint16_t *restrict y, const uint8_t *restrict s, size_t n) { to_bf16(y, s, n, IQ2_S); }
static void iq3_xxs_bf16(uint16_t *restrict y, const uint8_t *restrict s, size_t n) { to_bf16(y, s, n, IQ3_XXS); }
static void iq3_s_bf16(uint16_t *restrict y, const uint8_t *restrict s, size_t n) { to_bf16(y, s, n, IQ3_S); }
static void iq1_s_bf16(uint16_t *restrict y, const uint8_t *restrict s, size_t n) { to_bf16(y, s, n, IQ1_S); }
static void iq1_m_bf16(uint16_t *restrict y, const uint8_t *restrict s, size_t n) { to_bf16(y, s, n, IQ1_M); }
static void tq1_0_bf16(uint16_t *restrict y, const uint8_t *restrict s, size_t n) { to_bf16(y, s, n, TQ1_0); }
static void tq2_0_bf16(uint16_t *restrict y, const uint8_t *restrict s, size_t n) { to_bf16(y, s, n, TQ2_0); }

static void
blocks_use(struct kernels *k)
{
    k->block_f32[DTYPE_Q4_0] = q4_0_f32;
    k->block_f32[DTYPE_Q4_1] = q4_1_f32;
    k->block_f32[DTYPE_Q5_0] = q5_0_f32;
    k->block_f32[DTYPE_Q5_1] = q5_1_f32;
    k->block_f32[DTYPE_Q8_0] = q8_0_f32;
    k->block_f32[DTYPE_Q8_1] = q8_1_f32;
    k->block_f32[DTYPE_Q1_0] = q1_0_f32;
    k->block_f32[DTYPE_Q2_0] = q2_0_f32;
    k->block_f32[DTYPE_Q2_K] = q2_k_f32;
    k->block_f32[DTYPE_Q3_K] = q3_k_f32;
    k->block_f32[DTYPE_Q4_K] = q4_k_f32;
    k->block_f32[DTYPE_Q5_K] = q5_k_f32;
    k->block_f32[DTYPE_Q6_K] = q6_k_f32;
    k->block_f32[DTYPE_Q8_K] = q8_k_f32;
    k->block_f32[DTYPE_IQ2_XXS] = iq2_xxs_f32;
    k->block_f32[DTYPE_IQ2_XS] = iq2_xs_f32;
    k->block_f32[DTYPE_IQ2_S] = iq2_s_f32;
    k->block_f32[DTYPE_IQ3_XXS] = iq3_xxs_f32;
    k->block_f32[DTYPE_IQ3_S] = iq3_s_f32;
    k->block_f32[DTYPE_IQ1_S] = iq1_s_f32;
    k->block_f32[DTYPE_IQ1_M] = iq1_m_f32;
    k->block_f32[DTYPE_IQ4_NL] = iq4_nl_f32;
    k->block_f32[DTYPE_IQ4_XS] = iq4_xs_f32;
    k->block_f32[DTYPE_TQ1_0] = tq1_0_f32;
    k->block_f32[DTYPE_TQ2_0] = tq2_0_f32;
    k->block_f32[DTYPE_MXFP4] = mxfp4_f32;
    k->block_f32[DTYPE_NVFP4] = nvfp4_f32;
    k->block_bf16[DTYPE_Q5_0] = q5_0_bf16;
    k->block_bf16[DTYPE_Q5_1] = q5_1_bf16;
    k->block_bf16[DTYPE_Q8_0] = q8_0_bf16;
    k->block_bf16[DTYPE_Q8_1] = q8_1_bf16;
    k->block_bf16[DTYPE_Q1_0] = q1_0_bf16;
    k->block_bf16[DTYPE_Q2_0] = q2_0_bf16;
    k->block_bf16[DTYPE_Q5_K] = q5_k_bf16;
    k->block_bf16[DTYPE_Q6_K] = q6_k_bf16;
    k->block_bf16[DTYPE_Q8_K] = q8_k_bf16;
    k->block_bf16[DTYPE_IQ2_XXS] = iq2_xxs_bf16;
    k->block_bf16[DTYPE_IQ2_XS] = iq2_xs_bf16;
    k->block_bf16[DTYPE_IQ2_S] = iq2_s_bf16;
    k->block_bf16[DTYPE_IQ3_XXS] = iq3_xxs_bf16;
    k->block_bf16[DTYPE_IQ3_S] = iq3_s_bf16;
    k->block_bf16[DTYPE_IQ1_S] = iq1_s_bf16;
    k->block_bf16[DTYPE_IQ1_M] = iq1_m_bf16;
    k->block_bf16[DTYPE_TQ1_0] = tq1_0_bf16;
    k->block_bf16[DTYPE_TQ2_0] = tq2_0_bf16;
}

#endif
