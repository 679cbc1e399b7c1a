/* avx2_fp8: rows of E4M3 and E5M2 codes times scales.
 *
 * By arithmetic, 16 codes at a time: an E5M2 code is the upper byte of a binary16; an E4M3 code shifted by one bit is a
 * binary16 too, except for a factor of 2^8 (biases 15 and 7) and the NaN code. Widening is exact, including subnormals, and
 * so is the factor; then follow the one F32 multiplication and the rounding.
 *
 * By table, for BF16: as long as products are far from overflow and subnormals, one step of the code's exponent is one step
 * of the product's exponent and does not change its mantissa. So the mantissa selects one of a few products with exponent 0,
 * a subnormal code selects its own product (together at most 16 entries: two byte shuffles), and the exponent field is added
 * in place, s eeee mmm -> s 0000 eeee 0000000. The entries are computed by arithmetic. Infinite and NaN codes would yield
 * wrong values: the largest code seen is kept, and a run with one of them is repeated by arithmetic.
 *
 * Scales that are powers of two, as in MXFP8, share the table of 1: each adds its exponent to products that are not 0. That
 * pays for groups that are too short for a table of their own.
 */
#if defined(__x86_64__)

#include "kernel/x86/x86_priv.h"

#include "base/num.h"
#include "kernel/x86/avx2_inline.h"

/* Parameters of a format. Always a constant once inlined. */
struct fp8_type {
    bool e4m3;
    int mantissa_bits;
    int8_t first_special;           /* without the sign, codes from here up are infinite or NaN */
};
static const struct fp8_type E4M3 = { .e4m3 = true, .mantissa_bits = 3, .first_special = 0x7F },
    E5M2 = { .mantissa_bits = 2, .first_special = 0x7C };

enum {
    TABLE_PAYS = 64,                /* codes per scale that make a table worthwhile */
    TABLE_COLS = 32,                /* columns per scale that make a table worthwhile */
    TABLES = 64                     /* scales side by side: 4 KiB of tables, which stay in L1 */
};

/* Multiplies 16 codes by their scales, with canonical NaN. */
static ALWAYS_INLINE void
products(__m256 out[2], __m128i code, const struct fp8_type f, const __m256 scale[2])
{
    __m256i h = _mm256_slli_epi16(_mm256_cvtepu8_epi16(code), 8);

    if (f.e4m3) {
        __m256i all = _mm256_set1_epi16(0x7F00);
        __m256i nan = _mm256_cmpeq_epi16(_mm256_and_si256(h, all), all);

        h = _mm256_and_si256(_mm256_srai_epi16(h, 1), _mm256_set1_epi16((short)0xBF80));
        h = _mm256_or_si256(h, _mm256_and_si256(nan, _mm256_set1_epi16(0x7E00)));
    }
    out[0] = _mm256_cvtph_ps(_mm256_castsi256_si128(h));
    out[1] = _mm256_cvtph_ps(_mm256_extracti128_si256(h, 1));
    for (int i = 0; i < 2; i++) {
        if (f.e4m3)
            out[i] = _mm256_mul_ps(out[i], _mm256_set1_ps(256));
        out[i] = canonical256(_mm256_mul_ps(out[i], scale[i]));
    }
}

static ALWAYS_INLINE __m256i
products_bf16(__m128i code, const struct fp8_type f, const __m256 scale[2])
{
    __m256 p[2];

    products(p, code, f, scale);
    return concat256(bf16_high256(p[0]), bf16_high256(p[1]));
}

/* Loads 16 scales. */
static ALWAYS_INLINE void
scales_load(__m256 v[2], const float *scales)
{
    v[0] = _mm256_loadu_ps(scales);
    v[1] = _mm256_loadu_ps(scales + 8);
}

/* The last n codes and their scales, padded. */
struct fp8_last {
    uint8_t x[16];
    float scales[16];
};

