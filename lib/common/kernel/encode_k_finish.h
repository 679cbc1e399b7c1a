/* encode_k_finish: converts the results of a search to the bytes of a block of the K types; the layouts are drawn in
 * ref/k_quants.c. The scales (and minima) of the groups become small integers times one binary16 factor, and the codes are
 * computed again for the scales as a decoder will see them; where such a scale is 0, the codes of the search remain. Inline,
 * so that each set of kernels compiles it for its CPU.
 *
 * Source: ggml-quants.c, quantize_row_<type>_ref and quantize_row_<type>_impl.
 */
#ifndef KERNEL_ENCODE_K_FINISH_H
#define KERNEL_ENCODE_K_FINISH_H

#include "dtype/ggml_block.h"
#include "kernel/blocks.h"
#include "kernel/encode_math.h"
#include "kernel/encode_search.h"

enum { K_GROUPS = 16 };                         /* at most; Q4_K and Q5_K have 8 groups of 32 elements */

/* Results of the search for a block. */
struct k_groups {
    uint8_t codes[QK_K];
    float scale[K_GROUPS], min[K_GROUPS];
    float weight[K_GROUPS];                     /* sum of the elements' weights; used only with importance */
};

/* Tries without importance. */
static const struct search_tries q2_k_tries = { -0.5f, 0.1f, 15, true };
static const struct search_tries q4_k_tries = { -1.0f, 0.1f, 20, false };
static const struct search_tries q5_k_tries = { -0.5f, 0.1f, 15, false };

/* --- packing 256 codes */

/* Packs four codes of two bits, 32 elements apart, into each byte. */
static inline void
put_2_bits(uint8_t *restrict qs, const uint8_t *restrict codes)
{
    for (int h = 0; h < 2; h++, qs += 32, codes += 128)
        for (int l = 0; l < 32; l++)
            qs[l] = (uint8_t)((codes[l] & 3) | (codes[l + 32] & 3) << 2 | (codes[l + 64] & 3) << 4
                | (codes[l + 96] & 3) << 6);
}

/* Packs two codes of four bits, 32 elements apart, into each byte. */
static inline void
put_4_bits(uint8_t *restrict qs, const uint8_t *restrict codes)
{
    for (int p = 0; p < 4; p++, qs += 32, codes += 64)
        for (int l = 0; l < 32; l++)
            qs[l] = (uint8_t)((codes[l] & 15) | (codes[l + 32] & 15) << 4);
}

/* Packs one bit of each code, eight codes 32 elements apart into each byte. */
static inline void
put_bits(uint8_t *restrict qh, const uint8_t *restrict codes, int bit)
{
    for (int l = 0; l < 32; l++) {
        qh[l] = 0;
        for (int j = 0; j < 8; j++)
            qh[l] |= (uint8_t)((codes[32 * j + l] >> bit & 1) << j);
    }
}

/* --- codes for the decoded scales */

/* Computes the codes 0 .. top of n elements for the decoded scale and minimum. */
static inline void
codes_with_min(uint8_t *restrict codes, const float *restrict x, int n, int top, float scale, float min)
{
    if (scale != 0.0f)
        for (int i = 0; i < n; i++)
            codes[i] = (uint8_t)clamp_int(nearest_int((x[i] + min) / scale), 0, top);
}

/* Computes the codes -top .. top - 1 of 16 elements for the decoded scale, and adds top to them. */
static inline void
signed_codes(uint8_t *restrict codes, const float *restrict x, int top, float scale)
{
    if (scale != 0.0f)
        for (int i = 0; i < 16; i++)
            codes[i] = (uint8_t)(clamp_int(nearest_int(x[i] / scale), -top, top - 1) + top);
}

/* --- Q2_K */

/* Converts 16 scales or minima to integers, one a byte. Returns their factor. */
static inline float
q2_k_integers(uint8_t integers[K_GROUPS], const float v[K_GROUPS])
{
    float largest = 0.0f;

    for (int g = 0; g < K_GROUPS; g++)
        largest = v[g] > largest ? v[g] : largest;
    if (!(largest > 0.0f)) {
        memset(integers, 0, K_GROUPS);
        return 0.0f;
    }
    float inverse = 15.0f / largest;
    for (int g = 0; g < K_GROUPS; g++)
        integers[g] = (uint8_t)nearest_int(inverse * v[g]);
    return largest / 15.0f;
}

