/* avx2_encode_k: Q2_K to Q6_K. The eight groups of a block (or twice eight) are searched at once; the steps after the search
 * are the scalar encoder's, compiled for this CPU. A block that is not ordinary (infinite, NaN, all 0, tiny, huge) is
 * left to the scalar encoder. */
#if defined(__x86_64__)

#include "kernel/encode_k.h"

#include "kernel/encode_k_finish.h"
#include "kernel/x86/avx2_encode_lanes.h"

/* Returns true if no element of the block is infinite or NaN. */
static ALWAYS_INLINE bool
all_finite(const float *x)
{
    const __m256i mask = _mm256_set1_epi32(0x7FFFFFFF);
    __m256i largest = _mm256_setzero_si256();

    for (int i = 0; i < QK_K; i += 8)
        largest = _mm256_max_epi32(largest, _mm256_and_si256(_mm256_castps_si256(_mm256_loadu_ps(x + i)), mask));
    return _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(largest, _mm256_set1_epi32(0x7F7FFFFF)))) == 0;
}

/* Computes the weights of eight groups, and their sums. */
static ALWAYS_INLINE void
avx2_encode_k_weigh(__m256 *weights, float sums[LANES], const __m256 *x, const float *importance, float s, const int n)
{
    lanes_weigh(weights, x, importance, s, n);
    _mm256_storeu_ps(sums, lanes_sum(weights, n));
}

/* --- Q2_K */

static ALWAYS_INLINE bool
q2_k_search(struct k_groups *groups, const float *restrict x, const float *restrict importance)
{
    float s = 0.0f;
    if (importance != NULL)
        s = sum_of_squares(x, QK_K) / (float)QK_K;

    for (int g = 0; g < K_GROUPS; g += LANES) {
        __m256 v[16], weights[16];

        lanes_load(v, x + 16 * g, 16);
        if (importance != NULL)
            avx2_encode_k_weigh(weights, groups->weight + g, v, importance + 16 * g, s, 16);
        else
            for (int i = 0; i < 16; i++)
                weights[i] = lanes_abs(v[i]);
        if (!lanes_search_with_min(groups->codes + 16 * g, groups->scale + g, groups->min + g, v, weights, 16, 3,
                importance != NULL ? &search_tries_weighted : &q2_k_tries))
            return false;
    }
    return true;
}

/* --- Q3_K, Q6_K */

static ALWAYS_INLINE bool
q3_k_search(struct k_groups *groups, const float *restrict x, const float *restrict importance)
{
    float s = 0.0f;
    if (importance != NULL)
        s = 2.0f * sum_of_squares(x, QK_K) / (float)QK_K;

    for (int g = 0; g < K_GROUPS; g += LANES) {
        __m256 v[16], weights[16];
        uint8_t *codes = groups->codes + 16 * g;

        lanes_load(v, x + 16 * g, 16);
        if (importance != NULL) {
            avx2_encode_k_weigh(weights, groups->weight + g, v, importance + 16 * g, s, 16);
            if (!lanes_search_symmetric(codes, groups->scale + g, v, weights, 16, 4))
                return false;
        } else if (!lanes_search_symmetric_q3(codes, groups->scale + g, v))
            return false;
    }
    return true;
}

static ALWAYS_INLINE bool
q6_k_search(struct k_groups *groups, const float *restrict x, const float *restrict importance)
{
    for (int g = 0; g < K_GROUPS; g += LANES) {
        __m256 v[16], weights[16];

        lanes_load(v, x + 16 * g, 16);
        if (importance != NULL)
            lanes_load(weights, importance + 16 * g, 16);
        else
            for (int i = 0; i < 16; i++)
                weights[i] = _mm256_mul_ps(v[i], v[i]);
        if (!lanes_search_symmetric(groups->codes + 16 * g, groups->scale + g, v, weights, 16, 32))
            return false;
    }
    return true;
}

/* --- Q4_K, Q5_K */

static ALWAYS_INLINE bool
q45_k_search(struct k_groups *groups, const float *restrict x, const float *restrict importance, const int top,
    const struct search_tries *plain)
{
    __m256 v[32], weights[32];

    lanes_load(v, x, 32);
    if (importance != NULL)
        avx2_encode_k_weigh(weights, groups->weight, v, importance, 2.0f * sum_of_squares(x, QK_K) / (float)QK_K, 32);
    else {
        for (int i = 0; i < 32; i++)
            weights[i] = _mm256_mul_ps(v[i], v[i]);
        __m256 root = _mm256_sqrt_ps(_mm256_div_ps(lanes_sum(weights, 32), _mm256_set1_ps(32.0f)));
        for (int i = 0; i < 32; i++)
            weights[i] = _mm256_add_ps(root, lanes_abs(v[i]));
    }
    return lanes_search_with_min(groups->codes, groups->scale, groups->min, v, weights, 32, top,
        importance != NULL ? &search_tries_weighted : plain);
}

/* --- blocks */

/* A search is compiled for each type, with and without importance. */
static ALWAYS_INLINE bool
k_search(const enum dtype dtype, struct k_groups *groups, const float *restrict x, const float *restrict importance)
{
    const bool plain = importance == NULL;

    switch (dtype) {
    case DTYPE_Q2_K:
        if (plain)
            return q2_k_search(groups, x, NULL);
        return q2_k_search(groups, x, importance);
    case DTYPE_Q3_K:
        return q3_k_search(groups, x, importance);
    case DTYPE_Q4_K:
        if (plain)
            return q45_k_search(groups, x, NULL, 15, &q4_k_tries);
        return q45_k_search(groups, x, importance, 15, NULL);
    case DTYPE_Q5_K:
        if (plain)
            return q45_k_search(groups, x, NULL, 31, &q5_k_tries);
        return q45_k_search(groups, x, importance, 31, NULL);
    default:
        return q6_k_search(groups, x, importance);
    }
}

static ALWAYS_INLINE bool
block_as(const enum dtype dtype, uint8_t *restrict y, const float *restrict x, const float *restrict importance)
{
    struct k_groups groups;

    if (!all_finite(x) || !k_search(dtype, &groups, x, importance))
        return false;
    k_finish(dtype, y, &groups, x, importance != NULL);
    return true;
}

static bool
encode_block(enum dtype dtype, uint8_t *restrict y, const float *restrict x, const float *restrict importance)
{
    switch (dtype) {
    case DTYPE_Q2_K: return block_as(DTYPE_Q2_K, y, x, importance);
    case DTYPE_Q3_K: return block_as(DTYPE_Q3_K, y, x, importance);
    case DTYPE_Q4_K: return block_as(DTYPE_Q4_K, y, x, importance);
    case DTYPE_Q5_K: return block_as(DTYPE_Q5_K, y, x, importance);
    default: return block_as(DTYPE_Q6_K, y, x, importance);
    }
}

static bool
avx2_encode_k(enum dtype dtype, uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols,
    const float *restrict importance)
{
    size_t nbytes = dtype_facts(dtype)->bytes;

    for (size_t r = 0; r < rows; r++, x += cols)
        for (size_t c = 0; c < cols; c += QK_K, y += nbytes) {
            const float *of = NULL;
            if (importance != NULL)
                of = importance + c;

            if (!encode_block(dtype, y, x + c, of))
                encode_k(dtype, y, x + c, 1, QK_K, of);
        }
    return true;
}

void
avx2_use_encode_k(struct kernels *k)
{
    for (enum dtype dtype = DTYPE_Q2_K; dtype <= DTYPE_Q6_K; dtype++)
        k->encode[dtype] = avx2_encode_k;
}

#endif
