/* avx2_nibbles: types with 4-bit codes and one scale for 32 of them, to BF16. Such a group has at most 16 values: they are
 * rounded once, and their low and high bytes are two tables for the byte shuffle. */
#if defined(__x86_64__)

#include "kernel/x86/x86_priv.h"

#include "kernel/x86/avx2_inline.h"
#include "kernel/x86/unpack_k.h"
#include "kernel/x86/unpack_q.h"

/* Parameters of a group of 4-bit codes: y = scale * value - min. */
struct nibble_pick {
    bool finite;                /* both factors are finite, so no result is NaN */
    bool has_min;
    float scale, min;
};

/* The 16 numbers of the codes in the order of words16_rounded(): [0] has 0..3 and 8..11, [1] 4..7 and 12..15. */
struct nibble_values {
    __m256 v[2];
};

static inline struct nibble_values
values_of(const int8_t table[16])
{
    __m128i t = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)table), 0xD8);

    return (struct nibble_values){ {
        _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(t)),
        _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(t, 8))),
    } };
}

static ALWAYS_INLINE struct words16
table_of(const struct nibble_values *values, const struct nibble_pick f)
{
    __m256 v[2];

    for (int i = 0; i < 2; i++) {
        v[i] = _mm256_mul_ps(values->v[i], _mm256_set1_ps(f.scale));
        if (f.has_min)
            v[i] = _mm256_sub_ps(v[i], _mm256_set1_ps(f.min));
        if (!f.finite)
            v[i] = canonical256(v[i]);
    }
    return words16_rounded(v[0], v[1]);
}

/* Dequantizes two groups: y[i] are 32 elements from the nibbles of the 16 bytes at qs[i], low ones first, with the factors
 * f[i]. */
static ALWAYS_INLINE void
pick_pair(uint16_t *const y[2], const uint8_t *const qs[2], const struct nibble_values *values, const struct nibble_pick f[2])
{
    const __m256i shift = _mm256_set_epi64x(4, 0, 4, 0), nibble = _mm256_set1_epi8(15);

    for (int i = 0; i < 2; i++) {
        struct words16 table = table_of(values, f[i]);
        __m256i bytes = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)qs[i]));
        __m256i code = _mm256_srlv_epi64(_mm256_permute4x64_epi64(bytes, 0x50), shift);

        pick32(y[i], &table, _mm256_and_si256(code, nibble), _mm256_setzero_si256());
    }
}

/* Dequantizes two groups from 32 bytes: y[0] from the low nibbles, y[1] from the high ones. */
static ALWAYS_INLINE void
pick_planes(uint16_t *const y[2], const uint8_t *qs, const struct nibble_values *values, const struct nibble_pick f[2])
{
    const __m256i nibble = _mm256_set1_epi8(15);
    __m256i bytes = _mm256_permute4x64_epi64(_mm256_loadu_si256((const __m256i *)qs), 0xD8);

    for (int i = 0; i < 2; i++) {
        struct words16 table = table_of(values, f[i]);

        pick32(y[i], &table, _mm256_and_si256(_mm256_srli_epi16(bytes, 4 * i), nibble), _mm256_setzero_si256());
    }
}