static ALWAYS_INLINE struct fp8_last
last_of(const uint8_t *x, size_t n, const float *scales, bool each)
{
    struct fp8_last l = { { 0 }, { 0 } };

    memcpy(l.x, x, n);
    if (each)
        memcpy(l.scales, scales, n * sizeof *scales);
    return l;
}

/* Computes n products with one scale, or with one for each code. `table` is for the functions that look products up: the
 * table of the scale, or of 1. */
typedef void run_fn(void *restrict to, const uint8_t *restrict x, size_t n, const struct fp8_type f,
    const float *restrict scales, bool each, const struct words16 *table);

static ALWAYS_INLINE void
run_f32(void *restrict to, const uint8_t *restrict x, size_t n, const struct fp8_type f, const float *restrict scales,
    bool each, const struct words16 *table)
{
    float *y = to;
    __m256 p[2], s[2] = { _mm256_set1_ps(*scales), _mm256_set1_ps(*scales) };

    (void)table;
    for (; n >= 16; n -= 16, x += 16, y += 16, scales += each ? 16 : 0) {
        if (each)
            scales_load(s, scales);
        products(p, _mm_loadu_si128((const __m128i *)x), f, s);
        _mm256_storeu_ps(y, p[0]);
        _mm256_storeu_ps(y + 8, p[1]);
    }
    if (n > 0) {
        const struct fp8_last l = last_of(x, n, scales, each);

        if (each)
            scales_load(s, l.scales);
        products(p, _mm_loadu_si128((const __m128i *)l.x), f, s);
        memcpy(y, p, n * sizeof *y);
    }
}

static ALWAYS_INLINE void
run_bf16(void *restrict to, const uint8_t *restrict x, size_t n, const struct fp8_type f, const float *restrict scales,
    bool each, const struct words16 *table)
{
    uint16_t *y = to;
    __m256 s[2] = { _mm256_set1_ps(*scales), _mm256_set1_ps(*scales) };

    (void)table;
    for (; n >= 16; n -= 16, x += 16, y += 16, scales += each ? 16 : 0) {
        if (each)
            scales_load(s, scales);
        _mm256_storeu_si256((__m256i *)y, products_bf16(_mm_loadu_si128((const __m128i *)x), f, s));
    }
    if (n > 0) {
        const struct fp8_last l = last_of(x, n, scales, each);

        if (each)
            scales_load(s, l.scales);
        __m256i v = products_bf16(_mm_loadu_si128((const __m128i *)l.x), f, s);
        memcpy(y, &v, n * sizeof *y);
    }
}

/* Builds a table: entry m is the product of code m, with 1 subtracted from its exponent for normal codes, whose own exponent
 * field is at least 1. */
static ALWAYS_INLINE struct words16
table_make(const struct fp8_type f, float scale)
{
    const __m256 s[2] = { _mm256_set1_ps(scale), _mm256_set1_ps(scale) };
    const __m128i iota = _mm_set_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __m256i largest_subnormal = _mm256_set1_epi16((short)((1 << f.mantissa_bits) - 1));
    __m256i normal = _mm256_cmpgt_epi16(_mm256_cvtepu8_epi16(iota), largest_subnormal);
    __m256i v = products_bf16(iota, f, s);

    return words16_of(_mm256_sub_epi16(v, _mm256_and_si256(normal, _mm256_set1_epi16(1 << 7))));
}

