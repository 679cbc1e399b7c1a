/* avx2_encode_iq4: IQ4_NL and IQ4_XS. Eight runs are searched side by side, one in each lane: every lane performs the
 * operations of the scalar search in the same order, so the sums are bit-identical. */
#if defined(__x86_64__)

#include "kernel/encode_iq4.h"

#include <immintrin.h>

#include "kernel/blocks.h"
#include "kernel/x86/avx2_encode_lanes.h"

/* The values of iq4_between as a tree with one table for each depth, and the levels under its leaves */
struct iq4_tree {
    __m256 root, low2, high2, third, fourth, even, odd;
};

static ALWAYS_INLINE struct iq4_tree
tree_make(void)
{
    const float *b = iq4_between;
    const int8_t *q = iq4_levels;

    return (struct iq4_tree){
        .root = _mm256_set1_ps(b[7]), .low2 = _mm256_set1_ps(b[3]), .high2 = _mm256_set1_ps(b[11]),
        .third = _mm256_setr_ps(b[1], b[5], b[9], b[13], 0, 0, 0, 0),
        .fourth = _mm256_setr_ps(b[0], b[2], b[4], b[6], b[8], b[10], b[12], b[14]),
        .even = _mm256_setr_ps(q[0], q[2], q[4], q[6], q[8], q[10], q[12], q[14]),
        .odd = _mm256_setr_ps(q[1], q[3], q[5], q[7], q[9], q[11], q[13], q[15]),
    };
}

/* Finds the place of v: the code without its lowest bit, and a mask for that bit. NaN is not below anything. */
struct iq4_leaf {
    __m256i pair;
    __m256 odd;
};

static ALWAYS_INLINE __m256i
below(__m256i index, __m256 taken)
{
    return _mm256_sub_epi32(_mm256_add_epi32(index, index), _mm256_castps_si256(taken));
}

static ALWAYS_INLINE struct iq4_leaf
leaf_of(const struct iq4_tree *t, __m256 v)
{
    __m256 taken = _mm256_cmp_ps(v, t->root, _CMP_NLT_UQ);
    __m256i index = below(_mm256_setzero_si256(), taken);

    taken = _mm256_cmp_ps(v, _mm256_blendv_ps(t->low2, t->high2, taken), _CMP_NLT_UQ);
    index = below(index, taken);
    taken = _mm256_cmp_ps(v, _mm256_permutevar8x32_ps(t->third, index), _CMP_NLT_UQ);
    index = below(index, taken);
    return (struct iq4_leaf){ index, _mm256_cmp_ps(v, _mm256_permutevar8x32_ps(t->fourth, index), _CMP_NLT_UQ) };
}

struct iq4_lane_sums {
    __m256 qx, q2;
};

static ALWAYS_INLINE struct iq4_lane_sums
sums_with(const struct iq4_tree *t, const __m256 *x, const __m256 *w, __m256 id)
{
    struct iq4_lane_sums s = { _mm256_setzero_ps(), _mm256_setzero_ps() };

    for (int i = 0; i < IQ4_RUN; i++) {
        struct iq4_leaf leaf = leaf_of(t, _mm256_mul_ps(id, x[i]));
        __m256 q = _mm256_blendv_ps(_mm256_permutevar8x32_ps(t->even, leaf.pair),
            _mm256_permutevar8x32_ps(t->odd, leaf.pair), leaf.odd);
        __m256 wq = _mm256_mul_ps(w[i], q);

        s.qx = _mm256_add_ps(s.qx, _mm256_mul_ps(wq, x[i]));
        s.q2 = _mm256_add_ps(s.q2, _mm256_mul_ps(wq, q));
    }
    return s;
}

static void
scales(float scale[IQ4_RUNS], const float *from_x, const float *from_w)
{
    const struct iq4_tree t = tree_make();
    const __m256 zero = _mm256_setzero_ps(), sign = _mm256_set1_ps(-0.0f);
    __m256 x[IQ4_RUN], w[IQ4_RUN];

    lanes_load(x, from_x, IQ4_RUN);
    lanes_load(w, from_w, IQ4_RUN);

    __m256 most = lanes_extreme(x, IQ4_RUN);
    __m256 d = _mm256_div_ps(_mm256_xor_ps(most, sign), _mm256_set1_ps(iq4_levels[0]));
    struct iq4_lane_sums s = sums_with(&t, x, w, _mm256_div_ps(_mm256_set1_ps(1), d));
    __m256 found = _mm256_and_ps(_mm256_div_ps(s.qx, s.q2), _mm256_cmp_ps(s.q2, zero, _CMP_GT_OQ));
    __m256 best = _mm256_mul_ps(found, s.qx);
    for (int step = -IQ4_STEPS; step <= IQ4_STEPS; step++) {
        s = sums_with(&t, x, w, _mm256_div_ps(_mm256_set1_ps((float)(step + iq4_levels[0])), most));
        __m256 better = _mm256_and_ps(_mm256_cmp_ps(s.q2, zero, _CMP_GT_OQ),
            _mm256_cmp_ps(_mm256_mul_ps(s.qx, s.qx), _mm256_mul_ps(best, s.q2), _CMP_GT_OQ));
        found = _mm256_blendv_ps(found, _mm256_div_ps(s.qx, s.q2), better);
        best = _mm256_blendv_ps(best, _mm256_mul_ps(found, s.qx), better);
    }
    __m256 small = _mm256_cmp_ps(lanes_abs(most), _mm256_set1_ps(1e-15f), _CMP_LT_OQ);
    _mm256_storeu_ps(scale, _mm256_andnot_ps(small, found));
}

static void
codes(uint8_t *qs, const float *x, float id)
{
    const struct iq4_tree t = tree_make();
    __m256i code[4];

    for (int i = 0; i < 4; i++) {
        struct iq4_leaf leaf = leaf_of(&t, _mm256_mul_ps(_mm256_set1_ps(id), _mm256_loadu_ps(x + 8 * i)));

        code[i] = below(leaf.pair, leaf.odd);
    }
    __m256i low = _mm256_or_si256(code[0], _mm256_slli_epi32(code[2], 4));
    __m256i high = _mm256_or_si256(code[1], _mm256_slli_epi32(code[3], 4));
    __m256i words = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, high), 0xD8);
    _mm_storeu_si128((__m128i *)(void *)qs,
        _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
}

static const struct iq4_how eight_at_once = { scales, codes };

static bool
avx2_encode_iq4(enum dtype dtype, uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols,
    const float *restrict importance)
{
    return encode_iq4_by(&eight_at_once, dtype, y, x, rows, cols, importance);
}

void
avx2_use_encode_iq4(struct kernels *k)
{
    k->encode[DTYPE_IQ4_NL] = k->encode[DTYPE_IQ4_XS] = avx2_encode_iq4;
}

#endif
