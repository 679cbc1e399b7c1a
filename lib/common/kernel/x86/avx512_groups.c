/* avx512_groups: types whose groups of 16 elements take 4, 8 or 16 values, to BF16. As in avx512_nibbles, the
 * values of several groups fill one register of 32 words; an element's index is its code and, above that, the
 * number of its group. */
#if defined(__x86_64__)

#include "kernel/x86/x86_priv.h"

#include "kernel/x86/avx512_inline.h"
#include "kernel/x86/unpack_k.h"
#include "kernel/x86/unpack_q.h"

static ALWAYS_INLINE __m512
table16(const int8_t values[16])
{
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(load128((const uint8_t *)values)));
}

/* 32 products as BF16. */
static ALWAYS_INLINE __m512i
table_of(__m512 a, __m512 b, bool finite)
{
    if (!finite) {
        a = canonical512(a);
        b = canonical512(b);
    }
    return bf16_of32(a, b);
}

/* `a` in words 0..15, `b` in words 16..31 */
static ALWAYS_INLINE __m512i
words(int a, int b)
{
    return _mm512_inserti64x4(_mm512_set1_epi16((short)a), _mm256_set1_epi16((short)b), 1);
}

/* (code & mask) | more */
static ALWAYS_INLINE __m512i
index_of(__m512i code, int mask, __m512i more)
{
    return _mm512_ternarylogic_epi32(code, _mm512_set1_epi16((short)mask), more, 0xEA);
}

/* Four values: the table has 8 groups, which are 128 elements. f[i] for the values 4i .. 4i + 3. */
static ALWAYS_INLINE __m512
four_each(const float f[4])
{
    const __m512i own = _mm512_set_epi32(3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0);

    return _mm512_permutevar_ps(_mm512_broadcast_f32x4(_mm_loadu_ps(f)), own);
}

static void
q2_k_bf16(uint16_t *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    const __m512 values = table16((const int8_t[16]){ 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3 });
    struct unpacked u;

    for (; nblocks > 0; nblocks--, src += Q2_K_BYTES, y += QK_K) {
        bool finite = q2_k_factors(&u, src);

        keep_in_memory(&u);
        fetch_ahead(src, Q2_K_BYTES);
        for (int h = 0; h < 2; h++) {
            const float *scale = u.scale + 8 * h, *min = u.min + 8 * h;
            __m512 a = _mm512_sub_ps(_mm512_mul_ps(values, four_each(scale)), four_each(min));
            __m512 b = _mm512_sub_ps(_mm512_mul_ps(values, four_each(scale + 4)), four_each(min + 4));
            __m512i table = table_of(a, b, finite);
            __m512i codes = _mm512_cvtepu8_epi16(load256(src + 16 + 32 * h));

            for (int t = 0; t < 4; t++) {
                __m512i index = index_of(_mm512_srli_epi16(codes, (unsigned)(2 * t)), 3, words(8 * t, 8 * t + 4));

                _mm512_storeu_si512(y + 128 * h + 32 * t, _mm512_permutexvar_epi16(index, table));
            }
        }
    }
}

/* Eight values: the table has 4 groups. f[0] for the values 0 .. 7, f[1] for 8 .. 15. */
static ALWAYS_INLINE __m512
eight_each(const float f[2])
{
    return _mm512_mask_broadcastss_ps(_mm512_set1_ps(f[0]), 0xFF00, _mm_load_ss(f + 1));
}

static void
q3_k_bf16(uint16_t *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    const __m512 values = table16((const int8_t[16]){ -4, -3, -2, -1, 0, 1, 2, 3, -4, -3, -2, -1, 0, 1, 2, 3 });
    struct unpacked u;

    for (; nblocks > 0; nblocks--, src += Q3_K_BYTES, y += QK_K) {
        bool finite = q3_k_factors(&u, src);

        keep_in_memory(&u);
        fetch_ahead(src, Q3_K_BYTES);

        __m512i high = _mm512_slli_epi16(_mm512_cvtepu8_epi16(load256(src)), 2);    /* element 32c + l: bit c + 2 */

        for (int c = 0; c < 8; c += 2) {
            const float *scale = u.scale + 2 * c;
            __m512i table = table_of(_mm512_mul_ps(values, eight_each(scale)),
                _mm512_mul_ps(values, eight_each(scale + 2)), finite);
            __m512i codes = _mm512_cvtepu8_epi16(load256(src + 32 + 32 * (c / 4)));

            for (int i = 0; i < 2; i++) {
                __m512i low = _mm512_srli_epi16(codes, (unsigned)(2 * ((c + i) % 4)));
                __m512i index = index_of(_mm512_srli_epi16(high, (unsigned)(c + i)), 4, words(16 * i, 16 * i + 8));

                _mm512_storeu_si512(y + 32 * (c + i), _mm512_permutexvar_epi16(index_of(low, 3, index), table));
            }
        }
    }
}

/* Sixteen values: the table has 2 groups. Of the 16 bytes of 32 elements, the first eight hold the low, then
 * the high nibbles of the first group; the other eight those of the second. As in avx512_nibbles, four bytes go
 * to each 64 bits, and from there a field of eight bits to every byte. */
static void
nvfp4_bf16(uint16_t *restrict y, const uint8_t *restrict src, size_t nblocks)
{
    const __m512i four = _mm512_set_epi32(0, 3, 0, 2, 0, 3, 0, 2, 0, 1, 0, 0, 0, 1, 0, 0);
    const __m512i from = _mm512_set_epi64(0x1C1C14140C0C0404, 0x1C1C14140C0C0404, 0x1818101008080000,
        0x1818101008080000, 0x1C1C14140C0C0404, 0x1C1C14140C0C0404, 0x1818101008080000, 0x1818101008080000);
    const __m512 values = table16(fp4_values);

    for (; nblocks > 0; nblocks--, src += NVFP4_BYTES, y += NVFP4_ELEMS) {
        float scale[4];

        nvfp4_scales(scale, src);
        keep_in_memory(scale);
        fetch_ahead(src, NVFP4_BYTES);
        for (int c = 0; c < 2; c++) {
            __m512i table = table_of(_mm512_mul_ps(values, _mm512_set1_ps(scale[2 * c])),
                _mm512_mul_ps(values, _mm512_set1_ps(scale[2 * c + 1])), true);
            __m512i bytes = _mm512_castsi128_si512(load128(src + 4 + 16 * c));
            __m512i codes = _mm512_multishift_epi64_epi8(from, _mm512_permutexvar_epi32(four, bytes));

            _mm512_storeu_si512(y + 32 * c, _mm512_permutexvar_epi16(index_of(codes, 15, words(0, 16)), table));
        }
    }
}

void
avx512_use_groups(struct kernels *k)
{
    k->block_bf16[DTYPE_Q2_K] = q2_k_bf16;
    k->block_bf16[DTYPE_Q3_K] = q3_k_bf16;
    k->block_bf16[DTYPE_NVFP4] = nvfp4_bf16;
}

#endif
