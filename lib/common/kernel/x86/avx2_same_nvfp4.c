/* avx2_same_nvfp4: the formulas are in same_nvfp4.h. A block at a time. */
#if defined(__x86_64__)

#include "kernel/same_nvfp4.h"
#include "kernel/x86/x86_priv.h"

#include "kernel/x86/avx2_inline.h"

/* Returns the largest magnitude of a block. */
static ALWAYS_INLINE float
most16(__m256 x, __m256 y)
{
    const __m256i sign = _mm256_set1_epi32((int)0x80000000);
    __m256i a = _mm256_max_epi32(_mm256_andnot_si256(sign, _mm256_castps_si256(x)), _mm256_andnot_si256(sign, _mm256_castps_si256(y)));
    __m128i m = _mm_max_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4E));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0xB1));
    return float_of_bits((uint32_t)_mm_cvtsi128_si32(m));
}

/* The factors of a block. */
struct factors {
    __m256 first, last, inverse;
};

/* Scales of eight blocks: codes, 0 for none, and what multiplies the codes of elements, and its inverse. */
enum { FEW = 8 };
struct scales {
    float most[FEW], first[FEW], inverse[FEW];
    uint32_t code[FEW];
};

/* Finds them from the largest magnitudes; s->code[i] is found if scales are powers of two. */
static ALWAYS_INLINE void
find_scales(struct scales *s, const struct same_nvfp4 *how)
{
    const __m256i one = _mm256_set1_epi32(1), zero = _mm256_setzero_si256();
    const __m256 second = _mm256_set1_ps(how->second), magic = _mm256_set1_ps(0x1p14f), most = _mm256_loadu_ps(s->most);
    const __m256i none = _mm256_castps_si256(_mm256_cmp_ps(most, _mm256_setzero_ps(), _CMP_EQ_OQ));
    __m256 ratio = _mm256_mul_ps(most, _mm256_set1_ps(same_nvfp4_inverse(how)));
    __m256i u = _mm256_castps_si256(ratio), odd = _mm256_and_si256(_mm256_srli_epi32(u, 20), one);
    __m256i normal = _mm256_srli_epi32(_mm256_add_epi32(_mm256_add_epi32(u, odd), _mm256_set1_epi32(0x7FFFF)), 20);
    __m256i small = _mm256_sub_epi32(_mm256_castps_si256(_mm256_add_ps(ratio, magic)), _mm256_castps_si256(magic));
    __m256i code = _mm256_blendv_epi8(_mm256_sub_epi32(normal, _mm256_set1_epi32(120 << 3)), small,
        _mm256_cmpgt_epi32(_mm256_set1_epi32(0x3C800000), u));
    code = _mm256_andnot_si256(_mm256_cmpgt_epi32(code, _mm256_set1_epi32(0x7E)), code);
    if (how->powers)
        code = _mm256_loadu_si256((const __m256i *)(const void *)s->code);
    code = _mm256_blendv_epi8(code, one, none);
    __m256 large = _mm256_castsi256_ps(_mm256_add_epi32(_mm256_slli_epi32(code, 20), _mm256_set1_epi32(120 << 23)));
    __m256 v = _mm256_blendv_ps(large, _mm256_mul_ps(_mm256_cvtepi32_ps(code), _mm256_set1_ps(0x1p-9f)),
        _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32(8), code)));
    __m256 unit = how->divides ? _mm256_div_ps(v, second) : _mm256_mul_ps(v, second);
    _mm256_storeu_si256((__m256i *)(void *)s->code, _mm256_max_epi32(code, zero));
    _mm256_storeu_ps(s->first, how->codes_first ? v : unit);
    _mm256_storeu_ps(s->inverse, _mm256_div_ps(_mm256_set1_ps(1), unit));
}

/* Returns eight codes, one in each lane, and adds the lanes whose values are not the same. */
static ALWAYS_INLINE __m256i
codes8(__m256 *wrong, __m256 x, const struct factors f, const enum dtype type)
{
    const __m256 sign = _mm256_set1_ps(-0.0f), magic = _mm256_set1_ps(SAME_E2M1_MAGIC);
    __m256 q = _mm256_mul_ps(x, f.inverse), a = _mm256_andnot_ps(sign, q), t = _mm256_mul_ps(q, _mm256_set1_ps(SAME_E2M1_SPLIT));
    __m256 r = _mm256_blendv_ps(_mm256_sub_ps(t, _mm256_sub_ps(t, q)), _mm256_sub_ps(_mm256_add_ps(q, magic), magic),
        _mm256_cmp_ps(a, _mm256_set1_ps(1), _CMP_LT_OQ));
    __m256 p = _mm256_mul_ps(_mm256_mul_ps(r, f.first), f.last);
    if (type == DTYPE_BF16)
        p = _mm256_castsi256_ps(_mm256_and_si256(bf16_high256(p), _mm256_set1_epi32((int)0xFFFF0000)));
    *wrong = _mm256_or_ps(*wrong, _mm256_or_ps(_mm256_cmp_ps(p, x, _CMP_NEQ_UQ), _mm256_cmp_ps(a, _mm256_set1_ps(SAME_E2M1_END), _CMP_NLT_UQ)));
    __m256i bits = _mm256_castps_si256(_mm256_andnot_ps(sign, r)), zero = _mm256_setzero_si256();
    __m256i some = _mm256_andnot_si256(_mm256_cmpeq_epi32(bits, zero), _mm256_set1_epi32(1));
    __m256i code = _mm256_max_epi32(_mm256_sub_epi32(_mm256_srli_epi32(bits, 22), _mm256_set1_epi32(252)), some);
    return _mm256_or_si256(code, _mm256_and_si256(_mm256_srli_epi32(_mm256_castps_si256(x), 28), _mm256_set1_epi32(8)));
}

