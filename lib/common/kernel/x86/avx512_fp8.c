/* avx512_fp8: rows of E4M3 and E5M2 codes times scales.
 *
 * Plain way, 32 codes at a time: an E5M2 code is the upper byte of a half; an E4M3 code moved by one bit is a
 * half too, but for a factor of 2^8 (biases 15 and 7) and the NaN code. Halves widen exactly, subnormals
 * included, and so does the factor; then comes the one F32 multiplication, then the rounding.
 *
 * Table way, for BF16 and scales of many codes: the plain way makes the products of the 128 codes without sign;
 * their low and high bytes fill 2 x 2 registers, which two byte permutes index by 64 codes at once. The sign
 * of the code is put back by a wrapping add of 0x80 to the high byte: a product changes its sign with the
 * code, and rounding is symmetric. A NaN must stay positive: the signed compare that finds negative codes
 * leaves out the last ones, -NaN, and scales that make NaN of an ordinary code take the plain way. The tables
 * of all scales are made first, then each row is walked from end to end: going down the rows one scale at a time
 * would store to lines a power of two apart, in few sets of the cache, at half the speed (measured on Zen 5). */
#if defined(__x86_64__)

#include "kernel/x86/x86_priv.h"

#include "kernel/x86/avx512_inline.h"

enum {
    TABLE_PAYS = 256,           /* codes of one scale from which its table is faster */
    TABLE_COLS = 32,            /* columns of one scale, likewise */
    TABLES = 28,                /* scales side by side: 7 KiB of tables, on the stack and in L1 */
    AHEAD = 1024                /* bytes to prefetch ahead in longer runs of one scale; shorter ones lose by it */
};

/* What differs between the two formats. Always a constant once inlined. */
struct fp8 {
    bool e4m3;
    int8_t first_nan;           /* codes from this one to -1 (0xFF) are negative NaNs */
};
static const struct fp8 E4M3 = { true, -1 }, E5M2 = { false, -3 };

/* The values of 32 codes. */
static ALWAYS_INLINE void
values(__m512 out[2], __m256i code, const struct fp8 f)
{
    __m512i h = _mm512_slli_epi16(_mm512_cvtepu8_epi16(code), 8);

    if (f.e4m3) {
        __mmask32 nan = _mm256_cmpeq_epi8_mask(_mm256_or_si256(code, _mm256_set1_epi8(-128)), _mm256_set1_epi8(-1));

        h = _mm512_and_si512(_mm512_srai_epi16(h, 1), _mm512_set1_epi16((short)0xBF80));
        h = _mm512_mask_mov_epi16(h, nan, _mm512_set1_epi16(0x7E00));
    }
    out[0] = _mm512_cvtph_ps(_mm512_castsi512_si256(h));
    out[1] = _mm512_cvtph_ps(_mm512_extracti64x4_epi64(h, 1));
    for (int i = 0; i < 2 && f.e4m3; i++)
        out[i] = _mm512_mul_ps(out[i], _mm512_set1_ps(256));
}

/* Times scale; canonical NaN. */
static ALWAYS_INLINE void
products(__m512 out[2], __m256i code, const struct fp8 f, const __m512 scale[2])
{
    values(out, code, f);
    for (int i = 0; i < 2; i++)
        out[i] = canonical512(_mm512_mul_ps(out[i], scale[i]));
}

static ALWAYS_INLINE __m512i
products_bf16(__m256i code, const struct fp8 f, const __m512 scale[2])
{
    __m512 p[2];

    products(p, code, f, scale);
    return bf16_of32(p[0], p[1]);
}

/* 32 scales, those of `left`. */
static ALWAYS_INLINE void
scales_load(__m512 v[2], const float *scales, __mmask32 left)
{
    v[0] = _mm512_maskz_loadu_ps((__mmask16)left, scales);
    v[1] = _mm512_maskz_loadu_ps((__mmask16)(left >> 16), scales + 16);
}

