/* encode_q: the layouts are drawn in ref/q_blocks.c and ref/ternary.c. Without importance the factor makes the largest value
 * fit, and the codes are computed from the factor before it is rounded to binary16.
 *
 * With importance the four small types search for the factor. The weight of an element is then importance * sqrt(s + x * x),
 * where s is the mean square of its whole row.
 *
 * Source: ggml-quants.c, quantize_row_<type>_ref, quantize_row_<type>_impl, quantize_<type>.
 */
#include "kernel/encode_q.h"

#include <float.h>

#include "kernel/encode_math.h"
#include "kernel/encode_search.h"

enum { ELEMS = Q4_0_ELEMS };                    /* same for Q4_1, Q5_0, Q5_1 */

/* --- packing: the second half of a block is in the high nibbles */

static void
put_nibbles(uint8_t *restrict qs, const uint8_t codes[ELEMS])
{
    for (int j = 0; j < 16; j++)
        qs[j] = (uint8_t)((codes[j] & 15) | (codes[j + 16] & 15) << 4);
}

static void
put_fifth_bits(uint8_t *restrict qh, const uint8_t codes[ELEMS])
{
    for (int j = 0; j < 4; j++) {
        qh[j] = 0;
        for (int bit = 0; bit < 8; bit++)
            qh[j] |= (uint8_t)((codes[8 * j + bit] >> 4 & 1) << bit);
    }
}

void
q_join(enum dtype type, uint8_t *restrict y, const uint8_t *restrict q, const uint16_t *restrict factor, size_t nblocks)
{
    const struct encode_q_type t = encode_q_type(type);
    for (size_t i = 0; i < nblocks; i++, q += ELEMS, factor += 2) {
        store_le16(y, factor[0]);
        y += 2;
        if (type == DTYPE_Q8_0) {
            memcpy(y, q, ELEMS);
            y += ELEMS;
            continue;
        }
        if (t.with_min) {
            store_le16(y, factor[1]);
            y += 2;
        }
        if (t.fifth_bits) {
            put_fifth_bits(y, q);
            y += 4;
        }
        put_nibbles(y, q);
        y += ELEMS / 2;
    }
}

void
q_split(enum dtype type, uint8_t *restrict q, uint16_t *restrict factor, const uint8_t *restrict y, size_t nblocks)
{
    const struct encode_q_type t = encode_q_type(type);
    for (size_t i = 0; i < nblocks; i++, q += ELEMS, factor += 2) {
        factor[0] = load_le16(y);
        factor[1] = 0;
        y += 2;
        if (type == DTYPE_Q8_0) {
            memcpy(q, y, ELEMS);
            y += ELEMS;
            continue;
        }
        if (t.with_min) {
            factor[1] = load_le16(y);
            y += 2;
        }
        const uint8_t *nibbles = y + (t.fifth_bits ? 4 : 0);
        for (int j = 0; j < ELEMS; j++) {
            unsigned fifth = 0;
            if (t.fifth_bits)
                fifth = y[j / 8] >> j % 8 & 1u;
            q[j] = (uint8_t)((nibbles[j % 16] >> j / 16 * 4 & 15) | fifth << 4);
        }
        y = nibbles + ELEMS / 2;
    }
}

/* --- 32 elements, 4 or 5 bits */

/* Returns the low byte, taken as signed and limited to `most`. */
static uint8_t
encode_q_code_of(float v, int most)
{
    int code = (int8_t)truncated_int(v);

    if (code > most)
        return (uint8_t)most;
    return (uint8_t)code;
}

/* x = (code - top) * d: the extreme value becomes -top. Returns d. */
static float
symmetric_codes(uint8_t codes[ELEMS], const float *restrict x, int top)
{
    float factor = extreme(x, ELEMS) / -(float)top;
    float inverse = inverse_or_0(factor);

    for (int j = 0; j < ELEMS; j++)
        codes[j] = encode_q_code_of(x[j] * inverse + ((float)top + 0.5f), 2 * top - 1);
    return factor;
}

/* x = code * d - min, where -min is the smallest value. Returns d. */
static float
min_codes(uint8_t codes[ELEMS], float *min, const float *restrict x, int top)
{
    float low = FLT_MAX, high = -FLT_MAX;

    for (int j = 0; j < ELEMS; j++) {
        if (x[j] < low)
            low = x[j];
        if (x[j] > high)
            high = x[j];
    }
    float factor = (high - low) / (float)top;
    float inverse = inverse_or_0(factor);

    for (int j = 0; j < ELEMS; j++) {
        float v = (x[j] - low) * inverse + 0.5f;

        codes[j] = top == 15 ? encode_q_code_of(v, top) : (uint8_t)truncated_int(v);     /* ggml limits only Q4_1 codes */
    }
    *min = -low;
    return factor;
}

/* `importance` has the weights of this block, or is NULL. */
static void
encode_block(uint8_t *restrict y, const struct encode_q_type *t, const float *restrict x,
    const float *restrict importance, float mean_square)
{
    uint8_t codes[ELEMS];
    float weights[ELEMS], d, min = 0;

    if (importance == NULL)
        d = t->with_min ? min_codes(codes, &min, x, t->top) : symmetric_codes(codes, x, t->top);
    else {
        weigh_by_importance(weights, x, importance, mean_square, ELEMS);
        if (t->with_min)
            d = search_with_min(codes, &min, x, weights, ELEMS, t->top, &search_tries_weighted);
        else
            d = search_symmetric(codes, x, weights, ELEMS, t->top);
    }
    store_half(y, d);
    y += 2;
    if (t->with_min) {
        store_half(y, -min);
        y += 2;
    }
    if (t->fifth_bits) {
        put_fifth_bits(y, codes);
        y += 4;
    }
    put_nibbles(y, codes);
}

