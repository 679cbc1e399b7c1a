/* avx2_same: 32 floats at a time; the compiler vectorizes the other loops. */
#if defined(__x86_64__)

#include <math.h>

#include "kernel/same_inline.h"
#include "kernel/x86/x86_priv.h"

#include "kernel/x86/avx2_inline.h"

enum { STEP = 32 };

/* Returns the lanes that differ, or are NaN. */
static ALWAYS_INLINE __m256
differing(const float *x, const float *y)
{
    return _mm256_cmp_ps(_mm256_loadu_ps(x), _mm256_loadu_ps(y), _CMP_NEQ_UQ);
}

static bool
avx2_same_floats(const float *x, const float *y, size_t n)
{
    __m256 differs = _mm256_setzero_ps();
    size_t i = 0;
    for (; n - i >= STEP; i += STEP)
        differs = _mm256_or_ps(_mm256_or_ps(differs, _mm256_or_ps(differing(x + i, y + i), differing(x + i + 8, y + i + 8))),
            _mm256_or_ps(differing(x + i + 16, y + i + 16), differing(x + i + 24, y + i + 24)));
    return _mm256_movemask_ps(differs) == 0 && same_floats(x + i, y + i, n - i);
}

static bool
avx2_same_products(uint8_t *q, const float *x, size_t n, float d, float zero, float low, float top, bool rounds)
{
    return rounds ? products(q, x, n, d, zero, low, top, true) : products(q, x, n, d, zero, low, top, false);
}

static bool
avx2_same_steps(uint8_t *q, const float *x, size_t n, float d, float m, float top)
{
    return steps(q, x, n, d, m, top);
}

static struct same_extent
avx2_same_extent(const float *x, size_t n)
{
    return extent(x, n);
}

/* Returns the lanes that differ after rounding, or become infinite, and differ before. */
static ALWAYS_INLINE __m256
differing_as(const float *x, const float *y, const enum dtype type)
{
    const __m256 a = rounded256(_mm256_loadu_ps(x), type), magnitude = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a);
    __m256 differs = _mm256_cmp_ps(a, rounded256(_mm256_loadu_ps(y), type), _CMP_NEQ_UQ);
    differs = _mm256_or_ps(differs, _mm256_cmp_ps(magnitude, _mm256_set1_ps(INFINITY), _CMP_NLT_UQ));
    return _mm256_and_ps(differs, differing(x, y));
}

static ALWAYS_INLINE bool
all_same(const float *x, const float *y, size_t n, const enum dtype type)
{
    __m256 differs = _mm256_setzero_ps();
    size_t i = 0;
    for (; n - i >= 8; i += 8)
        differs = _mm256_or_ps(differs, differing_as(x + i, y + i, type));
    return _mm256_movemask_ps(differs) == 0 && same_rounded(type, x + i, y + i, n - i);
}

/* Returns true if n floats, a multiple of 8, are finite numbers of BF16 with the bits of others that are rounded: what is to be expected. */
static ALWAYS_INLINE bool
all_bf16(const float *x, const float *y, size_t n)
{
    const __m256i high = _mm256_set1_epi32((int)0xFFFF0000);
    __m256i differs = _mm256_setzero_si256(), most = differs;
    for (size_t i = 0; i < n; i += 8) {
        __m256i v = _mm256_castps_si256(_mm256_loadu_ps(x + i)), w = _mm256_castps_si256(_mm256_loadu_ps(y + i));
        differs = _mm256_or_si256(differs, _mm256_xor_si256(v, _mm256_and_si256(bf16_high256(_mm256_castsi256_ps(w)), high)));
        most = _mm256_max_epu32(most, _mm256_max_epu32(_mm256_add_epi32(v, v), _mm256_add_epi32(w, w)));
    }
    most = _mm256_cmpeq_epi32(_mm256_max_epu32(most, _mm256_set1_epi32((int)0xFF000000)), most);      /* infinite or NaN */
    return _mm256_testz_si256(differs, differs) && _mm256_testz_si256(most, most);
}

static bool
avx2_same_rounded(enum dtype type, const float *x, const float *y, size_t n)
{
    size_t whole = n - n % 8;
    if (type == DTYPE_BF16 && all_bf16(x, y, whole))
        return same_rounded(type, x + whole, y + whole, n - whole);
    return type == DTYPE_BF16 ? all_same(x, y, n, DTYPE_BF16) : type == DTYPE_F16 ? all_same(x, y, n, DTYPE_F16)
        : avx2_same_floats(x, y, n);
}

/* Returns the lanes that are not a code times the scale. */
static ALWAYS_INLINE __m256
no_code(const float *x, __m256 scale, __m256 inverse, const struct same_fp8_form f, const enum dtype type)
{
    const __m256 v = _mm256_loadu_ps(x), q = _mm256_mul_ps(v, inverse), a = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), q);
    const __m256 t = _mm256_mul_ps(q, _mm256_set1_ps(f.split)), magic = _mm256_set1_ps(f.magic);
    __m256 code = _mm256_blendv_ps(_mm256_sub_ps(t, _mm256_sub_ps(t, q)), _mm256_sub_ps(_mm256_add_ps(q, magic), magic),
        _mm256_cmp_ps(a, _mm256_set1_ps(f.least), _CMP_LT_OQ));
    __m256 p = _mm256_mul_ps(code, scale);
    if (type == DTYPE_BF16)
        p = _mm256_castsi256_ps(_mm256_and_si256(bf16_high256(p), _mm256_set1_epi32((int)0xFFFF0000)));
    return _mm256_or_ps(_mm256_cmp_ps(p, v, _CMP_NEQ_UQ), _mm256_cmp_ps(a, _mm256_set1_ps(f.end), _CMP_NLT_UQ));
}

static ALWAYS_INLINE size_t
count_fp8(const float *x, size_t n, float scale, const struct same_fp8_form f, const enum dtype type)
{
    const __m256 s = _mm256_set1_ps(scale), inverse = _mm256_set1_ps(1 / scale);
    size_t i = 0;
    for (; n - i >= 8; i += 8) {
        int wrong = _mm256_movemask_ps(no_code(x + i, s, inverse, f, type));
        if (wrong != 0)
            return i + (size_t)__builtin_ctz((unsigned)wrong);
    }
    return i;
}

static size_t
avx2_same_fp8(enum dtype codes, enum dtype type, const float *x, size_t n, float scale)
{
    size_t i = codes == DTYPE_F8_E4M3
        ? type == DTYPE_BF16 ? count_fp8(x, n, scale, SAME_E4M3, DTYPE_BF16) : count_fp8(x, n, scale, SAME_E4M3, DTYPE_F32)
        : type == DTYPE_BF16 ? count_fp8(x, n, scale, SAME_E5M2, DTYPE_BF16) : count_fp8(x, n, scale, SAME_E5M2, DTYPE_F32);
    return n - i < 8 ? i + same_fp8(codes, type, x + i, n - i, scale) : i;
}

void
avx2_use_same(struct kernels *k)
{
    k->same_products = avx2_same_products;
    k->same_steps = avx2_same_steps;
    k->same_extent = avx2_same_extent;
    k->same_rounded = avx2_same_rounded;
    k->same_fp8 = avx2_same_fp8;
    k->same_floats = avx2_same_floats;
}

#endif