/* n products, plain way: the scale is one for all of them, or one for each. */
static ALWAYS_INLINE void
run_f32(float *restrict y, const uint8_t *restrict x, size_t n, const struct fp8 f, const float *restrict scales,
    bool each)
{
    __m512 p[2], s[2] = { _mm512_set1_ps(*scales), _mm512_set1_ps(*scales) };

    for (; n >= 32; n -= 32, x += 32, y += 32, scales += each ? 32 : 0) {
        if (each)
            scales_load(s, scales, (__mmask32)-1);
        products(p, _mm256_loadu_si256((const __m256i *)x), f, s);
        _mm512_storeu_ps(y, p[0]);
        _mm512_storeu_ps(y + 16, p[1]);
    }
    if (n > 0) {
        __mmask32 left = ((uint32_t)1 << n) - 1;

        if (each)
            scales_load(s, scales, left);
        products(p, _mm256_maskz_loadu_epi8(left, x), f, s);
        _mm512_mask_storeu_ps(y, (__mmask16)left, p[0]);
        _mm512_mask_storeu_ps(y + 16, (__mmask16)(left >> 16), p[1]);
    }
}

static ALWAYS_INLINE void
run_bf16(uint16_t *restrict y, const uint8_t *restrict x, size_t n, const struct fp8 f,
    const float *restrict scales, bool each)
{
    __m512 s[2] = { _mm512_set1_ps(*scales), _mm512_set1_ps(*scales) };

    for (; n >= 32; n -= 32, x += 32, y += 32, scales += each ? 32 : 0) {
        if (each)
            scales_load(s, scales, (__mmask32)-1);
        _mm512_storeu_si512(y, products_bf16(_mm256_loadu_si256((const __m256i *)x), f, s));
    }
    if (n > 0) {
        __mmask32 left = ((uint32_t)1 << n) - 1;

        if (each)
            scales_load(s, scales, left);
        _mm512_mask_storeu_epi16(y, left, products_bf16(_mm256_maskz_loadu_epi8(left, x), f, s));
    }
}

/* Bytes of the 128 products without sign: low[0] those of codes 0..63, low[1] of 64..127, high alike. */
struct table {
    __m512i low[2], high[2];
};

/* The values of the 128 codes without sign. */
static ALWAYS_INLINE void
values_make(__m512 v[8], const struct fp8 f)
{
    const __m256i iota = _mm256_set_epi8(31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16,
        15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);

    for (int i = 0; i < 4; i++)
        values(v + 2 * i, _mm256_add_epi8(iota, _mm256_set1_epi8((char)(32 * i))), f);
}

/* 2 x 16 values times scale, rounded to BF16: the 32 low bytes, then the 32 high bytes. Only the last values
 * of a table are NaN. */
static ALWAYS_INLINE __m512i
split32(__m512 a, __m512 b, float scale, bool nan)
{
    const __m512i bytes = _mm512_set_epi8(
        127, 123, 119, 115, 111, 107, 103, 99, 95, 91, 87, 83, 79, 75, 71, 67,
        63, 59, 55, 51, 47, 43, 39, 35, 31, 27, 23, 19, 15, 11, 7, 3,
        126, 122, 118, 114, 110, 106, 102, 98, 94, 90, 86, 82, 78, 74, 70, 66,
        62, 58, 54, 50, 46, 42, 38, 34, 30, 26, 22, 18, 14, 10, 6, 2);
    __m512 p[2] = { _mm512_mul_ps(a, _mm512_set1_ps(scale)), _mm512_mul_ps(b, _mm512_set1_ps(scale)) };
    __m512i r[2];

    if (nan)
        p[1] = canonical512(p[1]);
    for (int i = 0; i < 2; i++) {
        __m512i bits = _mm512_castps_si512(p[i]);
        __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));

        r[i] = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7FFF)), odd);
    }
    return _mm512_permutex2var_epi8(r[0], bytes, r[1]);
}