bool
encode_q(enum dtype dtype, uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols,
    const float *restrict importance)
{
    const struct encode_q_type type = encode_q_type(dtype);

    for (size_t r = 0; r < rows; r++, x += cols) {
        float mean_square = 0.0f;
        if (importance != NULL)
            mean_square = sum_of_squares(x, cols) / (float)cols;

        for (size_t c = 0; c < cols; c += ELEMS, y += type.nbytes)
            encode_block(y, &type, x + c, importance != NULL ? importance + c : NULL, mean_square);
    }
    return true;
}

/* --- 8, 1 and 2 bits */

/* x = code * d, codes -127 .. 127 */
bool
encode_q8_0(enum dtype dtype, uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols,
    const float *restrict importance)
{
    (void)dtype, (void)importance;
    for (size_t i = rows * cols / Q8_0_ELEMS; i > 0; i--, y += Q8_0_BYTES, x += Q8_0_ELEMS) {
        float d = absmax_since_nan(x, Q8_0_ELEMS) / 127.0f;
        float inverse = inverse_or_0(d);

        store_half(y, d);
        for (int j = 0; j < Q8_0_ELEMS; j++)
            y[2 + j] = (uint8_t)rounded_int(x[j] * inverse);
    }
    return true;
}

/* Stores the sign bits (-0 counts as positive) and the mean magnitude. */
bool
encode_q1_0(enum dtype dtype, uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols,
    const float *restrict importance)
{
    (void)dtype, (void)importance;
    for (size_t i = rows * cols / Q1_0_ELEMS; i > 0; i--, y += Q1_0_BYTES, x += Q1_0_ELEMS) {
        float sum = 0.0f;

        for (int j = 0; j < Q1_0_ELEMS; j++)
            sum += fabsf(x[j]);
        store_half(y, sum / (float)Q1_0_ELEMS);
        memset(y + 2, 0, Q1_0_BYTES - 2);
        for (int j = 0; j < Q1_0_ELEMS; j++)
            y[2 + j / 8] |= (uint8_t)((x[j] >= 0.0f) << j % 8);
    }
    return true;
}

/* Codes 0, 1, 2 for -d, 0, d; code 3, which would be 2d, is never produced. */
bool
encode_q2_0(enum dtype dtype, uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols,
    const float *restrict importance)
{
    (void)dtype, (void)importance;
    for (size_t i = rows * cols / Q2_0_ELEMS; i > 0; i--, y += Q2_0_BYTES, x += Q2_0_ELEMS) {
        float d = absmax(x, Q2_0_ELEMS);
        float inverse = inverse_or_0(d);

        store_half(y, d);
        memset(y + 2, 0, Q2_0_BYTES - 2);
        for (int j = 0; j < Q2_0_ELEMS; j++)
            y[2 + j / 4] |= (uint8_t)(clamp_int(rounded_int(x[j] * inverse) + 1, 0, 3) << 2 * (j % 4));
    }
    return true;
}

/* --- ternary */

/* Computes the digits 0, 1, 2 of a block, and its factor. */
static void
ternary_block(uint8_t digits[QK_K], uint8_t *restrict d, const float *restrict x)
{
    float factor = absmax_since_nan(x, QK_K);
    float inverse = inverse_or_0(factor);

    store_half(d, factor);
    for (int j = 0; j < QK_K; j++)
        digits[j] = (uint8_t)(rounded_int(x[j] * inverse) + 1);
}

/* Packs `count` digits, `width` elements apart, into each of `width` bytes: the number with these digits in base 3, as a
 * fraction of 3^5 rounded up. */
static void
put_digits(uint8_t *restrict y, const uint8_t *restrict digits, int width, int count)
{
    for (int j = 0; j < width; j++) {
        uint8_t number = 0;

        for (int n = 0; n < 5; n++)
            number = (uint8_t)(number * 3 + (n < count ? digits[n * width + j] : 0));
        y[j] = (uint8_t)((number * 256 + 242) / 243);
    }
}

bool
encode_tq1_0(enum dtype dtype, uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols,
    const float *restrict importance)
{
    (void)dtype, (void)importance;
    for (size_t i = rows * cols / QK_K; i > 0; i--, y += TQ1_0_BYTES, x += QK_K) {
        uint8_t digits[QK_K];

        ternary_block(digits, y + 52, x);
        put_digits(y, digits, 32, 5);
        put_digits(y + 32, digits + 160, 16, 5);
        put_digits(y + 48, digits + 240, 4, 4);
    }
    return true;
}

bool
encode_tq2_0(enum dtype dtype, uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols,
    const float *restrict importance)
{
    (void)dtype, (void)importance;
    for (size_t i = rows * cols / QK_K; i > 0; i--, y += TQ2_0_BYTES, x += QK_K) {
        uint8_t digits[QK_K];

        ternary_block(digits, y + 64, x);
        for (int l = 0; l < 64; l++) {
            const uint8_t *q = digits + 128 * (l / 32) + l % 32;

            y[l] = (uint8_t)((q[0] & 3) | (q[32] & 3) << 2 | (q[64] & 3) << 4 | (q[96] & 3) << 6);
        }
    }
    return true;
}
