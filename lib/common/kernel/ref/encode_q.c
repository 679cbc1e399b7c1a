/* encode_q: the layouts are drawn in ref/q_blocks.c and ref/ternary.c. Without importance a factor is what makes the
 * largest value fit, and the codes follow from the factor as it was before its rounding to binary16.
 *
 * With importance the four small types search for the factor. A float then weighs importance * sqrt(s + x * x), where
 * s is the mean square of its whole row.
 *
 * Source: ggml-quants.c, quantize_row_<type>_ref, quantize_row_<type>_impl, quantize_<type>. */
#include "kernel/encode_q.h"

#include <float.h>

#include "dtype/ggml_block.h"
#include "kernel/encode_math.h"
#include "kernel/encode_search.h"

enum { ELEMS = Q4_0_ELEMS };                    /* as many as Q4_1, Q5_0, Q5_1 have */

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

/* --- 32 elements, 4 or 5 bits */

/* The low byte as a signed one, not above `most`. */
static uint8_t
code_of(float v, int most)
{
    int code = (int8_t)truncated_int(v);

    return (uint8_t)(code > most ? most : code);
}

/* x = (code - top) * d: the extreme value becomes -top. */
static void
symmetric_block(uint8_t *restrict d, uint8_t codes[ELEMS], const float *restrict x, int top)
{
    float factor = extreme(x, ELEMS) / -(float)top;
    float inverse = inverse_or_0(factor);

    store_half(d, factor);
    for (int j = 0; j < ELEMS; j++)
        codes[j] = code_of(x[j] * inverse + ((float)top + 0.5f), 2 * top - 1);
}

/* x = code * d + m, with m the least value. */
static void
min_block(uint8_t *restrict dm, uint8_t codes[ELEMS], const float *restrict x, int top)
{
    float low = FLT_MAX, high = -FLT_MAX;

    for (int j = 0; j < ELEMS; j++) {
        low = x[j] < low ? x[j] : low;
        high = x[j] > high ? x[j] : high;
    }
    float factor = (high - low) / (float)top;
    float inverse = inverse_or_0(factor);

    store_half(dm, factor);
    store_half(dm + 2, low);
    for (int j = 0; j < ELEMS; j++) {
        float v = (x[j] - low) * inverse + 0.5f;

        codes[j] = top == 15 ? code_of(v, top) : (uint8_t)truncated_int(v);     /* ggml bounds those of Q4_1 only */
    }
}

/* Importance of one block, and the mean square of its row. */
struct importance {
    const float *of;                            /* NULL: none */
    float mean_square;
};

static void
weigh(float weights[ELEMS], const float *restrict x, const struct importance *importance)
{
    for (int j = 0; j < ELEMS; j++)
        weights[j] = importance->of[j] * sqrtf(importance->mean_square + x[j] * x[j]);
}

static void
symmetric_codes(uint8_t *restrict d, uint8_t codes[ELEMS], const float *restrict x, const struct importance *importance,
    int top)
{
    float weights[ELEMS];

    if (importance->of == NULL) {
        symmetric_block(d, codes, x, top);
        return;
    }
    weigh(weights, x, importance);
    store_half(d, search_symmetric(codes, x, weights, ELEMS, top));
}

static void
min_codes(uint8_t *restrict dm, uint8_t codes[ELEMS], const float *restrict x, const struct importance *importance,
    int top)
{
    static const struct search_tries tries = { -0.9f, 0.05f, 36, false };
    float weights[ELEMS], min;

    if (importance->of == NULL) {
        min_block(dm, codes, x, top);
        return;
    }
    weigh(weights, x, importance);
    store_half(dm, search_with_min(codes, &min, x, weights, ELEMS, top, &tries));
    store_half(dm + 2, -min);
}

typedef void block_encode(uint8_t *restrict y, const float *restrict x, const struct importance *importance);

static void
q4_0_block(uint8_t *restrict y, const float *restrict x, const struct importance *importance)
{
    uint8_t codes[ELEMS];

    symmetric_codes(y, codes, x, importance, 8);
    put_nibbles(y + 2, codes);
}

