/* avx2_iqk: dequantizes the types of ik_llama.cpp by unpacking and multiplying (emit.h), except IQ6_K, whose values come from a
 * polynomial, and IQ3_KT, whose zeros have signs. */
#if defined(__x86_64__)

#include "kernel/x86/x86_priv.h"

#include "kernel/round.h"
#include "kernel/x86/emit.h"
#include "kernel/x86/unpack_iqk.h"
#include "kernel/x86/unpack_r4.h"

/* Types with a factor in each block, and types whose rows have a prefix or are interleaved: elements per scale, rows that are
 * interleaved. */
#define BLOCKS(X) X(iq2_k, IQ2_K, 16, 1) X(iq3_k, IQ3_K, 16, 1) X(iq4_k, IQ4_K, 16, 1) X(iq5_k, IQ5_K, 16, 1)
#define ROWS(X) \
    X(iq4_ks, IQ4_KS, 32, 1) X(iq5_ks, IQ5_KS, 32, 1) X(iq4_kss, IQ4_KSS, 32, 1) X(iq2_ks, IQ2_KS, 32, 1) \
    X(iq3_ks, IQ3_KS, 32, 1) X(iq2_kl, IQ2_KL, 32, 1) X(iq1_kt, IQ1_KT, 32, 1) X(iq2_kt, IQ2_KT, 32, 1) \
    X(iq4_kt, IQ4_KT, 32, 1) X(iq1_s_r4, IQ1_S_R4, 32, 4) X(iq1_m_r4, IQ1_M_R4, 16, 4) X(iq2_k_r4, IQ2_K_R4, 16, 4) \
    X(iq3_k_r4, IQ3_K_R4, 16, 4) X(iq4_k_r4, IQ4_K_R4, 16, 4) X(iq5_k_r4, IQ5_K_R4, 16, 4) X(iq4_ks_r4, IQ4_KS_R4, 32, 4) \
    X(iq5_ks_r4, IQ5_KS_R4, 32, 4)

#define CODEC(name, TYPE, group, rows) (struct block_codec){ name##_unpack, TYPE##_ELEMS, (rows) * TYPE##_BYTES, group, false }
#define DEFINE_BLOCK(name, ...) \
    static void name##_f32(float *restrict y, const uint8_t *restrict src, size_t nblocks) \
    { \
        decode(y, TO_F32, src, nblocks, NULL, CODEC(name, __VA_ARGS__)); \
    } \
    static void name##_bf16(uint16_t *restrict y, const uint8_t *restrict src, size_t nblocks) \
    { \
        decode(y, TO_BF16, src, nblocks, NULL, CODEC(name, __VA_ARGS__)); \
    }
#define DEFINE_ROW(name, ...) \
    static void name##_f32(float *restrict y, const uint8_t *restrict src, size_t nblocks, const struct kernel_row *at) \
    { \
        decode(y, TO_F32, src, nblocks, at, CODEC(name, __VA_ARGS__)); \
    } \
    static void name##_bf16(uint16_t *restrict y, const uint8_t *restrict src, size_t nblocks, const struct kernel_row *at) \
    { \
        decode(y, TO_BF16, src, nblocks, at, CODEC(name, __VA_ARGS__)); \
    }
BLOCKS(DEFINE_BLOCK)
ROWS(DEFINE_ROW)

/* --- IQ3_KT */

/* Flips the signs of the 32 elements at y whose byte of `mask` is 0xFF. */
static ALWAYS_INLINE void
flip32(void *y, const enum avx2_to format, __m256i mask)
{
    uint8_t bytes[32];

    _mm256_storeu_si256((__m256i *)bytes, mask);
    for (int i = 0; i < (format == TO_F32 ? 4 : 2); i++) {
        __m256i *at = (__m256i *)y + i, sign = format == TO_F32
            ? _mm256_slli_epi32(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(bytes + 8 * i))), 31)
            : _mm256_slli_epi16(_mm256_cvtepi8_epi16(load128(bytes + 16 * i)), 15);

        _mm256_storeu_si256(at, _mm256_xor_si256(_mm256_loadu_si256(at), sign));
    }
}

/* A NaN must not get a sign, so factors that may yield one take the definition. */
static ALWAYS_INLINE void
iq3_kt(void *restrict y, const enum avx2_to format, const uint8_t *restrict src, size_t nblocks, const struct kernel_row *at)
{
    const size_t size = size_of(format);
    char *to = y;
    float v[QK_K];

    for (; nblocks > 0; nblocks--, src += IQ3_KT_BYTES, to += QK_K * size) {
        decode(to, format, src, 1, at, CODEC(iq3_kt, IQ3_KT, 32, 1));
        if ((bits_of_float(at->scale) & 0x7F800000u) < 0x7B000000u)
            for (int c = 0; c < 8; c++)
                flip32(to + 32 * (size_t)c * size, format, mask_of_bit(load256(src + 68), c));
        else if (format == TO_F32)
            iq3_kt_dequantize((float *)(void *)to, src, 1, at);
        else {
            iq3_kt_dequantize(v, src, 1, at);
            round_bf16((uint16_t *)(void *)to, v, QK_K);
        }
    }
}

