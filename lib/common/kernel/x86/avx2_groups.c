/* avx2_groups: types whose groups of 16 elements have 4 or 8 values, to BF16. The values of four or two groups are a table
 * of 16 entries for the byte shuffle; the index of an element is its code plus, in the higher bits, the number of its group.
 * Codes are in the order of pick32(): elements 0..7, 16..23; 8..15, 24..31. */
#if defined(__x86_64__)

#include "kernel/x86/x86_priv.h"

#include "kernel/x86/avx2_inline.h"
#include "kernel/x86/unpack_k.h"
#include "kernel/x86/unpack_q.h"

/* `lo` in the lower half, `hi` in the upper one */
static ALWAYS_INLINE __m256
halves(const float *lo, const float *hi)
{
    return _mm256_blend_ps(_mm256_broadcast_ss(lo), _mm256_broadcast_ss(hi), 0xF0);
}

static ALWAYS_INLINE struct words16
table_of(__m256 a, __m256 b, bool finite)
{
    if (!finite) {
        a = canonical256(a);
        b = canonical256(b);
    }
    return words16_rounded(a, b);
}

/* Returns bytes: `first` for the first group of 16 elements, `then` for the second. */
static ALWAYS_INLINE __m256i
group_bits(int first, int then)
{
    return _mm256_unpacklo_epi64(_mm256_set1_epi8((char)first), _mm256_set1_epi8((char)then));
}

/* Dequantizes groups g .. g + 3 with four values, 64 elements. */
static void
q2_k_bf16(uint16_t *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    const __m256 values = _mm256_set_ps(3, 2, 1, 0, 3, 2, 1, 0);
    struct block_unpacked u;

    for (; nblocks > 0; nblocks--, src += Q2_K_BYTES, y += QK_K) {
        bool finite = q2_k_factors(&u, src);

        keep_in_memory(&u);
        fetch_ahead(src, Q2_K_BYTES);
        for (int c = 0; c < 8; c += 2) {
            const float *scale = u.scale + 2 * c, *min = u.min + 2 * c;
            __m256 a = _mm256_sub_ps(_mm256_mul_ps(values, halves(scale, scale + 2)), halves(min, min + 2));
            __m256 b = _mm256_sub_ps(_mm256_mul_ps(values, halves(scale + 1, scale + 3)), halves(min + 1, min + 3));
            struct words16 table = table_of(a, b, finite);
            __m256i codes = _mm256_permute4x64_epi64(load256(src + 16 + 32 * (c / 4)), 0xD8);

            for (int i = 0; i < 2; i++)
                pick32(y + 32 * (c + i), &table, _mm256_or_si256(field(codes, 2 * ((c + i) % 4), 3),
                    group_bits(8 * i, 8 * i + 4)), _mm256_setzero_si256());
        }
    }
}

/* Dequantizes two groups with eight values, 32 elements. */
static void
q3_k_bf16(uint16_t *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    const __m256 low = _mm256_set_ps(-1, -2, -3, -4, -1, -2, -3, -4), high = _mm256_set_ps(3, 2, 1, 0, 3, 2, 1, 0);
    struct block_unpacked u;

    for (; nblocks > 0; nblocks--, src += Q3_K_BYTES, y += QK_K) {
        bool finite = q3_k_factors(&u, src);
        __m256i mask = _mm256_permute4x64_epi64(load256(src), 0xD8);

        keep_in_memory(&u);
        fetch_ahead(src, Q3_K_BYTES);
        for (int c = 0; c < 8; c++) {
            __m256 scale = halves(u.scale + 2 * c, u.scale + 2 * c + 1);
            struct words16 table = table_of(_mm256_mul_ps(low, scale), _mm256_mul_ps(high, scale), finite);
            __m256i codes = _mm256_permute4x64_epi64(load256(src + 32 + 32 * (c / 4)), 0xD8);
            __m256i index = _mm256_or_si256(field(codes, 2 * (c % 4), 3), bit(mask, c, 2));

            pick32(y + 32 * c, &table, _mm256_or_si256(index, group_bits(0, 8)), _mm256_setzero_si256());
        }
    }
}

/* Dequantizes two groups with eight values and a sign, where code 8 is +0, 32 elements. Scales are not negative. The low
 * nibbles of 16 bytes followed by the high ones are already in the required order. */
static void
nvfp4_bf16(uint16_t *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    const __m256 low = _mm256_set_ps(3, 2, 1, 0, 3, 2, 1, 0), high = _mm256_set_ps(12, 8, 6, 4, 12, 8, 6, 4);

    for (; nblocks > 0; nblocks--, src += NVFP4_BYTES, y += NVFP4_ELEMS) {
        float scales[4];

        nvfp4_scales(scales, src);
        keep_in_memory(scales);
        fetch_ahead(src, NVFP4_BYTES);
        for (int c = 0; c < 2; c++) {
            __m256 scale = halves(scales + 2 * c, scales + 2 * c + 1);
            struct words16 table = table_of(_mm256_mul_ps(low, scale), _mm256_mul_ps(high, scale), true);
            __m256i codes = nibbles32(src + 4 + 16 * c);
            __m256i index = _mm256_and_si256(codes, _mm256_set1_epi8(7));
            __m256i sign = _mm256_cmpgt_epi8(codes, _mm256_set1_epi8(8));

            pick32(y + 32 * c, &table, _mm256_or_si256(index, group_bits(0, 8)),
                _mm256_and_si256(sign, _mm256_set1_epi8(-128)));
        }
    }
}

void
avx2_use_groups(struct kernels *k)
{
    k->block_bf16[DTYPE_Q2_K] = q2_k_bf16;
    k->block_bf16[DTYPE_Q3_K] = q3_k_bf16;
    k->block_bf16[DTYPE_NVFP4] = nvfp4_bf16;
}

#endif