static const int8_t signed_values[16] = { -8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7 };
static const int8_t unsigned_values[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

/* Reads the factors of one block. Returns false if one is infinite or NaN. */
typedef bool factors_fn(struct block_unpacked *u, const uint8_t *src);

/* Parameters of a type with 32-element blocks. Always a constant once inlined. */
struct nibble_type {
    factors_fn *factors;
    int bytes, qs;              /* of a block; offset of its codes */
    bool has_min;
};

static ALWAYS_INLINE struct nibble_pick
pick_of(factors_fn *factors, const uint8_t *src, bool has_min)
{
    struct block_unpacked u;
    struct nibble_pick f;

    f.finite = factors(&u, src);
    f.has_min = has_min;
    f.scale = u.scale[0];
    if (has_min)
        f.min = u.min[0];
    else
        f.min = 0;
    return f;
}

static ALWAYS_INLINE void
pick_blocks(uint16_t *restrict y, const uint8_t *restrict src, size_t nblocks, const int8_t table[16],
    const struct nibble_type c)
{
    const struct nibble_values values = values_of(table);
    uint16_t unused[32];

    for (; nblocks >= 2; nblocks -= 2, src += 2 * c.bytes, y += 64) {
        fetch_ahead(src, 2 * c.bytes);
        pick_pair((uint16_t *[]){ y, y + 32 }, (const uint8_t *[]){ src + c.qs, src + c.bytes + c.qs }, &values,
            (struct nibble_pick[]){ pick_of(c.factors, src, c.has_min), pick_of(c.factors, src + c.bytes, c.has_min) });
    }
    if (nblocks > 0) {
        struct nibble_pick f = pick_of(c.factors, src, c.has_min);

        pick_pair((uint16_t *[]){ y, unused }, (const uint8_t *[]){ src + c.qs, src + c.qs }, &values,
            (struct nibble_pick[]){ f, f });
    }
}

static ALWAYS_INLINE bool
mxfp4_factor(struct block_unpacked *u, const uint8_t *src)
{
    u->scale[0] = mxfp4_scale(src[0]);
    return true;
}

static void
q4_0_bf16(uint16_t *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    pick_blocks(y, src, nblocks, signed_values, (struct nibble_type){ one_scale, Q4_0_BYTES, 2, false });
}

static void
q4_1_bf16(uint16_t *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    pick_blocks(y, src, nblocks, unsigned_values, (struct nibble_type){ scale_and_sum, Q4_1_BYTES, 4, true });
}

static void
iq4_nl_bf16(uint16_t *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    pick_blocks(y, src, nblocks, iq4_levels, (struct nibble_type){ one_scale, IQ4_NL_BYTES, 2, false });
}

static void
mxfp4_bf16(uint16_t *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    pick_blocks(y, src, nblocks, fp4_levels, (struct nibble_type){ mxfp4_factor, MXFP4_BYTES, 1, false });
}

static void
iq4_xs_bf16(uint16_t *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    const struct nibble_values values = values_of(iq4_levels);

    for (; nblocks > 0; nblocks--, src += IQ4_XS_BYTES, y += QK_K) {
        const uint8_t *qs = src + 8;
        bool finite = half_finite(src);
        float scale[8];

        scales8(scale, half_at(src), iq4_xs_scales(src), true);
        keep_in_memory(scale);
        fetch_ahead(src, IQ4_XS_BYTES);
        for (int c = 0; c < 8; c += 2)
            pick_pair((uint16_t *[]){ y + 32 * c, y + 32 * c + 32 },
                (const uint8_t *[]){ qs + 16 * c, qs + 16 * c + 16 }, &values,
                (struct nibble_pick[]){ { finite, false, scale[c], 0 }, { finite, false, scale[c + 1], 0 } });
    }
}

static void
q4_k_bf16(uint16_t *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    const struct nibble_values values = values_of(unsigned_values);

    for (; nblocks > 0; nblocks--, src += Q4_K_BYTES, y += QK_K) {
        struct block_unpacked u;
        bool finite = k_factors(&u, src);

        keep_in_memory(&u);
        fetch_ahead(src, Q4_K_BYTES);
        for (int c = 0; c < 8; c += 2)
            pick_planes((uint16_t *[]){ y + 32 * c, y + 32 * c + 32 }, src + 16 + 16 * c, &values, (struct nibble_pick[]){
                { finite, true, u.scale[c], u.min[c] }, { finite, true, u.scale[c + 1], u.min[c + 1] } });
    }
}

void
avx2_use_nibbles(struct kernels *k)
{
    k->block_bf16[DTYPE_Q4_0] = q4_0_bf16;
    k->block_bf16[DTYPE_Q4_1] = q4_1_bf16;
    k->block_bf16[DTYPE_Q4_K] = q4_k_bf16;
    k->block_bf16[DTYPE_IQ4_NL] = iq4_nl_bf16;
    k->block_bf16[DTYPE_IQ4_XS] = iq4_xs_bf16;
    k->block_bf16[DTYPE_MXFP4] = mxfp4_bf16;
}

#endif