static ALWAYS_INLINE struct table
table_make(const __m512 v[8], float scale)
{
    struct table t;

    for (int half = 0; half < 2; half++) {
        __m512i p = split32(v[4 * half], v[4 * half + 1], scale, false);
        __m512i q = split32(v[4 * half + 2], v[4 * half + 3], scale, half == 1);

        t.low[half] = _mm512_shuffle_i64x2(p, q, 0x44);
        t.high[half] = _mm512_shuffle_i64x2(p, q, 0xEE);
    }
    return t;
}

/* Look up 64 codes: elements 0..31 to y[0], 32..63 to y[1]. */
static ALWAYS_INLINE void
lookup(__m512i y[2], __m512i code, const struct table *t, __m512i first_nan)
{
    /* the unpacks work within lanes of 16 bytes: put into lane i the codes of bytes 8i.. and 32 + 8i.. */
    code = _mm512_permutexvar_epi64(_mm512_set_epi64(7, 3, 6, 2, 5, 1, 4, 0), code);

    __m512i low = _mm512_permutex2var_epi8(t->low[0], code, t->low[1]);
    __m512i high = _mm512_permutex2var_epi8(t->high[0], code, t->high[1]);
    __mmask64 negative = _mm512_cmplt_epi8_mask(code, first_nan);

    high = _mm512_mask_add_epi8(high, negative, high, _mm512_set1_epi8(-128));
    y[0] = _mm512_unpacklo_epi8(low, high);
    y[1] = _mm512_unpackhi_epi8(low, high);
}

static ALWAYS_INLINE void
run_table(uint16_t *restrict y, const uint8_t *restrict x, size_t n, const struct table *table, __m512i first_nan,
    bool ahead)
{
    const struct table t = *table;
    __m512i v[2];

    for (; n >= 64; n -= 64, x += 64, y += 64) {
        if (ahead)
            _mm_prefetch((const char *)x + AHEAD, _MM_HINT_T0);
        lookup(v, _mm512_loadu_si512(x), &t, first_nan);
        _mm512_storeu_si512(y, v[0]);
        _mm512_storeu_si512(y + 32, v[1]);
    }
    if (n > 0) {
        __mmask64 left = ((uint64_t)1 << n) - 1;

        lookup(v, _mm512_maskz_loadu_epi8(left, x), &t, first_nan);
        _mm512_mask_storeu_epi16(y, (__mmask32)left, v[0]);
        _mm512_mask_storeu_epi16(y + 32, (__mmask32)(left >> 32), v[1]);
    }
}

static inline size_t
min(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Does a scale make a NaN of a code that is none? */
static inline bool
make_nan(const float *scales, size_t n, const struct fp8 f)
{
    bool any = false;

    for (size_t i = 0; i < n; i++) {
        uint32_t magnitude = bits_of_float(scales[i]) & 0x7FFFFFFF;

        any |= magnitude >= 0x7F800000 || (magnitude == 0 && !f.e4m3);
    }
    return any;
}

static ALWAYS_INLINE void
rows_f32(float *restrict y, size_t y_stride, const uint8_t *restrict x, size_t x_stride,
    size_t rows, size_t cols, const float *restrict scales, size_t scale_cols, const struct fp8 f)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0, i = 0, n; c < cols; c += n, i++) {
            n = scale_cols == 1 ? cols : min(scale_cols, cols - c);
            run_f32(y + r * y_stride + c, x + r * x_stride + c, n, f, scales + i, scale_cols == 1);
        }
}

static ALWAYS_INLINE void
rows_plain(uint16_t *restrict y, size_t y_stride, const uint8_t *restrict x, size_t x_stride,
    size_t rows, size_t cols, const float *restrict scales, size_t scale_cols, const struct fp8 f)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0, i = 0, n; c < cols; c += n, i++) {
            n = scale_cols == 1 ? cols : min(scale_cols, cols - c);
            run_bf16(y + r * y_stride + c, x + r * x_stride + c, n, f, scales + i, scale_cols == 1);
        }
}

