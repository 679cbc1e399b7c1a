/* avx2_same_nf4: the formulas are in same_nf4.h. 32 values at a time; for BF16 two byte shuffles look the halves of products up. Blocks that
 * do not match are left to the scalar function, to which 0 and -0 are the same. */
#if defined(__x86_64__)

#include "kernel/bnb_maps.h"
#include "kernel/same_nf4.h"
#include "kernel/x86/x86_priv.h"

#include "kernel/x86/avx2_inline.h"

enum { STEP = 32 };

/* Codes by step, twice; and the values of codes 0 to 7 and 8 to 15. */
struct nf4_lists {
    __m256i up, down;
    __m256 low, high;
};

static ALWAYS_INLINE struct nf4_lists
load_lists(void)
{
    const float *map = (const float *)(const void *)bnb_nf4_map;
    return (struct nf4_lists){ _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)same_nf4_up)),
        _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)same_nf4_down)), _mm256_loadu_ps(map),
        _mm256_loadu_ps(map + 8) };
}

/* Returns the bits of the largest magnitude of a block in all lanes. Sets *wrong to bits that are not 0 if it cannot be the scale, or if the type
 * lacks a value. */
static ALWAYS_INLINE __m256i
most_of(__m256i *wrong, const float *x, size_t n, const enum dtype type)
{
    const __m256i magnitude = _mm256_set1_epi32(0x7FFFFFFF), rest = _mm256_set1_epi32(type == DTYPE_BF16 ? 0xFFFF : 0);
    const __m256i least = _mm256_set1_epi32((127 - 100) << 23), end = _mm256_set1_epi32((127 + 100) << 23);
    __m256i most = _mm256_setzero_si256(), any = most;
    for (size_t i = 0; i < n; i += 8) {
        __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(x + i));
        most = _mm256_max_epi32(most, _mm256_and_si256(v, magnitude));
        any = _mm256_or_si256(any, v);
    }
    most = _mm256_max_epi32(most, _mm256_permute2x128_si256(most, most, 1));
    most = _mm256_max_epi32(most, _mm256_shuffle_epi32(most, 0x4E));
    most = _mm256_max_epi32(most, _mm256_shuffle_epi32(most, 0xB1));
    *wrong = _mm256_or_si256(_mm256_cmpgt_epi32(least, most), _mm256_cmpgt_epi32(most, end));
    *wrong = _mm256_or_si256(*wrong, _mm256_and_si256(any, rest));
    return most;
}

/* Returns the codes of steps, in each byte, or in the lowest byte of larger lanes. */
static ALWAYS_INLINE __m256i
codes_of(__m256i step, __m256i minus, const struct nf4_lists *l)
{
    return _mm256_or_si256(_mm256_shuffle_epi8(l->up, step), _mm256_shuffle_epi8(l->down, minus));
}

/* Returns the bits that differ from the products with eight codes. */
static ALWAYS_INLINE __m256i
differing(__m256 x, __m256i step, __m256 low, __m256 high, const struct nf4_lists *l)
{
    const __m256i code = codes_of(step, _mm256_sub_epi32(_mm256_setzero_si256(), step), l);
    __m256 v = _mm256_blendv_ps(_mm256_permutevar8x32_ps(low, code), _mm256_permutevar8x32_ps(high, code),
        _mm256_castsi256_ps(_mm256_slli_epi32(code, 28)));
    return _mm256_xor_si256(_mm256_castps_si256(v), _mm256_castps_si256(x));
}

static ALWAYS_INLINE bool
put_block(float *absmax, uint8_t *code, const float *x, size_t n, const struct nf4_lists *l, const enum dtype type)
{
    __m256i differs;
    const __m256 a = _mm256_castsi256_ps(most_of(&differs, x, n, type)), inverse = _mm256_div_ps(_mm256_set1_ps(SAME_NF4_STEPS), a);
    const __m256 low = _mm256_mul_ps(l->low, a), high = _mm256_mul_ps(l->high, a);
    const struct words16 t = words16_rounded(_mm256_permute2f128_ps(low, high, 0x20), _mm256_permute2f128_ps(low, high, 0x31));
    _mm_store_ss(absmax, _mm256_castps256_ps128(a));
    for (size_t i = 0; i < n; i += STEP) {
        __m256 v[4];
        __m256i s[4];
        for (int k = 0; k < 4; k++) {
            v[k] = _mm256_loadu_ps(x + i + 8 * k);
            s[k] = _mm256_cvtps_epi32(_mm256_mul_ps(v[k], inverse));
            if (type == DTYPE_F32)
                differs = _mm256_or_si256(differs, differing(v[k], s[k], low, high, l));
        }
        const __m256i step = _mm256_packs_epi16(_mm256_packs_epi32(s[0], s[1]), _mm256_packs_epi32(s[2], s[3]));
        const __m256i q = codes_of(step, _mm256_sub_epi8(_mm256_setzero_si256(), step), l);
        if (type == DTYPE_BF16) {
            const __m256i one = _mm256_shuffle_epi8(t.low, q), two = _mm256_shuffle_epi8(t.high, q);
            const __m256i w0 = pack256(_mm256_castps_si256(v[0]), _mm256_castps_si256(v[1]));
            const __m256i w1 = pack256(_mm256_castps_si256(v[2]), _mm256_castps_si256(v[3]));
            differs = _mm256_or_si256(differs, _mm256_xor_si256(w0, _mm256_unpacklo_epi8(one, two)));
            differs = _mm256_or_si256(differs, _mm256_xor_si256(w1, _mm256_unpackhi_epi8(one, two)));
        }
        if (code) {
            __m256i bytes = _mm256_maddubs_epi16(q, _mm256_set1_epi16(0x0110));         /* 16 times the first plus the second */
            bytes = _mm256_packus_epi16(bytes, bytes);
            bytes = _mm256_castsi128_si256(_mm_unpacklo_epi16(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1)));
            _mm_storeu_si128((__m128i *)(void *)(code + i / 2), _mm256_castsi256_si128(bytes));
        }
    }
    return _mm256_testz_si256(differs, differs);
}

static ALWAYS_INLINE size_t
run(float *absmax, uint8_t *code, const float *x, size_t nblocks, size_t block, const enum dtype type)
{
    const struct nf4_lists l = load_lists();
    for (size_t i = 0; i < nblocks; i++, x += block) {
        uint8_t *to = code ? code + i * (block / 2) : NULL;
        if (!put_block(absmax + i, to, x, block, &l, type) && same_nf4(absmax + i, to, x, 1, block, type) == 0)
            return i;
    }
    return nblocks;
}

static size_t
avx2_same_nf4(float *absmax, uint8_t *code, const float *x, size_t nblocks, size_t block, enum dtype type)
{
    return type == DTYPE_BF16 ? run(absmax, code, x, nblocks, block, DTYPE_BF16) : run(absmax, code, x, nblocks, block, DTYPE_F32);
}

void
avx2_use_same_nf4(struct kernels *k)
{
    k->same_nf4 = avx2_same_nf4;
}

#endif