/* Packs 16 codes into eight bytes. */
static ALWAYS_INLINE void
put_nibbles(uint8_t *y, __m256i a, __m256i b)
{
    const __m256i low = _mm256_set1_epi64x(0xFF);
    const __m256i order = _mm256_setr_epi8(0, 8, -1, -1, 1, 9, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
        -1, -1, 0, 8, -1, -1, 1, 9, -1, -1, -1, -1, -1, -1, -1, -1);
    a = _mm256_and_si256(_mm256_or_si256(a, _mm256_srli_epi64(a, 28)), low);
    b = _mm256_and_si256(_mm256_or_si256(b, _mm256_srli_epi64(b, 28)), low);
    __m256i pairs = _mm256_shuffle_epi8(_mm256_or_si256(a, _mm256_slli_epi64(b, 8)), order);
    _mm_storel_epi64((__m128i *)(void *)y, _mm_or_si128(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1)));
}

/* Returns the set of codes of 16 lanes, without their signs. */
static ALWAYS_INLINE uint8_t
set_of(__m256i a, __m256i b)
{
    const __m256i one = _mm256_set1_epi32(1), seven = _mm256_set1_epi32(7);
    __m256i set = _mm256_or_si256(_mm256_sllv_epi32(one, _mm256_and_si256(a, seven)), _mm256_sllv_epi32(one, _mm256_and_si256(b, seven)));
    __m128i m = _mm_or_si128(_mm256_castsi256_si128(set), _mm256_extracti128_si256(set, 1));
    m = _mm_or_si128(m, _mm_shuffle_epi32(m, 0x4E));
    return (uint8_t)_mm_cvtsi128_si32(_mm_or_si128(m, _mm_shuffle_epi32(m, 0xB1)));
}

static ALWAYS_INLINE size_t
run(uint8_t *scale, uint8_t *code, uint8_t *found, const float *x, size_t nblocks, const struct same_nvfp4 *how, const enum dtype type)
{
    const __m256 last = _mm256_set1_ps(how->codes_first ? how->second : 1.0f);
    struct scales s = { .most = { 0 } };
    for (size_t i = 0, n; i < nblocks; i += n) {
        n = nblocks - i < FEW ? nblocks - i : FEW;
        for (size_t k = 0; k < n; k++)
            s.most[k] = most16(_mm256_loadu_ps(x + (i + k) * SAME_NVFP4), _mm256_loadu_ps(x + (i + k) * SAME_NVFP4 + 8));
        for (size_t k = 0; how->powers && k < n; k++)
            s.code[k] = same_nvfp4_scale(how, s.most[k], 0);
        find_scales(&s, how);
        for (size_t k = 0; k < n; k++) {
            const float *v = x + (i + k) * SAME_NVFP4;
            const struct factors f = { _mm256_set1_ps(s.first[k]), last, _mm256_set1_ps(s.inverse[k]) };
            __m256 wrong = _mm256_setzero_ps();
            __m256i a = codes8(&wrong, _mm256_loadu_ps(v), f, type), b = codes8(&wrong, _mm256_loadu_ps(v + 8), f, type);
            put_nibbles(code + 8 * (i + k), a, b);
            if (found)
                found[i + k] = set_of(a, b);
            scale[i + k] = (uint8_t)s.code[k];
            if (s.code[k] == 0 || _mm256_movemask_ps(wrong) != 0)
                return i + k;
        }
    }
    return nblocks;
}

static size_t
avx2_same_nvfp4(uint8_t *scale, uint8_t *code, uint8_t *found, const float *x, size_t nblocks, const struct same_nvfp4 *how)
{
    return how->type == DTYPE_BF16 ? run(scale, code, found, x, nblocks, how, DTYPE_BF16) : run(scale, code, found, x, nblocks, how, DTYPE_F32);
}

void
avx2_use_same_nvfp4(struct kernels *k)
{
    k->same_nvfp4 = avx2_same_nvfp4;
}

#endif