/* y has 84 bytes. `weighted`, here and below: the search had an importance matrix. */
static inline void
q2_k_finish(uint8_t *restrict y, struct k_groups *restrict groups, const float *restrict x, bool weighted)
{
    uint8_t scales[K_GROUPS], mins[K_GROUPS];
    float d, dmin;

    if (weighted) {
        d = search_positive(scales, groups->scale, groups->weight, K_GROUPS, 15);
        dmin = search_positive(mins, groups->min, groups->weight, K_GROUPS, 15);
    } else {
        d = q2_k_integers(scales, groups->scale);
        dmin = q2_k_integers(mins, groups->min);
    }
    store_half(y + 80, d);
    store_half(y + 82, dmin);
    d = through_half(d);
    dmin = through_half(dmin);
    for (int g = 0; g < K_GROUPS; g++) {
        y[g] = (uint8_t)(scales[g] | mins[g] << 4);
        codes_with_min(groups->codes + 16 * g, x + 16 * g, 16, 3, d * (float)(y[g] & 15), dmin * (float)(y[g] >> 4));
    }
    put_2_bits(y + 16, groups->codes);
}

/* --- Q3_K */

/* Converts 16 scales to 6-bit integers plus 32, and returns their factor. If all scales are 0, the factor is 0, and so are
 * the integers, only because the source does so. */
static inline float
q3_k_integers(uint8_t integers[K_GROUPS], const struct k_groups *groups, bool weighted)
{
    float largest = extreme(groups->scale, K_GROUPS);

    if (weighted)
        return search_symmetric(integers, groups->scale, groups->weight, K_GROUPS, 32);
    if (largest == 0.0f) {
        memset(integers, 0, K_GROUPS);
        return 0.0f;
    }
    float inverse = -32.0f / largest;
    for (int g = 0; g < K_GROUPS; g++)
        integers[g] = (uint8_t)(clamp_int((int8_t)nearest_int(inverse * groups->scale[g]), -32, 31) + 32);
    return 1.0f / inverse;
}

static inline void
q3_k_put_scales(uint8_t scales[12], const uint8_t integers[K_GROUPS])
{
    for (int j = 0; j < 8; j++)
        scales[j] = (uint8_t)((integers[j] & 15) | (integers[j + 8] & 15) << 4);
    for (int j = 0; j < 4; j++)
        scales[8 + j] = (uint8_t)(integers[j] >> 4 | integers[j + 4] >> 4 << 2 | integers[j + 8] >> 4 << 4
            | integers[j + 12] >> 4 << 6);
}

/* y has 110 bytes. */
static inline void
q3_k_finish(uint8_t *restrict y, struct k_groups *restrict groups, const float *restrict x, bool weighted)
{
    uint8_t integers[K_GROUPS];
    float d = q3_k_integers(integers, groups, weighted);

    q3_k_put_scales(y + 96, integers);
    store_half(y + 108, d);
    d = through_half(d);
    for (int g = 0; g < K_GROUPS; g++)
        signed_codes(groups->codes + 16 * g, x + 16 * g, 4, d * (float)(integers[g] - 32));
    put_bits(y, groups->codes, 2);
    put_2_bits(y + 32, groups->codes);
}

/* --- Q6_K */

/* Packs halves of 128 elements: the first 64 elements into the low nibbles, the others into the high ones. */
static inline void
q6_k_put(uint8_t *restrict ql, uint8_t *restrict qh, const uint8_t *restrict codes)
{
    for (int h = 0; h < 2; h++, ql += 64, codes += 128)
        for (int l = 0; l < 64; l++)
            ql[l] = (uint8_t)((codes[l] & 15) | (codes[l + 64] & 15) << 4);
    codes -= QK_K;
    for (int h = 0; h < 2; h++, qh += 32, codes += 128)
        for (int l = 0; l < 32; l++)
            qh[l] = (uint8_t)(codes[l] >> 4 | codes[l + 32] >> 4 << 2 | codes[l + 64] >> 4 << 4
                | codes[l + 96] >> 4 << 6);
}

