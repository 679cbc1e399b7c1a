/* avx512_fp8: tiles of E4M3 and E5M2 codes times a scale.
 *
 * Plain way, 32 codes at a time: an E5M2 code is the upper byte of a half; an E4M3 code moved by one bit is a
 * half too, but for a factor of 2^8 (biases 15 and 7) and the NaN code. Halves widen exactly, subnormals
 * included, and so does the factor; then comes the one F32 multiplication, then the rounding.
 *
 * Table way, for BF16 tiles of some size: the plain way makes the products of the 128 codes without sign;
 * their low and high bytes fill 2 x 2 registers, which two byte permutes index by 64 codes at once. The sign
 * of the code is put back by a wrapping add of 0x80 to the high byte: a product changes its sign with the
 * code, and rounding is symmetric. A NaN must stay positive: the signed compare that finds negative codes
 * leaves out the last ones, -NaN, and scales that make NaN of an ordinary code take the plain way. */
#if defined(__x86_64__)

#include "kernel/x86/x86_priv.h"

#include "kernel/x86/avx512_inline.h"

enum {
    TABLE_PAYS = 256,           /* codes in a tile from which the table is faster */
    AHEAD = 2048                /* bytes to prefetch ahead: input may come from memory */
};

/* What differs between the two formats. Always a constant once inlined. */
struct fp8 {
    bool e4m3;
    int8_t first_nan;           /* codes from this one to -1 (0xFF) are negative NaNs */
};
static const struct fp8 E4M3 = { true, -1 }, E5M2 = { false, -3 };

/* 32 codes to floats, times scale; canonical NaN. */
static ALWAYS_INLINE void
products(__m512 out[2], __m256i code, const struct fp8 f, __m512 scale)
{
    __m512i h = _mm512_slli_epi16(_mm512_cvtepu8_epi16(code), 8);

    if (f.e4m3) {
        __mmask32 nan = _mm256_cmpeq_epi8_mask(_mm256_or_si256(code, _mm256_set1_epi8(-128)), _mm256_set1_epi8(-1));

        h = _mm512_and_si512(_mm512_srai_epi16(h, 1), _mm512_set1_epi16((short)0xBF80));
        h = _mm512_mask_mov_epi16(h, nan, _mm512_set1_epi16(0x7E00));
    }
    out[0] = _mm512_cvtph_ps(_mm512_castsi512_si256(h));
    out[1] = _mm512_cvtph_ps(_mm512_extracti64x4_epi64(h, 1));
    for (int i = 0; i < 2; i++) {
        if (f.e4m3)
            out[i] = _mm512_mul_ps(out[i], _mm512_set1_ps(256));
        out[i] = canonical512(_mm512_mul_ps(out[i], scale));
    }
}

static ALWAYS_INLINE __m512i
products_bf16(__m256i code, const struct fp8 f, __m512 scale)
{
    __m512 p[2];

    products(p, code, f, scale);
    return bf16_of32(p[0], p[1]);
}

/* n products, plain way. */
static ALWAYS_INLINE void
row_f32(float *restrict y, const uint8_t *restrict x, size_t n, const struct fp8 f, __m512 scale)
{
    __m512 p[2];

    for (; n >= 32; n -= 32, x += 32, y += 32) {
        products(p, _mm256_loadu_si256((const __m256i *)x), f, scale);
        _mm512_storeu_ps(y, p[0]);
        _mm512_storeu_ps(y + 16, p[1]);
    }
    if (n > 0) {
        __mmask32 left = ((uint32_t)1 << n) - 1;

        products(p, _mm256_maskz_loadu_epi8(left, x), f, scale);
        _mm512_mask_storeu_ps(y, (__mmask16)left, p[0]);
        _mm512_mask_storeu_ps(y + 16, (__mmask16)(left >> 16), p[1]);
    }
}

static ALWAYS_INLINE void
row_bf16(uint16_t *restrict y, const uint8_t *restrict x, size_t n, const struct fp8 f, __m512 scale)
{
    for (; n >= 32; n -= 32, x += 32, y += 32)
        _mm512_storeu_si512(y, products_bf16(_mm256_loadu_si256((const __m256i *)x), f, scale));
    if (n > 0) {
        __mmask32 left = ((uint32_t)1 << n) - 1;

        _mm512_mask_storeu_epi16(y, left, products_bf16(_mm256_maskz_loadu_epi8(left, x), f, scale));
    }
}

/* Bytes of the 128 products without sign: low[0] those of codes 0..63, low[1] of 64..127, high alike. */
struct table {
    __m512i low[2], high[2];
};

static ALWAYS_INLINE struct table
table_make(const struct fp8 f, __m512 scale)
{
    const __m256i iota = _mm256_set_epi8(31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16,
        15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    struct table t;

    for (int half = 0; half < 2; half++) {
        __m256i code = _mm256_add_epi8(iota, _mm256_set1_epi8((char)(64 * half)));
        __m512i p = products_bf16(code, f, scale);
        __m512i q = products_bf16(_mm256_add_epi8(code, _mm256_set1_epi8(32)), f, scale);

        t.low[half] = _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi16_epi8(p)),
            _mm512_cvtepi16_epi8(q), 1);
        t.high[half] = _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi16_epi8(_mm512_srli_epi16(p, 8))),
            _mm512_cvtepi16_epi8(_mm512_srli_epi16(q, 8)), 1);
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

