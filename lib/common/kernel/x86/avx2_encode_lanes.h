/* avx2_encode_lanes: the searches of encode_search for eight groups of floats at a time. Each lane performs the operations
 * of the scalar function in the same order. Lane g of x[i] is element i of group g. If the scalar function branches, both
 * results are computed and one is selected. */
#ifndef KERNEL_X86_AVX2_ENCODE_LANES_H
#define KERNEL_X86_AVX2_ENCODE_LANES_H

#include <immintrin.h>

#include "kernel/encode_math.h"
#include "kernel/encode_search.h"
#include "kernel/x86/x86_priv.h"

enum { LANES = 8 };

static ALWAYS_INLINE void
lanes_transpose(__m256 r[LANES])
{
    __m256 t[LANES];

    for (int i = 0; i < 8; i += 2) {
        t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
        r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xEE);
        r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
        r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xEE);
    }
    for (int i = 0; i < 4; i++) {
        t[i] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x20);
        t[i + 4] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x31);
    }
    for (int i = 0; i < LANES; i++)
        r[i] = t[i];
}

/* Loads eight consecutive groups of n floats. */
static ALWAYS_INLINE void
lanes_load(__m256 *v, const float *x, const int n)
{
    for (int i = 0; i < n; i += LANES) {
        for (int g = 0; g < LANES; g++)
            v[i + g] = _mm256_loadu_ps(x + g * n + i);
        lanes_transpose(v + i);
    }
}

static ALWAYS_INLINE __m256
lanes_abs(__m256 v)
{
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), v);
}

/* Returns a + b * c, with the product rounded. */
static ALWAYS_INLINE __m256
lanes_add_product(__m256 a, __m256 b, __m256 c)
{
    return _mm256_add_ps(a, _mm256_mul_ps(b, c));
}

static ALWAYS_INLINE __m256
lanes_sum(const __m256 *v, const int n)
{
    __m256 sum = _mm256_setzero_ps();

    for (int i = 0; i < n; i++)
        sum = _mm256_add_ps(sum, v[i]);
    return sum;
}

/* Same as weigh_by_importance() for eight groups. */
static ALWAYS_INLINE void
lanes_weigh(__m256 *weights, const __m256 *x, const float *importance, float sigma, const int n)
{
    lanes_load(weights, importance, n);
    for (int i = 0; i < n; i++)
        weights[i] = _mm256_mul_ps(weights[i], _mm256_sqrt_ps(lanes_add_product(_mm256_set1_ps(sigma), x[i], x[i])));
}

/* Returns the nearest integer from low to high, plus NEAREST_MAGIC, for |v| < 2^22. The lowest byte of the result is the lowest
 * byte of the integer. */
static ALWAYS_INLINE __m256
lanes_nearest_magic(__m256 v, const int low, const int high)
{
    v = _mm256_add_ps(v, _mm256_set1_ps(NEAREST_MAGIC));
    v = _mm256_max_ps(v, _mm256_set1_ps(NEAREST_MAGIC + (float)low));
    return _mm256_min_ps(v, _mm256_set1_ps(NEAREST_MAGIC + (float)high));
}

static ALWAYS_INLINE __m256
lanes_nearest(__m256 v, const int low, const int high)
{
    return _mm256_sub_ps(lanes_nearest_magic(v, low, high), _mm256_set1_ps(NEAREST_MAGIC));
}

/* Same for any v, like nearest_int(). */
static ALWAYS_INLINE __m256
lanes_nearest_any(__m256 v, const int low, const int high)
{
    __m256i i = _mm256_castps_si256(_mm256_add_ps(v, _mm256_set1_ps(NEAREST_MAGIC)));

    i = _mm256_sub_epi32(_mm256_and_si256(i, _mm256_set1_epi32(0x7FFFFF)), _mm256_set1_epi32(0x400000));
    i = _mm256_min_epi32(_mm256_max_epi32(i, _mm256_set1_epi32(low)), _mm256_set1_epi32(high));
    return _mm256_cvtepi32_ps(i);
}

/* Packs the lowest bytes of v[0 .. 4) into one word in each lane. */
static ALWAYS_INLINE __m256
lanes_word(const __m256 v[4])
{
    const __m256i mask = _mm256_set1_epi32(0xFF);
    __m256i b[4];

    for (int i = 0; i < 4; i++)
        b[i] = _mm256_slli_epi32(_mm256_and_si256(_mm256_castps_si256(v[i]), mask), 8 * i);
    return _mm256_castsi256_ps(_mm256_or_si256(_mm256_or_si256(b[0], b[1]), _mm256_or_si256(b[2], b[3])));
}

