/* avx2_encode_weighted: Q4_0, Q4_1, Q5_0, Q5_1 with importance, eight blocks of a row searched at once. A row in
 * which a block is not ordinary (infinite, NaN, all 0, tiny, huge) is left to the scalar encoder. */
#if defined(__x86_64__)

#include "kernel/encode_q.h"

#include "dtype/ggml_block.h"
#include "kernel/x86/avx2_encode_bits.h"
#include "kernel/x86/avx2_encode_lanes.h"

enum { ELEMS = 32, BATCH = LANES * ELEMS };

/* Eight blocks after a search: x = scale * code - min, or scale * (code - top). */
struct found {
    uint8_t codes[BATCH];
    float scale[LANES], min[LANES];
};

static ALWAYS_INLINE bool
all_finite(const __m256 x[ELEMS])
{
    __m256 largest = _mm256_setzero_ps();

    for (int i = 0; i < ELEMS; i++)                             /* NaN - NaN and infinity - infinity are NaN */
        largest = _mm256_or_ps(largest, _mm256_sub_ps(x[i], x[i]));
    return _mm256_movemask_ps(_mm256_cmp_ps(largest, largest, _CMP_UNORD_Q)) == 0;
}

/* x, importance: BATCH. */
static ALWAYS_INLINE bool
search(struct found *found, const float *x, const float *importance, float mean_square, const int top,
    const bool with_min)
{
    static const struct search_tries tries = { -0.9f, 0.05f, 36, false };
    __m256 v[ELEMS], weights[ELEMS];

    lanes_load(v, x, ELEMS);
    lanes_load(weights, importance, ELEMS);
    for (int i = 0; i < ELEMS; i++)
        weights[i] = _mm256_mul_ps(weights[i],
            _mm256_sqrt_ps(lanes_add_product(_mm256_set1_ps(mean_square), v[i], v[i])));
    if (!all_finite(v))
        return false;
    return with_min ? lanes_search_with_min(found->codes, found->scale, found->min, v, weights, ELEMS, top, &tries)
        : lanes_search_symmetric(found->codes, found->scale, v, weights, ELEMS, top);
}

/* The same of `count` blocks at the end of a row: the last one again and again fills the lanes. */
static ALWAYS_INLINE bool
search_rest(struct found *found, const float *x, const float *importance, size_t count, float mean_square,
    const int top, const bool with_min)
{
    float xs[BATCH], of[BATCH];

    for (size_t b = 0; b < LANES; b++) {
        size_t from = (b < count ? b : count - 1) * ELEMS;

        memcpy(xs + b * ELEMS, x + from, ELEMS * sizeof *x);
        memcpy(of + b * ELEMS, importance + from, ELEMS * sizeof *of);
    }
    return search(found, xs, of, mean_square, top, with_min);
}

static ALWAYS_INLINE void
put_block(uint8_t *restrict y, const struct found *found, size_t b, const int top, const bool with_min)
{
    __m256i codes = _mm256_loadu_si256((const __m256i *)(const void *)(found->codes + b * ELEMS));

    store_half(y, found->scale[b]);
    y += 2;
    if (with_min) {
        store_half(y, -found->min[b]);
        y += 2;
    }
    if (top * (with_min ? 1 : 2) > 16) {                        /* codes of five bits */
        put_fifth_bits(y, codes);
        y += 4;
    }
    put_nibbles(y, codes);
}

static ALWAYS_INLINE bool
encode_row(uint8_t *restrict y, const float *restrict x, size_t cols, const float *restrict importance, const int top,
    const bool with_min, const size_t nbytes)
{
    float mean_square = sum_of_squares(x, cols) / (float)cols;
    struct found found;

    for (size_t c = 0; c < cols; c += BATCH) {
        size_t count = cols - c < BATCH ? (cols - c) / ELEMS : LANES;

        if (!(count == LANES ? search(&found, x + c, importance + c, mean_square, top, with_min)
                : search_rest(&found, x + c, importance + c, count, mean_square, top, with_min)))
            return false;
        for (size_t b = 0; b < count; b++, y += nbytes)
            put_block(y, &found, b, top, with_min);
    }
    return true;
}

bool
q4_0_weighted_avx2(uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols,
    const float *restrict importance)
{
    size_t nbytes = cols / ELEMS * Q4_0_BYTES;

    for (; rows > 0; rows--, y += nbytes, x += cols)
        if (!encode_row(y, x, cols, importance, 8, false, Q4_0_BYTES))
            q4_0_encode(y, x, 1, cols, importance);
    return true;
}

bool
q4_1_weighted_avx2(uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols,
    const float *restrict importance)
{
    size_t nbytes = cols / ELEMS * Q4_1_BYTES;

    for (; rows > 0; rows--, y += nbytes, x += cols)
        if (!encode_row(y, x, cols, importance, 15, true, Q4_1_BYTES))
            q4_1_encode(y, x, 1, cols, importance);
    return true;
}

bool
q5_0_weighted_avx2(uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols,
    const float *restrict importance)
{
    size_t nbytes = cols / ELEMS * Q5_0_BYTES;

    for (; rows > 0; rows--, y += nbytes, x += cols)
        if (!encode_row(y, x, cols, importance, 16, false, Q5_0_BYTES))
            q5_0_encode(y, x, 1, cols, importance);
    return true;
}

bool
q5_1_weighted_avx2(uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols,
    const float *restrict importance)
{
    size_t nbytes = cols / ELEMS * Q5_1_BYTES;

    for (; rows > 0; rows--, y += nbytes, x += cols)
        if (!encode_row(y, x, cols, importance, 31, true, Q5_1_BYTES))
            q5_1_encode(y, x, 1, cols, importance);
    return true;
}

#endif
