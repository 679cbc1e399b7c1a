/* avx2_encode_int: the formulas are in ref/encode_int.c. Eight values at a time; what is left of a row is done by the scalar functions. */
#if defined(__x86_64__)

#include "kernel/encode_int.h"
#include "kernel/kernels.h"
#include "kernel/rounded.h"
#include "kernel/x86/x86_priv.h"

#include <math.h>

#include "kernel/x86/avx2_inline.h"

enum int_family { CT, GPTQ, AWQ, MLX };

static ALWAYS_INLINE float
lowest256(__m256 v)
{
    __m128 low = _mm_min_ps(_mm256_extractf128_ps(v, 1), _mm256_castps256_ps128(v));
    low = _mm_min_ps(_mm_movehl_ps(low, low), low);
    return _mm_cvtss_f32(_mm_min_ss(_mm_shuffle_ps(low, low, 1), low));
}

/* Finds the lowest and highest of n values and two initial ones. NaN is neither. */
static ALWAYS_INLINE void
avx2_encode_int_range(float *min, float *max, const float *x, size_t n)
{
    __m256 low[2], high[2];
    size_t i = 0;
    low[0] = low[1] = _mm256_set1_ps(*min);
    high[0] = high[1] = _mm256_set1_ps(-*max);
    for (; n - i >= 16; i += 16)
        for (int k = 0; k < 2; k++) {
            __m256 v = _mm256_loadu_ps(x + i + 8 * k);
            low[k] = _mm256_min_ps(v, low[k]);          /* a value that is not below the second operand does not replace it */
            high[k] = _mm256_min_ps(_mm256_xor_ps(v, _mm256_set1_ps(-0.0f)), high[k]);
        }
    *min = lowest256(_mm256_min_ps(low[1], low[0]));
    *max = -lowest256(_mm256_min_ps(high[1], high[0]));
    for (; i < n; i++) {
        *min = x[i] < *min ? x[i] : *min;
        *max = x[i] > *max ? x[i] : *max;
    }
}

/* Rounds to F16; NaN stays NaN. */
static ALWAYS_INLINE __m256
near_half(__m256 v)
{
    return _mm256_cvtph_ps(_mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}

/* Returns eight codes, one in each lane; 0 for NaN. */
static ALWAYS_INLINE __m256i
codes8(__m256 x, const enum int_family family, const enum dtype d, __m256 scale, __m256 zero, __m256 lowest, __m256 most)
{
    __m256 v;
    if (family == AWQ)
        x = near_half(x);
    if (family == MLX)
        x = _mm256_sub_ps(x, zero);
    v = _mm256_div_ps(x, scale);
    if (family == CT)
        v = rounded256(_mm256_add_ps(d == DTYPE_F32 ? v : rounded256(v, d), zero), d);
    if (family == AWQ)
        v = near_half(v);
    v = _mm256_round_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    if (family == CT)
        v = _mm256_sub_ps(v, lowest);
    if (family == GPTQ || family == AWQ)
        v = _mm256_add_ps(v, zero);
    if (family == AWQ)
        v = near_half(v);
    v = _mm256_max_ps(_mm256_min_ps(most, v), _mm256_setzero_ps());     /* the second operand if one is NaN */
    return _mm256_cvttps_epi32(v);
}

static ALWAYS_INLINE void
codes_run(uint8_t *restrict q, const float *restrict x, size_t n, const struct int_group *g, const struct int_rule *rule,
    const enum int_family family, const enum dtype d, const struct int_method *scalar)
{
    const float least = -(float)(1u << (rule->bits - 1));
    const __m256 scale = _mm256_set1_ps(g->scale), zero = _mm256_set1_ps(family == CT ? g->zero + least : g->zero);
    const __m256 lowest = _mm256_set1_ps(least), most = _mm256_set1_ps((float)((1u << rule->bits) - 1));
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    size_t i = 0;
    for (; n - i >= 32; i += 32) {
        __m256i c[4];
        for (int k = 0; k < 4; k++)
            c[k] = codes8(_mm256_loadu_ps(x + i + 8 * k), family, d, scale, zero, lowest, most);
        __m256i bytes = _mm256_packus_epi16(_mm256_packus_epi32(c[0], c[1]), _mm256_packus_epi32(c[2], c[3]));
        _mm256_storeu_si256((__m256i *)(void *)(q + i), _mm256_permutevar8x32_epi32(bytes, order));
    }
    if (i < n)
        scalar->codes(q + i, x + i, n - i, g, rule);
}

static ALWAYS_INLINE void
back_run(float *restrict y, const uint8_t *restrict q, size_t n, const struct int_group *g, const struct int_rule *rule,
    const enum int_family family, const enum dtype d, const struct int_method *scalar)
{
    const __m256 scale = _mm256_set1_ps(rounded(d, g->scale)), zero = _mm256_set1_ps(family == MLX ? rounded(d, g->zero) : g->zero);
    size_t i = 0;
    for (; n - i >= 8; i += 8) {
        __m256 v = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(q + i))));
        if (family == MLX)
            v = rounded256(_mm256_add_ps(rounded256(_mm256_mul_ps(v, scale), d), zero), d);
        else
            v = _mm256_mul_ps(_mm256_sub_ps(v, zero), scale);
        _mm256_storeu_ps(y + i, v);
    }
    if (i < n)
        scalar->back(y + i, q + i, n - i, g, rule);
}