/* Stores eight groups of n codes, the lowest bytes of v[0 .. n), one group after the other. */
static ALWAYS_INLINE void
lanes_put_codes(uint8_t *codes, const __m256 *v, const int n)
{
    __m256 words[LANES];

    for (int i = 0; i < LANES; i++)
        words[i] = i < n / 4 ? lanes_word(v + 4 * i) : _mm256_setzero_ps();
    lanes_transpose(words);
    for (int g = 0; g < LANES; g++)
        if (n == 32)
            _mm256_storeu_ps((float *)(void *)(codes + 32 * g), words[g]);
        else
            _mm_storeu_ps((float *)(void *)(codes + 16 * g), _mm256_castps256_ps128(words[g]));
}

/* --- symmetric */

/* Same as extreme() in each lane. */
static ALWAYS_INLINE __m256
lanes_extreme(const __m256 *x, const int n)
{
    __m256 magnitude = _mm256_setzero_ps(), value = magnitude;

    for (int i = 0; i < n; i++) {
        __m256 a = lanes_abs(x[i]), larger = _mm256_cmp_ps(a, magnitude, _CMP_GT_OQ);

        value = _mm256_blendv_ps(value, x[i], larger);
        magnitude = _mm256_max_ps(a, magnitude);
    }
    return value;
}

/* Returns true if the extreme value of every lane is finite and at least 1e-15 in magnitude. */
static ALWAYS_INLINE bool
lanes_ordinary(__m256 m)
{
    __m256 a = lanes_abs(m);
    __m256 ok = _mm256_and_ps(_mm256_cmp_ps(a, _mm256_set1_ps(1e-15f), _CMP_GE_OQ),
        _mm256_cmp_ps(a, _mm256_set1_ps(1e15f), _CMP_LT_OQ));

    return _mm256_movemask_ps(ok) == 0xFF;
}

/* Same as search_symmetric(). Returns false if a lane is not ordinary. x must not contain NaN. */
static ALWAYS_INLINE bool
lanes_search_symmetric(uint8_t *codes, float scales[LANES], const __m256 *x, const __m256 *weights, const int n,
    const int top)
{
    __m256 wx[SEARCH_MOST];
    __m256 m = lanes_extreme(x, n), inverse, scale, best;

    if (!lanes_ordinary(m))
        return false;
    for (int i = 0; i < n; i++)
        wx[i] = _mm256_mul_ps(weights[i], x[i]);
    inverse = scale = best = m;
    for (int try = 0; try < 19; try++) {
        int step = try == 0 ? 0 : try < 10 ? try - 10 : try - 9;        /* 0, -9 .. -1, 1 .. 9 */
        __m256 trial = _mm256_div_ps(_mm256_set1_ps(-((float)top + 0.1f * (float)step)), m);
        __m256 xl = _mm256_setzero_ps(), ll = xl;

        for (int i = 0; i < n; i++) {
            __m256 l = lanes_nearest(_mm256_mul_ps(trial, x[i]), -top, top - 1);

            xl = lanes_add_product(xl, wx[i], l);
            ll = lanes_add_product(ll, _mm256_mul_ps(weights[i], l), l);
        }
        if (try == 0) {
            __m256 some = _mm256_cmp_ps(ll, _mm256_setzero_ps(), _CMP_NEQ_UQ);

            inverse = trial;
            scale = _mm256_and_ps(some, _mm256_div_ps(xl, ll));
            best = _mm256_mul_ps(scale, xl);
            continue;
        }
        __m256 better = _mm256_and_ps(_mm256_cmp_ps(ll, _mm256_setzero_ps(), _CMP_GT_OQ),
            _mm256_cmp_ps(_mm256_mul_ps(xl, xl), _mm256_mul_ps(best, ll), _CMP_GT_OQ));
        __m256 fit = _mm256_div_ps(xl, ll);
        inverse = _mm256_blendv_ps(inverse, trial, better);
        scale = _mm256_blendv_ps(scale, fit, better);
        best = _mm256_blendv_ps(best, _mm256_mul_ps(fit, xl), better);
    }
    for (int i = 0; i < n; i++)                                         /* top is added */
        wx[i] = _mm256_add_ps(lanes_nearest_magic(_mm256_mul_ps(inverse, x[i]), -top, top - 1),
            _mm256_set1_ps((float)top));
    lanes_put_codes(codes, wx, n);
    _mm256_storeu_ps(scales, scale);
    return true;
}

/* --- symmetric, Q3_K */

enum { Q3_ELEMS = 16, Q3_SWEEPS = 5 };

struct lanes_fit {
    __m256 xl, ll;
};

