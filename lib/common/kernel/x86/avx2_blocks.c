/* avx2_blocks: dequantizes the block types of ggml by unpacking and multiplying (emit.h). 4-bit types to BF16 are in
 * avx2_nibbles and avx2_groups, types of ik_llama.cpp in avx2_iqk. */
#if defined(__x86_64__)

#include "kernel/x86/x86_priv.h"

#include "kernel/x86/emit.h"
#include "kernel/x86/unpack_iq.h"
#include "kernel/x86/unpack_k.h"
#include "kernel/x86/unpack_q.h"

/* All types, with their elements per scale, and whether they have a minimum. Types listed for F32 only are dequantized to
 * BF16 in avx2_nibbles.c and avx2_groups.c. */
#define TYPES(BOTH, F32) \
    F32(q4_0, Q4_0, 32, false) \
    F32(q4_1, Q4_1, 32, true) \
    BOTH(q5_0, Q5_0, 32, false) \
    BOTH(q5_1, Q5_1, 32, true) \
    BOTH(q8_0, Q8_0, 32, false) \
    BOTH(q8_1, Q8_1, 32, false) \
    BOTH(q1_0, Q1_0, Q1_0_ELEMS, false) \
    BOTH(q2_0, Q2_0, Q2_0_ELEMS, false) \
    F32(q2_k, Q2_K, 16, true) \
    F32(q3_k, Q3_K, 16, false) \
    F32(q4_k, Q4_K, 32, true) \
    BOTH(q5_k, Q5_K, 32, true) \
    BOTH(q6_k, Q6_K, 16, false) \
    BOTH(q8_k, Q8_K, QK_K, false) \
    BOTH(iq2_xxs, IQ2_XXS, 32, false) \
    BOTH(iq2_xs, IQ2_XS, 16, false) \
    BOTH(iq2_s, IQ2_S, 16, false) \
    BOTH(iq3_xxs, IQ3_XXS, 32, false) \
    BOTH(iq3_s, IQ3_S, 32, false) \
    BOTH(iq1_s, IQ1_S, 32, false) \
    BOTH(iq1_m, IQ1_M, 16, false) \
    F32(iq4_nl, IQ4_NL, 32, false) \
    F32(iq4_xs, IQ4_XS, 32, false) \
    BOTH(tq1_0, TQ1_0, QK_K, false) \
    BOTH(tq2_0, TQ2_0, QK_K, false) \
    F32(mxfp4, MXFP4, 32, false) \
    F32(nvfp4, NVFP4, 16, false) \
    BOTH(q6_0, Q6_0, 32, false) \
    BOTH(pq2_0, PQ2_0, PQ2_0_ELEMS, false) \
    BOTH(ptq1_0, PTQ1_0, PTQ1_0_ELEMS, false)

#define TO(format, element, suffix, name, TYPE, group, has_min) \
    static void name##suffix(element *restrict y, const uint8_t *restrict src, size_t nblocks) \
    { \
        decode(y, format, src, nblocks, NULL, \
            (struct block_codec){ name##_unpack, TYPE##_ELEMS, TYPE##_BYTES, group, has_min }); \
    }
#define DEFINE_F32(...) TO(TO_F32, float, _f32, __VA_ARGS__)
#define DEFINE_BOTH(...) TO(TO_F32, float, _f32, __VA_ARGS__) TO(TO_BF16, uint16_t, _bf16, __VA_ARGS__)
TYPES(DEFINE_BOTH, DEFINE_F32)

#define USE_F32(name, TYPE, ...) k->block_f32[DTYPE_##TYPE] = name##_f32;
#define USE_BF16(name, TYPE, ...) k->block_bf16[DTYPE_##TYPE] = name##_bf16;
#define USE_NONE(...)

void
avx2_use_blocks(struct kernels *k)
{
    TYPES(USE_F32, USE_F32)
}

void
avx2_use_blocks_bf16(struct kernels *k)
{
    TYPES(USE_BF16, USE_NONE)
}

#endif