static void
q4_1_block(uint8_t *restrict y, const float *restrict x, const struct importance *importance)
{
    uint8_t codes[ELEMS];

    min_codes(y, codes, x, importance, 15);
    put_nibbles(y + 4, codes);
}

static void
q5_0_block(uint8_t *restrict y, const float *restrict x, const struct importance *importance)
{
    uint8_t codes[ELEMS];

    symmetric_codes(y, codes, x, importance, 16);
    put_fifth_bits(y + 2, codes);
    put_nibbles(y + 6, codes);
}

static void
q5_1_block(uint8_t *restrict y, const float *restrict x, const struct importance *importance)
{
    uint8_t codes[ELEMS];

    min_codes(y, codes, x, importance, 31);
    put_fifth_bits(y + 4, codes);
    put_nibbles(y + 8, codes);
}

static bool
encode_rows(uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols, const float *restrict importance,
    block_encode *encode, size_t nbytes)
{
    for (size_t r = 0; r < rows; r++, x += cols) {
        struct importance of = { NULL, importance != NULL ? sum_of_squares(x, cols) / (float)cols : 0.0f };

        for (size_t c = 0; c < cols; c += ELEMS, y += nbytes) {
            if (importance != NULL)
                of.of = importance + c;
            encode(y, x + c, &of);
        }
    }
    return true;
}

bool
q4_0_encode(uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols, const float *restrict importance)
{
    return encode_rows(y, x, rows, cols, importance, q4_0_block, Q4_0_BYTES);
}

bool
q4_1_encode(uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols, const float *restrict importance)
{
    return encode_rows(y, x, rows, cols, importance, q4_1_block, Q4_1_BYTES);
}

bool
q5_0_encode(uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols, const float *restrict importance)
{
    return encode_rows(y, x, rows, cols, importance, q5_0_block, Q5_0_BYTES);
}

bool
q5_1_encode(uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols, const float *restrict importance)
{
    return encode_rows(y, x, rows, cols, importance, q5_1_block, Q5_1_BYTES);
}

/* --- 8, 1 and 2 bits */

/* x = code * d, codes -127 .. 127 */
bool
q8_0_encode(uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols, const float *restrict importance)
{
    (void)importance;
    for (size_t i = rows * cols / Q8_0_ELEMS; i > 0; i--, y += Q8_0_BYTES, x += Q8_0_ELEMS) {
        float d = absmax_since_nan(x, Q8_0_ELEMS) / 127.0f;
        float inverse = inverse_or_0(d);

        store_half(y, d);
        for (int j = 0; j < Q8_0_ELEMS; j++)
            y[2 + j] = (uint8_t)rounded_int(x[j] * inverse);
    }
    return true;
}

/* A bit for the sign (-0 counts as positive), and the mean magnitude. */
bool
q1_0_encode(uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols, const float *restrict importance)
{
    (void)importance;
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

/* Codes 0, 1, 2 for -d, 0, d; the 2d that code 3 would be never comes out. */
bool
q2_0_encode(uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols, const float *restrict importance)
{
    (void)importance;
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

/* The digits 0, 1, 2 of a block, and its factor. */
static void
ternary_block(uint8_t digits[QK_K], uint8_t *restrict d, const float *restrict x)
{
    float factor = absmax_since_nan(x, QK_K);
    float inverse = inverse_or_0(factor);

    store_half(d, factor);
    for (int j = 0; j < QK_K; j++)
        digits[j] = (uint8_t)(rounded_int(x[j] * inverse) + 1);
}

/* `count` digits, `width` apart, of each of `width` bytes: the number they write in base 3, as a fraction of 3^5
 * rounded up. */
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
tq1_0_encode(uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols, const float *restrict importance)
{
    (void)importance;
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
tq2_0_encode(uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols, const float *restrict importance)
{
    (void)importance;
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
