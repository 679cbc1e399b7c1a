/* avx2_encode_mx: the formulas are in encode_mx.h and ref/encode_mx.c. Sixteen codes at a time. */
#if defined(__x86_64__)

#include "kernel/encode_mx.h"
#include "kernel/x86/x86_priv.h"

#include "kernel/x86/avx2_inline.h"

/* Returns eight codes, one in each lane. A comparison that holds is -1. */
static ALWAYS_INLINE __m256i
codes8(__m256 v, const enum encode_e2m1_rule rule)
{
    const __m256 a = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), v), zero = _mm256_setzero_ps();
    int even = _CMP_GE_OQ;
    if (rule == E2M1_DOWN)
        even = _CMP_GT_OQ;
    __m256i count = _mm256_castps_si256(_mm256_cmp_ps(a, _mm256_set1_ps(0.25f), _CMP_GT_OQ)), sign;
#define COUNT(limit, compare) \
    count = _mm256_add_epi32(count, _mm256_castps_si256(_mm256_cmp_ps(a, _mm256_set1_ps(limit), compare)))
    if (even == _CMP_GT_OQ) {
        COUNT(0.75f, _CMP_GT_OQ);
        COUNT(1.75f, _CMP_GT_OQ);
        COUNT(3.5f, _CMP_GT_OQ);
    } else {
        COUNT(0.75f, _CMP_GE_OQ);
        COUNT(1.75f, _CMP_GE_OQ);
        COUNT(3.5f, _CMP_GE_OQ);
    }
    COUNT(1.25f, _CMP_GT_OQ);
    COUNT(2.5f, _CMP_GT_OQ);
    COUNT(5.0f, _CMP_GT_OQ);
#undef COUNT
    if (rule == E2M1_DOWN)
        sign = _mm256_castps_si256(_mm256_cmp_ps(v, zero, _CMP_NGT_UQ));
    else if (rule == E2M1_SIGNED)
        sign = _mm256_srai_epi32(_mm256_castps_si256(v), 31);
    else
        sign = _mm256_castps_si256(_mm256_cmp_ps(v, zero, _CMP_LT_OQ));
    return _mm256_or_si256(_mm256_sub_epi32(_mm256_setzero_si256(), count), _mm256_and_si256(sign, _mm256_set1_epi32(8)));
}

static ALWAYS_INLINE void
put_back(float *y, __m256i q, const struct encode_e2m1 *how)
{
    const __m256 values = _mm256_setr_ps(0, 0.5f, 1, 1.5f, 2, 3, 4, 6);
    __m256 v = _mm256_permutevar8x32_ps(values, q);     /* uses only three bits */
    __m256i sign = _mm256_slli_epi32(_mm256_srli_epi32(q, 3), 31);
    if (how->plus_zero)
        sign = _mm256_andnot_si256(_mm256_cmpeq_epi32(q, _mm256_set1_epi32(8)), sign);
    _mm256_storeu_ps(y, _mm256_mul_ps(_mm256_xor_ps(v, _mm256_castsi256_ps(sign)), _mm256_set1_ps(how->scale)));
}

/* Packs the codes of eight lanes into four bytes. */
static ALWAYS_INLINE uint32_t
nibbles8(__m256i q, bool high_first)
{
    const __m256i first = _mm256_setr_epi8(0, 8, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
        0, 8, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    __m256i pairs = high_first ? _mm256_or_si256(_mm256_slli_epi64(q, 4), _mm256_srli_epi64(q, 32))
        : _mm256_or_si256(q, _mm256_srli_epi64(q, 28));
    __m256i bytes = _mm256_shuffle_epi8(pairs, first);
    return (uint32_t)_mm256_extract_epi16(bytes, 0) | (uint32_t)_mm256_extract_epi16(bytes, 8) << 16;
}

static ALWAYS_INLINE void
avx2_encode_mx_run(uint8_t *restrict y, float *restrict back, const float *restrict x, size_t n, const struct encode_e2m1 *how,
    const enum encode_e2m1_rule rule, const enum dtype quotient)
{
    const __m256 scale = _mm256_set1_ps(how->scale);
    size_t i = 0;
    for (; n - i >= 8; i += 8) {
        __m256 v = _mm256_div_ps(_mm256_loadu_ps(x + i), scale);
        __m256i q = codes8(quotient == DTYPE_F32 ? v : rounded256(v, quotient), rule);
        uint32_t bytes = nibbles8(q, how->high_first);
        memcpy(y + i / 2, &bytes, sizeof bytes);
        if (back)
            put_back(back + i, q, how);
    }
    if (i < n)
        encode_e2m1(y + i / 2, back ? back + i : NULL, x + i, n - i, how);
}

static void
avx2_encode_e2m1(uint8_t *restrict y, float *restrict back, const float *restrict x, size_t n,
    const struct encode_e2m1 *how)
{
    if (how->rule == E2M1_DOWN)
        avx2_encode_mx_run(y, back, x, n, how, E2M1_DOWN, DTYPE_F32);
    else if (how->rule == E2M1_SIGNED)
        avx2_encode_mx_run(y, back, x, n, how, E2M1_SIGNED, DTYPE_F32);
    else if (how->quotient == DTYPE_BF16)
        avx2_encode_mx_run(y, back, x, n, how, E2M1_PLAIN, DTYPE_BF16);
    else if (how->quotient == DTYPE_F16)
        avx2_encode_mx_run(y, back, x, n, how, E2M1_PLAIN, DTYPE_F16);
    else
        avx2_encode_mx_run(y, back, x, n, how, E2M1_PLAIN, DTYPE_F32);
}

/* The maximum of a NaN and a number is the second operand. */
static float
avx2_encode_most(const float *x, size_t n)
{
    const __m256 sign = _mm256_set1_ps(-0.0f);
    __m256 most = _mm256_setzero_ps(), other = most;
    size_t i = 0;
    for (; n - i >= 16; i += 16) {
        most = _mm256_max_ps(_mm256_andnot_ps(sign, _mm256_loadu_ps(x + i)), most);
        other = _mm256_max_ps(_mm256_andnot_ps(sign, _mm256_loadu_ps(x + i + 8)), other);
    }
    float lanes[8], found = encode_most(x + i, n - i);
    _mm256_storeu_ps(lanes, _mm256_max_ps(most, other));
    for (unsigned j = 0; j < 8; j++)
        found = lanes[j] > found ? lanes[j] : found;
    return found;
}

void
avx2_use_encode_mx(struct kernels *k)
{
    k->encode_e2m1 = avx2_encode_e2m1;
    k->encode_most = avx2_encode_most;
}

#endif