/* At most TABLES scales, none of which makes a NaN. */
static ALWAYS_INLINE void
rows_table(uint16_t *restrict y, size_t y_stride, const uint8_t *restrict x, size_t x_stride,
    size_t rows, size_t cols, const float *restrict scales, size_t scale_cols, const struct fp8 f)
{
    const __m512i first_nan = _mm512_set1_epi8(f.first_nan);
    struct table tables[TABLES];
    __m512 v[8];

    values_make(v, f);
    for (size_t c = 0, i = 0; c < cols; c += min(scale_cols, cols - c), i++)
        tables[i] = table_make(v, scales[i]);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0, i = 0, n; c < cols; c += n, i++) {
            n = min(scale_cols, cols - c);
            if (n > AHEAD)
                run_table(y + r * y_stride + c, x + r * x_stride + c, n, &tables[i], first_nan, true);
            else
                run_table(y + r * y_stride + c, x + r * x_stride + c, n, &tables[i], first_nan, false);
        }
}

static ALWAYS_INLINE void
rows_bf16(uint16_t *restrict y, size_t y_stride, const uint8_t *restrict x, size_t x_stride,
    size_t rows, size_t cols, const float *restrict scales, size_t scale_cols, const struct fp8 f)
{
    if (scale_cols < TABLE_COLS || rows * min(scale_cols, cols) < TABLE_PAYS) {
        rows_plain(y, y_stride, x, x_stride, rows, cols, scales, scale_cols, f);
        return;
    }
    for (size_t c = 0, n, nscales; c < cols; c += n, scales += nscales) {
        n = (cols - c) / TABLES < scale_cols ? cols - c : TABLES * scale_cols;
        nscales = (n - 1) / scale_cols + 1;
        if (make_nan(scales, nscales, f))
            rows_plain(y + c, y_stride, x + c, x_stride, rows, n, scales, scale_cols, f);
        else
            rows_table(y + c, y_stride, x + c, x_stride, rows, n, scales, scale_cols, f);
    }
}

static void
e4m3_bf16(uint16_t *restrict y, size_t y_stride, const uint8_t *restrict x, size_t x_stride,
    size_t rows, size_t cols, const float *restrict scales, size_t scale_cols)
{
    rows_bf16(y, y_stride, x, x_stride, rows, cols, scales, scale_cols, E4M3);
}

static void
e5m2_bf16(uint16_t *restrict y, size_t y_stride, const uint8_t *restrict x, size_t x_stride,
    size_t rows, size_t cols, const float *restrict scales, size_t scale_cols)
{
    rows_bf16(y, y_stride, x, x_stride, rows, cols, scales, scale_cols, E5M2);
}

static void
e4m3_f32(float *restrict y, size_t y_stride, const uint8_t *restrict x, size_t x_stride,
    size_t rows, size_t cols, const float *restrict scales, size_t scale_cols)
{
    rows_f32(y, y_stride, x, x_stride, rows, cols, scales, scale_cols, E4M3);
}

static void
e5m2_f32(float *restrict y, size_t y_stride, const uint8_t *restrict x, size_t x_stride,
    size_t rows, size_t cols, const float *restrict scales, size_t scale_cols)
{
    rows_f32(y, y_stride, x, x_stride, rows, cols, scales, scale_cols, E5M2);
}

void
avx512_use_fp8(struct kernels *k)
{
    k->fp8_f32[DTYPE_F8_E4M3] = e4m3_f32;
    k->fp8_f32[DTYPE_F8_E5M2] = e5m2_f32;
    k->fp8_bf16[DTYPE_F8_E4M3] = e4m3_bf16;
    k->fp8_bf16[DTYPE_F8_E5M2] = e5m2_bf16;
}

#endif