/* Moves the code of one element in the lanes where that reduces the error. Returns true if it did in any lane. */
static ALWAYS_INLINE bool
lanes_q3_improve(__m256 *code, __m256 x, struct lanes_fit *fit)
{
    __m256 w = _mm256_mul_ps(x, x), wx = _mm256_mul_ps(w, x), zero = _mm256_setzero_ps();
    __m256 xl = _mm256_sub_ps(fit->xl, _mm256_mul_ps(wx, *code));
    __m256 ll = _mm256_sub_ps(fit->ll, _mm256_mul_ps(_mm256_mul_ps(w, *code), *code));
    __m256 next = lanes_nearest_any(_mm256_div_ps(_mm256_mul_ps(x, ll), xl), -4, 3);
    __m256 moves = _mm256_and_ps(_mm256_cmp_ps(xl, zero, _CMP_GT_OQ), _mm256_cmp_ps(next, *code, _CMP_NEQ_OQ));

    if (_mm256_movemask_ps(moves) == 0)
        return false;
    xl = lanes_add_product(xl, wx, next);
    ll = lanes_add_product(ll, _mm256_mul_ps(w, next), next);
    moves = _mm256_and_ps(moves, _mm256_cmp_ps(ll, zero, _CMP_GT_OQ));
    moves = _mm256_and_ps(moves, _mm256_cmp_ps(_mm256_mul_ps(_mm256_mul_ps(xl, xl), fit->ll),
        _mm256_mul_ps(_mm256_mul_ps(fit->xl, fit->xl), ll), _CMP_GT_OQ));
    if (_mm256_movemask_ps(moves) == 0)
        return false;
    *code = _mm256_blendv_ps(*code, next, moves);
    fit->xl = _mm256_blendv_ps(fit->xl, xl, moves);
    fit->ll = _mm256_blendv_ps(fit->ll, ll, moves);
    return true;
}

/* Same as search_symmetric_q3() for eight groups, with the same conditions. */
static ALWAYS_INLINE bool
lanes_search_symmetric_q3(uint8_t *codes, float scales[LANES], const __m256 *x)
{
    __m256 l[Q3_ELEMS], m = lanes_extreme(x, Q3_ELEMS), inverse;
    struct lanes_fit fit = { _mm256_setzero_ps(), _mm256_setzero_ps() };
    bool changed = true;

    if (!lanes_ordinary(m))
        return false;
    inverse = _mm256_div_ps(_mm256_set1_ps(-4.0f), m);
    for (int i = 0; i < Q3_ELEMS; i++) {
        __m256 w = _mm256_mul_ps(x[i], x[i]);

        l[i] = lanes_nearest(_mm256_mul_ps(inverse, x[i]), -4, 3);
        fit.xl = lanes_add_product(fit.xl, _mm256_mul_ps(w, x[i]), l[i]);
        fit.ll = lanes_add_product(fit.ll, _mm256_mul_ps(w, l[i]), l[i]);
    }
    for (int sweep = 0; sweep < Q3_SWEEPS && changed; sweep++) {
        changed = false;
        for (int i = 0; i < Q3_ELEMS; i++)
            changed |= lanes_q3_improve(&l[i], x[i], &fit);
    }
    for (int i = 0; i < Q3_ELEMS; i++)
        l[i] = _mm256_add_ps(l[i], _mm256_set1_ps(NEAREST_MAGIC + 4.0f));
    lanes_put_codes(codes, l, Q3_ELEMS);
    _mm256_storeu_ps(scales, _mm256_and_ps(_mm256_cmp_ps(fit.ll, _mm256_setzero_ps(), _CMP_GT_OQ),
        _mm256_div_ps(fit.xl, fit.ll)));
    return true;
}

/* --- with a minimum */

/* Returns the error of x = scale * code + low. */
static ALWAYS_INLINE __m256
lanes_min_error(const __m256 *codes, const __m256 *x, const __m256 *weights, const int n, __m256 scale, __m256 low,
    const bool absolute)
{
    __m256 error = _mm256_setzero_ps();

    for (int i = 0; i < n; i++) {
        __m256 off = _mm256_sub_ps(_mm256_add_ps(_mm256_mul_ps(scale, codes[i]), low), x[i]);

        if (absolute)
            off = lanes_abs(off);
        else
            off = _mm256_mul_ps(off, off);
        error = lanes_add_product(error, weights[i], off);
    }
    return error;
}

/* Returns the lanes for which lanes_nearest() is not valid. All steps are monotonic from the lowest element to the highest. */
static ALWAYS_INLINE __m256
lanes_beyond(__m256 inverse, __m256 low, __m256 lowest, __m256 highest)
{
    const __m256 limit = _mm256_set1_ps(0x1p21f);
    __m256 a = lanes_abs(_mm256_mul_ps(inverse, _mm256_sub_ps(lowest, low)));
    __m256 b = lanes_abs(_mm256_mul_ps(inverse, _mm256_sub_ps(highest, low)));

    return _mm256_or_ps(_mm256_cmp_ps(a, limit, _CMP_NLT_UQ), _mm256_cmp_ps(b, limit, _CMP_NLT_UQ));
}

