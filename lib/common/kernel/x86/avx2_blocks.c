/* avx2_blocks: dequantizes the block types of ggml by unpacking and multiplying, 16 codes at a time. 4-bit types to BF16 are
 * in avx2_nibbles and avx2_groups.
 *
 * For BF16 the codes are widened to 16 bits. The even ones are then the lower halves of 32-bit lanes, the odd ones the upper
 * halves, and the rounded products return to the same halves without a shuffle.
 */
#if defined(__x86_64__)

#include "kernel/x86/x86_priv.h"

#include "kernel/x86/avx2_inline.h"
#include "kernel/x86/unpack_iq.h"
#include "kernel/x86/unpack_k.h"
#include "kernel/x86/unpack_q.h"

/* Dequantizes 32 codes: y = scale * q - min; [0] for codes 0..15, [1] for 16..31. */
struct block_factors {
    bool has_min;
    float scale[2], min[2];
};

static ALWAYS_INLINE __m256
product(__m256i q, float scale, float min, bool has_min, bool canonical)
{
    __m256 v = _mm256_mul_ps(_mm256_cvtepi32_ps(q), _mm256_set1_ps(scale));

    if (has_min)
        v = _mm256_sub_ps(v, _mm256_set1_ps(min));
    return canonical ? canonical256(v) : v;
}

/* `canonical`: a product may be NaN. */
static ALWAYS_INLINE void
emit32(void *y, enum avx2_to format, const int8_t *q, const struct block_factors f, bool canonical)
{
    if (format == TO_F32) {
        for (int i = 0; i < 4; i++) {
            __m256i wide = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(q + 8 * i)));

            _mm256_storeu_ps((float *)y + 8 * i, product(wide, f.scale[i / 2], f.min[i / 2], f.has_min, canonical));
        }
        return;
    }
    for (int i = 0; i < 2; i++) {
        __m256i wide = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(q + 16 * i)));
        __m256i even = _mm256_srai_epi32(_mm256_slli_epi32(wide, 16), 16), odd = _mm256_srai_epi32(wide, 16);

        even = bf16_high256(product(even, f.scale[i], f.min[i], f.has_min, canonical));
        odd = bf16_high256(product(odd, f.scale[i], f.min[i], f.has_min, canonical));
        _mm256_storeu_si256((__m256i *)y + i, interleave256(even, odd));
    }
}

/* Parameters of a type for the decoder. Always a constant once inlined. */
struct block_codec {
    unpack_fn *unpack;
    int elems, bytes;
    int group;                  /* elements per scale */
    bool has_min;
};

static ALWAYS_INLINE void
emit_block(void *y, const enum avx2_to format, const struct block_unpacked *u, const struct block_codec c, const bool canonical)
{
    const size_t size = size_of(format);

    for (int e = 0; e < c.elems; e += 32) {
        int g = e / c.group, h = (e + 16) / c.group;
        struct block_factors f = { c.has_min, { u->scale[g], u->scale[h] }, { 0, 0 } };

        if (c.has_min) {
            f.min[0] = u->min[g];
            f.min[1] = u->min[h];
        }
        emit32((char *)y + (size_t)e * size, format, u->codes + e, f, canonical);
    }
}

static ALWAYS_INLINE void
decode(void *restrict y, const enum avx2_to format, const uint8_t *restrict src, size_t nblocks, const struct block_codec c)
{
    const size_t size = size_of(format);
    struct block_unpacked u;
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
    F32(nvfp4, NVFP4, 16, false)

#define TO(format, element, suffix, name, TYPE, group, has_min) \
    static void name##suffix(element *restrict y, const uint8_t *restrict src, size_t nblocks) \
    { \
        decode(y, format, src, nblocks, (struct block_codec){ name##_unpack, TYPE##_ELEMS, TYPE##_BYTES, group, has_min }); \
    }
#define DEFINE_F32(...) TO(TO_F32, float, _f32, __VA_ARGS__)
#define DEFINE_BOTH(...) TO(TO_F32, float, _f32, __VA_ARGS__) TO(TO_BF16, uint16_t, _bf16, __VA_ARGS__)
TYPES(DEFINE_BOTH, DEFINE_F32)

#define USE_F32(name, TYPE, ...) k->block_f32[DTYPE_##TYPE] = name##_f32;
#define USE_BOTH(name, TYPE, ...) USE_F32(name, TYPE) k->block_bf16[DTYPE_##TYPE] = name##_bf16;

void
avx2_use_blocks(struct kernels *k)
{
    TYPES(USE_BOTH, USE_F32)
}

#endif