static void
iq3_kt_f32(float *restrict y, const uint8_t *restrict src, size_t nblocks, const struct kernel_row *at)
{
    iq3_kt(y, TO_F32, src, nblocks, at);
}

static void
iq3_kt_bf16(uint16_t *restrict y, const uint8_t *restrict src, size_t nblocks, const struct kernel_row *at)
{
    iq3_kt(y, TO_BF16, src, nblocks, at);
}

/* --- IQ6_K */

/* The operations of the definition, in the same order, on eight codes */
static ALWAYS_INLINE __m256
polynomial(__m256i q, float factor, float second, bool canonical)
{
    __m256 x = _mm256_cvtepi32_ps(q), t = _mm256_mul_ps(x, _mm256_set1_ps(0.0011972f));

    t = _mm256_mul_ps(x, _mm256_add_ps(_mm256_set1_ps(-0.11218f), t));
    t = _mm256_mul_ps(x, _mm256_add_ps(_mm256_set1_ps(6.2568f), t));
    t = _mm256_add_ps(_mm256_add_ps(_mm256_set1_ps(-127.0f), t), _mm256_set1_ps(second));
    t = _mm256_mul_ps(_mm256_set1_ps(factor), t);
    if (canonical)
        return canonical256(t);
    return t;
}

/* A group of 16 */
static ALWAYS_INLINE void
iq6_group(void *y, const enum avx2_to format, const int8_t *q, float factor, float second, bool canonical)
{
    __m128i codes = load128((const uint8_t *)q);

    if (format == TO_F32) {
        _mm256_storeu_ps(y, polynomial(_mm256_cvtepi8_epi32(codes), factor, second, canonical));
        _mm256_storeu_ps((float *)y + 8, polynomial(_mm256_cvtepi8_epi32(_mm_srli_si128(codes, 8)), factor, second, canonical));
        return;
    }
    __m256i wide = _mm256_cvtepi8_epi16(codes);
    __m256i even = _mm256_and_si256(wide, _mm256_set1_epi32(0xFFFF)), odds = _mm256_srli_epi32(wide, 16);

    even = bf16_high256(polynomial(even, factor, second, canonical));
    odds = bf16_high256(polynomial(odds, factor, second, canonical));
    _mm256_storeu_si256(y, interleave256(even, odds));
}

static ALWAYS_INLINE void
iq6_k(void *restrict y, const enum avx2_to format, const uint8_t *restrict src, size_t nblocks)
{
    const size_t size = size_of(format);
    struct block_unpacked u;
    char *to = y;

    for (; nblocks > 0; nblocks--, src += IQ6_K_BYTES, to += QK_K * size) {
        unsigned x = load_le16(src + 2);
        bool finite = half_finite(src);

        for (int c = 0; c < 8; c++)
            put(&u, c, _mm256_or_si256(low4(src + 20, c), _mm256_slli_epi16(low2(src + 148, c), 4)));
        scales16(u.scale, half_at(src), load128(src + 4), true);
        keep_in_memory(&u);
        fetch_ahead(src, IQ6_K_BYTES);
        for (int g = 0; g < 16; g++)
            iq6_group(to + 16 * (size_t)g * size, format, u.q + 16 * g, u.scale[g], (float)(x >> g & 1), !finite);
    }
}

static void
iq6_k_f32(float *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    iq6_k(y, TO_F32, src, nblocks);
}

static void
iq6_k_bf16(uint16_t *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    iq6_k(y, TO_BF16, src, nblocks);
}

#define USE_BLOCK_F32(name, TYPE, ...) k->block_f32[DTYPE_##TYPE] = name##_f32;
#define USE_BLOCK_BF16(name, TYPE, ...) k->block_bf16[DTYPE_##TYPE] = name##_bf16;
#define USE_ROW_F32(name, TYPE, ...) k->row_f32[DTYPE_##TYPE] = name##_f32;
#define USE_ROW_BF16(name, TYPE, ...) k->row_bf16[DTYPE_##TYPE] = name##_bf16;

void
avx2_use_iqk(struct kernels *k)
{
    BLOCKS(USE_BLOCK_F32)
    USE_BLOCK_F32(iq6_k, IQ6_K)
    ROWS(USE_ROW_F32)
    USE_ROW_F32(iq3_kt, IQ3_KT)
}

void
avx2_use_iqk_bf16(struct kernels *k)
{
    BLOCKS(USE_BLOCK_BF16)
    USE_BLOCK_BF16(iq6_k, IQ6_K)
    ROWS(USE_ROW_BF16)
    USE_ROW_BF16(iq3_kt, IQ3_KT)
}

#endif
