/* encode_k: works in three steps. A search finds the scale (and the minimum) of every group and the codes of its elements;
 * the other two steps are in encode_k_finish.h.
 *
 * The weight of an element is the weight of its squared error. Without importance it depends only on the element, and in
 * Q4_K and Q5_K also on its group. With importance it is importance * sqrt(s + x * x), where s is once or twice the mean
 * square of the block (in Q6_K it is the importance itself), and the scales of groups are searched in the same way as
 * elements, with the sum of the elements' weights as the weight of a group.
 *
 * Source: ggml-quants.c, quantize_row_<type>_ref and quantize_row_<type>_impl.
 */
#include "kernel/encode_k.h"

#include <string.h>

#include "kernel/encode_k_finish.h"
#include "kernel/nan.h"

static float
sum_of(const float *x, int n)
{
    float sum = 0.0f;

    for (int i = 0; i < n; i++)
        sum += x[i];
    return sum;
}

static void
q2_k_search(struct k_groups *groups, const float *restrict x, const float *restrict importance)
{
    float s = 0.0f;
    if (importance != NULL)
        s = sum_of_squares(x, QK_K) / (float)QK_K;

    for (int g = 0; g < K_GROUPS; g++) {
        const float *xg = x + 16 * g;
        float weights[16];

        if (importance != NULL)
            weigh_by_importance(weights, xg, importance + 16 * g, s, 16);
        else
            for (int i = 0; i < 16; i++)
                weights[i] = fabsf(xg[i]);
        groups->weight[g] = sum_of(weights, 16);
        groups->scale[g] = search_with_min(groups->codes + 16 * g, &groups->min[g], xg, weights, 16, 3,
            importance != NULL ? &search_tries_weighted : &q2_k_tries);
    }
}

static void
q3_k_search(struct k_groups *groups, const float *restrict x, const float *restrict importance)
{
    float s = 0.0f;
    if (importance != NULL)
        s = 2.0f * sum_of_squares(x, QK_K) / (float)QK_K;

    for (int g = 0; g < K_GROUPS; g++) {
        float weights[16];

        if (importance == NULL) {
            groups->scale[g] = search_symmetric_q3(groups->codes + 16 * g, x + 16 * g);
            continue;
        }
        weigh_by_importance(weights, x + 16 * g, importance + 16 * g, s, 16);
        groups->weight[g] = sum_of(weights, 16);
        groups->scale[g] = search_symmetric(groups->codes + 16 * g, x + 16 * g, weights, 16, 4);
    }
}

static void
q6_k_search(struct k_groups *groups, const float *restrict x, const float *restrict importance)
{
    for (int g = 0; g < K_GROUPS; g++)
        groups->scale[g] = search_symmetric(groups->codes + 16 * g, x + 16 * g,
            importance != NULL ? importance + 16 * g : NULL, 16, 32);
}

static void
q45_k_search(struct k_groups *groups, const float *restrict x, const float *restrict importance, int top,
    const struct search_tries *plain)
{
    float s = 0.0f;
    if (importance != NULL)
        s = 2.0f * sum_of_squares(x, QK_K) / (float)QK_K;

    for (int g = 0; g < 8; g++) {
        const float *xg = x + 32 * g;
        float weights[32];

        if (importance != NULL)
            weigh_by_importance(weights, xg, importance + 32 * g, s, 32);
        else {
            float root = sqrtf(sum_of_squares(xg, 32) / 32.0f);

            for (int i = 0; i < 32; i++)
                weights[i] = root + fabsf(xg[i]);
        }
        groups->weight[g] = sum_of(weights, 32);
        groups->scale[g] = search_with_min(groups->codes + 32 * g, &groups->min[g], xg, weights, 32, top,
            importance != NULL ? &search_tries_weighted : plain);
    }
}

static void
k_search(enum dtype dtype, struct k_groups *groups, const float *restrict x, const float *restrict importance)
{
    switch (dtype) {
    case DTYPE_Q2_K: q2_k_search(groups, x, importance); break;
    case DTYPE_Q3_K: q3_k_search(groups, x, importance); break;
    case DTYPE_Q4_K: q45_k_search(groups, x, importance, 15, &q4_k_tries); break;
    case DTYPE_Q5_K: q45_k_search(groups, x, importance, 31, &q5_k_tries); break;
    default: q6_k_search(groups, x, importance);
    }
}

bool
encode_k(enum dtype dtype, uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols,
    const float *restrict importance)
{
    size_t nbytes = dtype_facts(dtype)->bytes;

    for (size_t r = 0; r < rows; r++, x += cols)
        for (size_t c = 0; c < cols; c += QK_K, y += nbytes) {
            struct k_groups groups;

            k_search(dtype, &groups, x + c, importance != NULL ? importance + c : NULL);
            k_finish(dtype, y, &groups, x + c, importance != NULL);
        }
    return true;
}

/* Q8_K: d F32, 256 codes, and the sum of every 16 codes; used by llama.cpp for intermediate results. Ignores importance. */
static void
q8_k_block(uint8_t *y, const float *x)
{
    float most = extreme(x, QK_K), inverse = -127.0f / most, d = most != 0.0f ? 1.0f / inverse : 0.0f;

    memset(y, 0, Q8_K_BYTES);
    d = nan_canonical(d);
    memcpy(y, &d, sizeof d);
    for (int i = 0, sum = 0; most != 0.0f && i < QK_K; i++) {
        int code = clamp_int(nearest_int(inverse * x[i]), INT_MIN, 127);

        y[4 + i] = (uint8_t)code;
        sum += (int8_t)code;
        if (i % 16 == 15) {
            store_word(y + 4 + QK_K + i / 16 * 2, (unsigned)sum);
            sum = 0;
        }
    }
}

bool
encode_q8_k(enum dtype dtype, uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols,
    const float *restrict importance)
{
    (void)dtype, (void)importance;
    for (size_t n = rows * cols / QK_K; n > 0; n--, y += Q8_K_BYTES, x += QK_K)
        q8_k_block(y, x);
    return true;
}