/* y has 210 bytes, all 0 if the largest scale is below 1e-15. */
static inline void
q6_k_finish(uint8_t *restrict y, struct k_groups *restrict groups, const float *restrict x)
{
    float largest = extreme(groups->scale, K_GROUPS);

    if (fabsf(largest) < 1e-15f) {
        memset(y, 0, Q6_K_BYTES);
        return;
    }
    float inverse = -128.0f / largest, d = 1.0f / inverse;
    store_half(y + 208, d);
    d = through_half(d);
    for (int g = 0; g < K_GROUPS; g++) {
        int integer = nearest_int(inverse * groups->scale[g]);

        if (integer > 127)
            integer = 127;
        y[192 + g] = (uint8_t)integer;
        signed_codes(groups->codes + 16 * g, x + 16 * g, 32, d * (float)(int8_t)y[192 + g]);
    }
    q6_k_put(y, y + 128, groups->codes);
}

/* --- Q4_K and Q5_K */

/* Converts 8 scales or minima to integers. Returns their factor. */
static inline float
q45_k_integers(uint8_t integers[8], const float v[8])
{
    float largest = 0.0f;

    for (int g = 0; g < 8; g++)
        largest = v[g] > largest ? v[g] : largest;

    float inverse = 0.0f;
    if (largest > 0.0f)
        inverse = 63.0f / largest;
    for (int g = 0; g < 8; g++) {
        uint8_t integer = (uint8_t)nearest_int(inverse * v[g]);

        if (integer > 63)
            integer = 63;
        integers[g] = integer;
    }
    return largest / 63.0f;
}

static inline void
q45_k_put_scales(uint8_t s[12], const uint8_t scale[8], const uint8_t min[8])
{
    for (int j = 0; j < 4; j++) {
        s[j] = (uint8_t)(scale[j] | scale[j + 4] >> 4 << 6);
        s[j + 4] = (uint8_t)(min[j] | min[j + 4] >> 4 << 6);
        s[j + 8] = (uint8_t)((scale[j + 4] & 15) | (min[j + 4] & 15) << 4);
    }
}

/* Limits integers to 6 bits. A search may yield negative integers that wrapped, such as 229 for -27. */
static inline void
q5_k_clamp(uint8_t integers[8])
{
    for (int g = 0; g < 8; g++)
        integers[g] = integers[g] < 63 ? integers[g] : 63;
}

/* Writes the 16 bytes that precede the codes in both types, and computes the codes. Only Q5_K (top 31) limits the integers
 * of a search: in Q4_K the bits above the sixth overlap the bits of a neighbour, in ggml as here. */
static inline void
q45_k_head(uint8_t *restrict y, struct k_groups *restrict groups, const float *restrict x, int top, bool weighted)
{
    uint8_t scales[8], mins[8];
    float d, dmin;

    if (weighted) {
        d = search_positive(scales, groups->scale, groups->weight, 8, 63);
        dmin = search_positive(mins, groups->min, groups->weight, 8, 63);
        if (top == 31) {
            q5_k_clamp(scales);
            q5_k_clamp(mins);
        }
    } else {
        d = q45_k_integers(scales, groups->scale);
        dmin = q45_k_integers(mins, groups->min);
    }
    store_half(y, d);
    store_half(y + 2, dmin);
    q45_k_put_scales(y + 4, scales, mins);
    blocks_k_scales(scales, mins, y + 4);       /* a search may find some that do not fit: the stored ones count */
    d = through_half(d);
    dmin = through_half(dmin);
    for (int g = 0; g < 8; g++)
        codes_with_min(groups->codes + 32 * g, x + 32 * g, 32, top, d * (float)scales[g], dmin * (float)mins[g]);
}

/* y has 144 or 176 bytes. */
static inline void
q45_k_finish(uint8_t *restrict y, struct k_groups *restrict groups, const float *restrict x, int top, bool weighted)
{
    q45_k_head(y, groups, x, top, weighted);
    y += 16;
    if (top == 31) {
        put_bits(y, groups->codes, 4);
        y += 32;
    }
    put_4_bits(y, groups->codes);
}

static inline void
k_finish(enum dtype dtype, uint8_t *restrict y, struct k_groups *restrict groups, const float *restrict x, bool weighted)
{
    switch (dtype) {
    case DTYPE_Q2_K: q2_k_finish(y, groups, x, weighted); break;
    case DTYPE_Q3_K: q3_k_finish(y, groups, x, weighted); break;
    case DTYPE_Q4_K: q45_k_finish(y, groups, x, 15, weighted); break;
    case DTYPE_Q5_K: q45_k_finish(y, groups, x, 31, weighted); break;
    default: q6_k_finish(y, groups, x);
    }
}

#endif