/* Looks up 32 codes: elements 0..15 to y[0], 16..31 to y[1]. Keeps the largest code of each byte position in `largest`. */
static ALWAYS_INLINE void
lookup(__m256i y[2], __m256i code, const struct words16 *t, const struct fp8_type f, __m256i *largest)
{
    const __m256i hidden = _mm256_set1_epi8((char)(1 << f.mantissa_bits));
    const __m256i mantissa = _mm256_set1_epi8((char)((1 << f.mantissa_bits) - 1));
    const __m256i fields = _mm256_set1_epi16((short)(0x8000 | (f.e4m3 ? 15 << 7 : 31 << 7)));

    /* unpacking works within halves, so move elements 8..15 to the upper one */
    code = _mm256_permute4x64_epi64(code, 0xD8);

    /* only a subnormal code is less than its mantissa with the hidden bit */
    __m256i magnitude = _mm256_and_si256(code, _mm256_set1_epi8(0x7F));
    __m256i entry = _mm256_min_epu8(magnitude, _mm256_or_si256(_mm256_and_si256(code, mantissa), hidden));
    __m256i low = _mm256_shuffle_epi8(t->low, entry);
    __m256i high = _mm256_shuffle_epi8(t->high, entry);
    __m256i zero = _mm256_setzero_si256();

    *largest = _mm256_max_epu8(*largest, magnitude);
    for (int i = 0; i < 2; i++) {
        __m256i base = i ? _mm256_unpackhi_epi8(low, high) : _mm256_unpacklo_epi8(low, high);
        __m256i wide = i ? _mm256_unpackhi_epi8(zero, code) : _mm256_unpacklo_epi8(zero, code);
        __m256i move = _mm256_srai_epi16(wide, f.e4m3 ? 4 : 3);

        y[i] = _mm256_add_epi16(base, _mm256_and_si256(move, fields));
    }
}

/* `power`: the scale is a power of two, and the table is made for scale 1. */
static ALWAYS_INLINE void
run_looked_up(void *restrict to, const uint8_t *restrict x, size_t n, const struct fp8_type f, const float *restrict scale,
    const struct words16 *table, const bool power)
{
    const int exponent = (int)(bits_of_float(*scale) >> 23) - 127;
    const __m256i step = _mm256_set1_epi16((short)(exponent * (1 << 7))), zero = _mm256_setzero_si256();
    const struct words16 t = *table;
    const size_t whole = n & ~(size_t)31;
    uint16_t *y = to;
    __m256i largest = zero;
    __m256i v[2];

    for (size_t i = 0; i < whole; i += 32) {
        lookup(v, _mm256_loadu_si256((const __m256i *)(x + i)), &t, f, &largest);
        for (int h = 0; h < 2; h++) {
            if (power) {
                __m256i none = _mm256_cmpeq_epi16(_mm256_slli_epi16(v[h], 1), zero);

                v[h] = _mm256_add_epi16(v[h], _mm256_andnot_si256(none, step));
            }
            _mm256_storeu_si256((__m256i *)(y + i + 16 * (size_t)h), v[h]);
        }
    }

    __m256i special = _mm256_cmpgt_epi8(largest, _mm256_set1_epi8((char)(f.first_special - 1)));
    size_t done = 0;
    if (_mm256_testz_si256(special, special))
        done = whole;
    run_bf16(y + done, x + done, n - done, f, scale, false, NULL);
}

static ALWAYS_INLINE void
run_table(void *restrict y, const uint8_t *restrict x, size_t n, const struct fp8_type f, const float *restrict scale,
    bool each, const struct words16 *table)
{
    (void)each;
    run_looked_up(y, x, n, f, scale, table, false);
}

static ALWAYS_INLINE void
run_power(void *restrict y, const uint8_t *restrict x, size_t n, const struct fp8_type f, const float *restrict scale,
    bool each, const struct words16 *table)
{
    (void)each;
    run_looked_up(y, x, n, f, scale, table, true);
}

/* Returns true if one step of the code's exponent is one step of the product's. Code values range from 2^-16 to 2^16. */
static inline bool
far_from_limits(const float *scales, size_t n)
{
    return exponents_within(scales, n, 127 - 109, 127 + 109);
}

static inline bool
are_powers(const float *scales, size_t n)
{
    bool powers = true;

    for (size_t i = 0; i < n; i++)
        powers &= (bits_of_float(scales[i]) & 0x807FFFFF) == 0;
    return powers;
}