/* Finds the group of n values by their range, or, if all are NaN, by the values. */
static ALWAYS_INLINE void
find_run(struct int_group *g, const float *restrict x, size_t n, const struct int_rule *rule, float min, float max,
    const struct int_method *scalar)
{
    float ends[2] = { min, max };
    avx2_encode_int_range(&ends[0], &ends[1], x, n);
    if (ends[0] <= ends[1])
        scalar->find(g, ends, 2, rule);
    else
        scalar->find(g, x, n, rule);
}

/* --- the families */

static void
ct_find(struct int_group *g, const float *restrict x, size_t n, const struct int_rule *rule)
{
    find_run(g, x, n, rule, 0, 0, &encode_int_ct);
}

static void
ct_codes(uint8_t *restrict q, const float *restrict x, size_t n, const struct int_group *g, const struct int_rule *rule)
{
    if (rule->dtype == DTYPE_BF16)
        codes_run(q, x, n, g, rule, CT, DTYPE_BF16, &encode_int_ct);
    else if (rule->dtype == DTYPE_F16)
        codes_run(q, x, n, g, rule, CT, DTYPE_F16, &encode_int_ct);
    else
        codes_run(q, x, n, g, rule, CT, DTYPE_F32, &encode_int_ct);
}

static void
ct_back(float *restrict y, const uint8_t *restrict q, size_t n, const struct int_group *g, const struct int_rule *rule)
{
    back_run(y, q, n, g, rule, CT, rule->dtype, &encode_int_ct);
}

static void
gptq_find(struct int_group *g, const float *restrict x, size_t n, const struct int_rule *rule)
{
    find_run(g, x, n, rule, 0, 0, &encode_int_gptq);
}

static void
gptq_codes(uint8_t *restrict q, const float *restrict x, size_t n, const struct int_group *g, const struct int_rule *rule)
{
    codes_run(q, x, n, g, rule, GPTQ, DTYPE_F32, &encode_int_gptq);
}

static void
gptq_back(float *restrict y, const uint8_t *restrict q, size_t n, const struct int_group *g, const struct int_rule *rule)
{
    back_run(y, q, n, g, rule, GPTQ, DTYPE_F16, &encode_int_gptq);
}

static void
awq_find(struct int_group *g, const float *restrict x, size_t n, const struct int_rule *rule)
{
    find_run(g, x, n, rule, INFINITY, -INFINITY, &encode_int_awq);
}