/* Same as search_with_min(). Returns false if a lane is not ordinary. x must be finite. */
static ALWAYS_INLINE bool
lanes_search_with_min(uint8_t *codes, float scales[LANES], float mins[LANES], const __m256 *x, const __m256 *weights,
    const int n, const int top, const struct search_tries *tries)
{
    const __m256 zero = _mm256_setzero_ps();
    __m256 l[SEARCH_MOST];
    __m256 low = x[0], high = x[0], sum_w = weights[0], sum_x = _mm256_mul_ps(weights[0], x[0]);

    for (int i = 1; i < n; i++) {
        low = _mm256_min_ps(x[i], low);
        high = _mm256_max_ps(x[i], high);
        sum_w = _mm256_add_ps(sum_w, weights[i]);
        sum_x = lanes_add_product(sum_x, weights[i], x[i]);
    }
    low = _mm256_min_ps(zero, low);
    __m256 constant = _mm256_cmp_ps(high, low, _CMP_EQ_OQ);             /* all codes will be 0, and no try is better */
    high = _mm256_blendv_ps(high, _mm256_set1_ps(1e30f), constant);

    const __m256 lowest = low;
    __m256 inverse = _mm256_div_ps(_mm256_set1_ps((float)top), _mm256_sub_ps(high, low));
    __m256 scale = _mm256_div_ps(_mm256_set1_ps(1.0f), inverse);
    __m256 beyond = lanes_beyond(inverse, low, lowest, high);
    __m256 best_inverse = inverse, best_low = low;
    for (int i = 0; i < n; i++)
        l[i] = lanes_nearest(_mm256_mul_ps(inverse, _mm256_sub_ps(x[i], low)), 0, top);
    __m256 error = lanes_min_error(l, x, weights, n, scale, low, tries->absolute);

    for (int try = 0; try <= tries->last; try++) {
        __m256 sum_l = zero, sum_ll = zero, sum_xl = zero;

        inverse = _mm256_div_ps(_mm256_set1_ps(tries->first + tries->step * (float)try + (float)top),
            _mm256_sub_ps(high, low));
        beyond = _mm256_or_ps(beyond, lanes_beyond(inverse, low, lowest, high));
        for (int i = 0; i < n; i++) {
            l[i] = lanes_nearest(_mm256_mul_ps(inverse, _mm256_sub_ps(x[i], low)), 0, top);
            __m256 wl = _mm256_mul_ps(weights[i], l[i]);
            sum_l = _mm256_add_ps(sum_l, wl);
            sum_ll = lanes_add_product(sum_ll, wl, l[i]);
            sum_xl = lanes_add_product(sum_xl, wl, x[i]);
        }
        __m256 determinant = _mm256_sub_ps(_mm256_mul_ps(sum_w, sum_ll), _mm256_mul_ps(sum_l, sum_l));
        __m256 trial_scale = _mm256_div_ps(_mm256_sub_ps(_mm256_mul_ps(sum_w, sum_xl), _mm256_mul_ps(sum_x, sum_l)),
            determinant);
        __m256 trial_low = _mm256_div_ps(_mm256_sub_ps(_mm256_mul_ps(sum_ll, sum_x), _mm256_mul_ps(sum_l, sum_xl)),
            determinant);
        __m256 above = _mm256_cmp_ps(trial_low, zero, _CMP_GT_OQ);
        trial_scale = _mm256_blendv_ps(trial_scale, _mm256_div_ps(sum_xl, sum_ll), above);
        trial_low = _mm256_andnot_ps(above, trial_low);
        __m256 trial_error = lanes_min_error(l, x, weights, n, trial_scale, trial_low, tries->absolute);
        __m256 better = _mm256_and_ps(_mm256_cmp_ps(determinant, zero, _CMP_GT_OQ),
            _mm256_cmp_ps(trial_error, error, _CMP_LT_OQ));
        best_inverse = _mm256_blendv_ps(best_inverse, inverse, better);
        best_low = _mm256_blendv_ps(best_low, low, better);
        error = _mm256_blendv_ps(error, trial_error, better);
        scale = _mm256_blendv_ps(scale, trial_scale, better);
        low = _mm256_blendv_ps(low, trial_low, better);
    }
    if (_mm256_movemask_ps(beyond) != 0)
        return false;
    for (int i = 0; i < n; i++)
        l[i] = lanes_nearest_magic(_mm256_mul_ps(best_inverse, _mm256_sub_ps(x[i], best_low)), 0, top);
    lanes_put_codes(codes, l, n);
    _mm256_storeu_ps(scales, _mm256_andnot_ps(constant, scale));
    _mm256_storeu_ps(mins, _mm256_xor_ps(low, _mm256_set1_ps(-0.0f)));
    return true;
}

#endif