/* Calls run() for each scale of each row. `tables` is NULL or the first table; the next ones are `step` apart. */
static ALWAYS_INLINE void
each_run(void *y, const enum avx2_to format, size_t y_stride, const struct fp8_rows *rows, const struct fp8_type f, run_fn *run,
    const struct words16 *tables, const size_t step)
{
    const struct fp8_rows m = *rows;                /* a local copy, because stores could change *rows */
    const bool each = m.scale_cols == 1;

    for (size_t r = 0; r < m.rows; r++)
        for (size_t c = 0, i = 0, n; c < m.cols; c += n, i++) {
            if (each)
                n = m.cols;
            else
                n = num_min(m.scale_cols, m.cols - c);
            run((char *)y + (r * y_stride + c) * size_of(format), m.x + r * m.x_stride + c, n, f, m.scales + i, each,
                tables ? tables + i * step : NULL);
        }
}

/* Dequantizes columns with at most TABLES scales. */
static ALWAYS_INLINE void
panel_bf16(uint16_t *restrict y, size_t y_stride, const struct fp8_rows *m, const struct fp8_type f)
{
    struct words16 tables[TABLES];
    size_t nscales = num_ceil_div(m->cols, m->scale_cols);

    if (!far_from_limits(m->scales, nscales)) {
        each_run(y, TO_BF16, y_stride, m, f, run_bf16, NULL, 0);
        return;
    }
    for (size_t i = 0; i < nscales; i++)
        tables[i] = table_make(f, m->scales[i]);
    each_run(y, TO_BF16, y_stride, m, f, run_table, tables, 1);
}

static ALWAYS_INLINE void
rows_bf16(uint16_t *restrict y, size_t y_stride, const struct fp8_rows *m, const struct fp8_type f)
{
    size_t all = num_ceil_div(m->cols, m->scale_cols);

    if (m->scale_cols >= TABLE_COLS && m->cols >= TABLE_PAYS && are_powers(m->scales, all)
        && far_from_limits(m->scales, all)) {
        const struct words16 table = table_make(f, 1);

        each_run(y, TO_BF16, y_stride, m, f, run_power, &table, 0);
        return;
    }
    if (m->scale_cols < TABLE_COLS || m->rows * num_min(m->scale_cols, m->cols) < TABLE_PAYS) {
        each_run(y, TO_BF16, y_stride, m, f, run_bf16, NULL, 0);
        return;
    }
    struct fp8_rows panel = *m;
    for (size_t c = 0; c < m->cols; c += panel.cols, panel.scales += TABLES) {
        panel.x = m->x + c;
        if ((m->cols - c) / TABLES < m->scale_cols)
            panel.cols = m->cols - c;
        else
            panel.cols = TABLES * m->scale_cols;
        panel_bf16(y + c, y_stride, &panel, f);
    }
}

static void
avx2_fp8_f32(float *restrict y, size_t y_stride, const struct fp8_rows *m)
{
    if (m->dtype == DTYPE_F8_E4M3)
        each_run(y, TO_F32, y_stride, m, E4M3, run_f32, NULL, 0);
    else if (m->dtype == DTYPE_F8_E5M2)
        each_run(y, TO_F32, y_stride, m, E5M2, run_f32, NULL, 0);
    else
        fp8_f32(y, y_stride, m);
}

static void
avx2_fp8_bf16(uint16_t *restrict y, size_t y_stride, const struct fp8_rows *m)
{
    if (m->dtype == DTYPE_F8_E4M3)
        rows_bf16(y, y_stride, m, E4M3);
    else if (m->dtype == DTYPE_F8_E5M2)
        rows_bf16(y, y_stride, m, E5M2);
    else
        fp8_bf16(y, y_stride, m);
}

void
avx2_use_fp8(struct kernels *k)
{
    k->fp8_f32 = avx2_fp8_f32;
}

void
avx2_use_fp8_bf16(struct kernels *k)
{
    k->fp8_bf16 = avx2_fp8_bf16;
}

#endif