static void
awq_codes(uint8_t *restrict q, const float *restrict x, size_t n, const struct int_group *g, const struct int_rule *rule)
{
    codes_run(q, x, n, g, rule, AWQ, DTYPE_F16, &encode_int_awq);
}

static void
awq_back(float *restrict y, const uint8_t *restrict q, size_t n, const struct int_group *g, const struct int_rule *rule)
{
    back_run(y, q, n, g, rule, AWQ, DTYPE_F16, &encode_int_awq);
}

static void
mlx_find(struct int_group *g, const float *restrict x, size_t n, const struct int_rule *rule)
{
    find_run(g, x, n, rule, INFINITY, -INFINITY, &encode_int_mlx);
}

static void
mlx_codes(uint8_t *restrict q, const float *restrict x, size_t n, const struct int_group *g, const struct int_rule *rule)
{
    codes_run(q, x, n, g, rule, MLX, DTYPE_F32, &encode_int_mlx);
}

static void
mlx_back(float *restrict y, const uint8_t *restrict q, size_t n, const struct int_group *g, const struct int_rule *rule)
{
    if (rule->dtype == DTYPE_BF16)
        back_run(y, q, n, g, rule, MLX, DTYPE_BF16, &encode_int_mlx);
    else if (rule->dtype == DTYPE_F16)
        back_run(y, q, n, g, rule, MLX, DTYPE_F16, &encode_int_mlx);
    else
        back_run(y, q, n, g, rule, MLX, DTYPE_F32, &encode_int_mlx);
}

/* --- bit streams */

/* Packs n codes, a multiple of 8: pairs, then fours, then eights of them are joined. */
static ALWAYS_INLINE void
pack_run(uint8_t *restrict y, const uint8_t *restrict q, size_t n, const unsigned bits)
{
    const __m256i pairs = _mm256_set1_epi16((short)(1 << (8 + bits) | 1)), fours = _mm256_set1_epi32(1 << (16 + 2 * bits) | 1);
    const __m256i low = _mm256_set1_epi64x(0xFFFFFFFF);
    for (; n >= 32; n -= 32, q += 32) {
        uint64_t word[4];
        __m256i v = _mm256_maddubs_epi16(_mm256_loadu_si256((const __m256i *)(const void *)q), pairs);
        v = _mm256_madd_epi16(v, fours);
        v = _mm256_or_si256(_mm256_and_si256(v, low), _mm256_slli_epi64(_mm256_srli_epi64(v, 32), 4 * bits));
        _mm256_storeu_si256((__m256i *)(void *)word, v);
        for (int i = 0; i < 4; i++, y += bits)
            memcpy(y, &word[i], bits);
    }
    encode_int_pack(y, q, n, bits);
}

static void
avx2_encode_int_pack(uint8_t *restrict y, const uint8_t *restrict q, size_t n, unsigned bits)
{
    switch (bits) {
    case 2:
        pack_run(y, q, n, 2);
        break;
    case 3:
        pack_run(y, q, n, 3);
        break;
    case 4:
        pack_run(y, q, n, 4);
        break;
    case 5:
        pack_run(y, q, n, 5);
        break;
    case 6:
        pack_run(y, q, n, 6);
        break;
    case 8:
        memcpy(y, q, n);
        break;
    default:
        encode_int_pack(y, q, n, bits);
    }
}

void
avx2_use_encode_int(struct kernels *k)
{
    static const struct int_method ct = { ct_find, ct_codes, ct_back }, gptq = { gptq_find, gptq_codes, gptq_back },
        awq = { awq_find, awq_codes, awq_back }, mlx = { mlx_find, mlx_codes, mlx_back };
    k->int_ct = &ct;
    k->int_gptq = &gptq;
    k->int_awq = &awq;
    k->int_mlx = &mlx;
    k->int_pack = avx2_encode_int_pack;
}

#endif