/* Store 32 codes; within a tile as two halves. A column of lines whose addresses differ by a power of two, the
 * usual tile of the usual matrix, falls into few sets of the cache, and whole-line stores then take twice as
 * long (measured on Zen 5). For the same reason nothing is fetched ahead there. */
static ALWAYS_INLINE void
store32(uint16_t *y, __m512i v, bool tile)
{
    if (tile) {
        _mm256_storeu_si256((__m256i *)y, _mm512_castsi512_si256(v));
        _mm256_storeu_si256((__m256i *)(y + 16), _mm512_extracti64x4_epi64(v, 1));
    } else {
        _mm512_storeu_si512(y, v);
    }
}

static ALWAYS_INLINE void
row_table(uint16_t *restrict y, const uint8_t *restrict x, size_t n, const struct table *t, __m512i first_nan,
    bool tile)
{
    __m512i v[2];

    for (; n >= 64; n -= 64, x += 64, y += 64) {
        if (!tile)
            _mm_prefetch((const char *)x + AHEAD, _MM_HINT_T0);
        lookup(v, _mm512_loadu_si512(x), t, first_nan);
        store32(y, v[0], tile);
        store32(y + 32, v[1], tile);
    }
    if (n > 0) {
        __mmask64 left = ((uint64_t)1 << n) - 1;

        lookup(v, _mm512_maskz_loadu_epi8(left, x), t, first_nan);
        _mm512_mask_storeu_epi16(y, (__mmask32)left, v[0]);
        _mm512_mask_storeu_epi16(y + 32, (__mmask32)(left >> 32), v[1]);
    }
}

static ALWAYS_INLINE void
tile_table(uint16_t *restrict y, size_t y_stride, const uint8_t *restrict x, size_t x_stride,
    size_t rows, size_t cols, float scale, const struct fp8 f)
{
    const struct table t = table_make(f, _mm512_set1_ps(scale));
    const __m512i first_nan = _mm512_set1_epi8(f.first_nan);

    if (rows == 1)
        row_table(y, x, cols, &t, first_nan, false);
    else
        for (size_t r = 0; r < rows; r++)
            row_table(y + r * y_stride, x + r * x_stride, cols, &t, first_nan, true);
}

/* Does the scale make a NaN of a code that is none? */
static inline bool
makes_nan(float scale, const struct fp8 f)
{
    uint32_t magnitude = bits_of_float(scale) & 0x7FFFFFFF;

    return magnitude >= 0x7F800000 || (magnitude == 0 && !f.e4m3);
}

static ALWAYS_INLINE void
tile_bf16(uint16_t *restrict y, size_t y_stride, const uint8_t *restrict x, size_t x_stride,
    size_t rows, size_t cols, float scale, const struct fp8 f)
{
    if (y_stride == cols && x_stride == cols) {
        cols *= rows;
        rows = rows > 0;
    }
    if (rows * cols >= TABLE_PAYS && !makes_nan(scale, f)) {
        tile_table(y, y_stride, x, x_stride, rows, cols, scale, f);
        return;
    }
    for (size_t r = 0; r < rows; r++)
        row_bf16(y + r * y_stride, x + r * x_stride, cols, f, _mm512_set1_ps(scale));
}

static ALWAYS_INLINE void
tile_f32(float *restrict y, size_t y_stride, const uint8_t *restrict x, size_t x_stride,
    size_t rows, size_t cols, float scale, const struct fp8 f)
{
    for (size_t r = 0; r < rows; r++)
        row_f32(y + r * y_stride, x + r * x_stride, cols, f, _mm512_set1_ps(scale));
}

static void
e4m3_bf16(uint16_t *restrict y, size_t y_stride, const uint8_t *restrict x, size_t x_stride,
    size_t rows, size_t cols, float scale)
{
    tile_bf16(y, y_stride, x, x_stride, rows, cols, scale, E4M3);
}

static void
e5m2_bf16(uint16_t *restrict y, size_t y_stride, const uint8_t *restrict x, size_t x_stride,
    size_t rows, size_t cols, float scale)
{
    tile_bf16(y, y_stride, x, x_stride, rows, cols, scale, E5M2);
}

static void
e4m3_f32(float *restrict y, size_t y_stride, const uint8_t *restrict x, size_t x_stride,
    size_t rows, size_t cols, float scale)
{
    tile_f32(y, y_stride, x, x_stride, rows, cols, scale, E4M3);
}

static void
e5m2_f32(float *restrict y, size_t y_stride, const uint8_t *restrict x, size_t x_stride,
    size_t rows, size_t cols, float scale)
{
    tile_f32(y, y_stride, x, x_stride, rows, cols, scale, E5M2);
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
