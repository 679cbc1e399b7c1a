/* avx2_codes4_lanes: rows that share bytes and scales. As long as the products of FP4's values are far from overflow and
 * subnormals, they equal the products of 1 and 1.5 except for sign and exponent. These two are rounded once per column for
 * all rows, and a code selects one of them and the number that is added to its bits. Other maps and other scales go through
 * the kernel for rows, with one scale per element. */
#if defined(__x86_64__)

#include "kernel/x86/x86_priv.h"

#include "base/num.h"
#include "kernel/x86/avx2_inline.h"

enum {
    LANES = 512,                /* columns whose products are computed once for all rows; they stay in L1 */
    AHEAD = 2                   /* lines to prefetch ahead: they are far apart, in panels that no nearby cache holds */
};

/* Packs the nibbles at bit `shift` of n bytes, two to a byte, low nibble first. */
static void
nibbles_of(uint8_t *restrict y, const uint8_t *restrict x, size_t n, unsigned shift)
{
    for (size_t i = 0; i < n / 2; i++) {
        uint16_t u;

        memcpy(&u, x + 2 * i, sizeof u);
        u = (uint16_t)(u >> shift);
        y[i] = (uint8_t)((u & 15) | (u >> 4 & 0xF0));
    }
    if (n % 2)
        y[n / 2] = x[n - 1] >> shift & 15;
}

/* Dequantizes columns [from, from + n) of all rows, at most LANES of them, with any map and scales. */
static ALWAYS_INLINE void
lanes_plain(void *y, size_t y_stride, const bool bf16, const struct codes4_lanes *l, size_t from, size_t n)
{
    const struct codes4 c = { .map = l->map, .scales = l->scales + from, .group = 1, .low_first = true };

    for (size_t r = 0; r < l->rows; r++) {
        uint8_t codes[LANES / 2];

        nibbles_of(codes, l->x + (l->first + r) / 2 * l->x_stride + from, n, (l->first + r) % 2 * 4);
        if (bf16)
            avx2_codes4_bf16((uint16_t *)y + r * y_stride + from, codes, 0, n, &c);
        else
            avx2_codes4_f32((float *)y + r * y_stride + from, codes, 0, n, &c);
    }
}

static void
lanes_f32(float *restrict y, size_t y_stride, const struct codes4_lanes *l)
{
    for (size_t from = 0; from < l->cols; from += LANES)
        lanes_plain(y, y_stride, false, l, from, l->cols - from < LANES ? l->cols - from : LANES);
}

static bool
is_fp4(const float *map)
{
    static const float fp4[8] = { 0, 0.5f, 1, 1.5f, 2, 3, 4, 6 };
    bool is = true;

    for (int i = 0; i < 8; i++)
        is &= bits_of_float(map[i]) == bits_of_float(fp4[i])
            && (bits_of_float(map[i + 8]) & 0x7FFFFFFF) == bits_of_float(fp4[i]);
    return is;
}

/* Operations on a column's products, by code: select the one with 1.5, keep or clear it, and add the low and high byte to
 * its bits. */
struct codes4_steps {
    __m256i three, some, low, high;
};

static struct codes4_steps
steps_of(const float *map)
{
    static const int8_t three[8] = { 0, 0, 0, -1, 0, -1, 0, -1 }, exponent[8] = { 0, -1, 0, 0, 1, 1, 2, 2 };
    uint8_t by_code[4][16];
    __m256i v[4];

    for (int i = 0; i < 16; i++) {
        bool minus = bits_of_float(map[i]) >> 31;
        uint16_t add = (uint16_t)((minus ? 0x8000 : 0) + exponent[i % 8] * (1 << 7));

        by_code[0][i] = (uint8_t)three[i % 8];
        if (i % 8)
            by_code[1][i] = 0xFF;
        else
            by_code[1][i] = 0;
        by_code[2][i] = (uint8_t)add;
        by_code[3][i] = (uint8_t)(add >> 8);
    }
    for (int i = 0; i < 4; i++)
        v[i] = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)by_code[i]));
    return (struct codes4_steps){ v[0], v[1], v[2], v[3] };
}

/* Returns 16 scales times a factor, rounded. */
static ALWAYS_INLINE __m256i
products_of(const float *scales, float factor)
{
    __m256 f = _mm256_set1_ps(factor);

    return concat256(bf16_high256(_mm256_mul_ps(_mm256_loadu_ps(scales), f)),
        bf16_high256(_mm256_mul_ps(_mm256_loadu_ps(scales + 8), f)));
}

/* Returns the bytes of half i of eight codes in each half, which are in order once unpacked. */
static ALWAYS_INLINE __m256i
unpack(__m256i low, __m256i high, const int i)
{
    if (i)
        return _mm256_unpackhi_epi8(low, high);
    return _mm256_unpacklo_epi8(low, high);
}

/* Dequantizes 32 columns of a row. */
static ALWAYS_INLINE void
lane32(uint16_t *restrict y, __m256i code, const struct codes4_steps *s, const uint16_t *one, const uint16_t *three)
{
    __m256i t = _mm256_shuffle_epi8(s->three, code), some = _mm256_shuffle_epi8(s->some, code);
    __m256i signs = _mm256_or_si256(some, _mm256_set1_epi8((char)0x80));        /* a zero keeps the sign of the scale */
    __m256i low = _mm256_shuffle_epi8(s->low, code), high = _mm256_shuffle_epi8(s->high, code);

    for (int i = 0; i < 2; i++) {
        __m256i a = _mm256_loadu_si256((const __m256i *)(one + 16 * i));
        __m256i b = _mm256_loadu_si256((const __m256i *)(three + 16 * i));
        __m256i v = _mm256_and_si256(_mm256_blendv_epi8(a, b, unpack(t, t, i)), unpack(some, signs, i));

        _mm256_storeu_si256((__m256i *)(y + 16 * i), _mm256_add_epi16(v, unpack(low, high, i)));
    }
}

/* Dequantizes columns [from, from + n) of all rows; n is a multiple of 32 and at most LANES. */
static void
lanes_fp4(uint16_t *restrict y, size_t y_stride, const struct codes4_lanes *l, size_t from, size_t n)
{
    const struct codes4_steps steps = steps_of(l->map);
    const __m256i nibble = _mm256_set1_epi8(15);
    uint16_t one[LANES], three[LANES];

    for (size_t c = 0; c < n; c += 16) {
        _mm256_storeu_si256((__m256i *)(one + c), products_of(l->scales + from + c, 1));
        _mm256_storeu_si256((__m256i *)(three + c), products_of(l->scales + from + c, 1.5f));
    }
    for (size_t r = 0; r < l->rows; r++) {
        const uint8_t *x = l->x + (l->first + r) / 2 * l->x_stride + from;
        const __m128i shift = _mm_cvtsi32_si128((l->first + r) % 2 * 4);

        for (size_t c = 0; c < n; c += 32) {
            __m256i code = _mm256_srl_epi16(_mm256_loadu_si256((const __m256i *)(x + c)), shift);

            _mm_prefetch((const char *)(x + AHEAD * l->x_stride + c), _MM_HINT_T0);
            code = _mm256_permute4x64_epi64(_mm256_and_si256(code, nibble), 0xD8);
            lane32(y + r * y_stride + from + c, code, &steps, one + c, three + c);
        }
    }
}

static void
lanes_bf16(uint16_t *restrict y, size_t y_stride, const struct codes4_lanes *l)
{
    const bool fp4 = is_fp4(l->map);

    for (size_t from = 0, n, whole; from < l->cols; from += n) {
        n = (size_t)num_min(l->cols - from, LANES);
        /* half of each scale must be normal, and six times it finite */
        whole = 0;
        if (fp4 && exponents_within(l->scales + from, n, 2, 250))
            whole = n & ~(size_t)31;
        if (whole)
            lanes_fp4(y, y_stride, l, from, whole);
        if (whole < n)
            lanes_plain(y, y_stride, true, l, from + whole, n - whole);
    }
}

void
avx2_use_codes4_lanes(struct kernels *k)
{
    k->codes4_lanes_f32 = lanes_f32;
}

void
avx2_use_codes4_lanes_bf16(struct kernels *k)
{
    k->codes4_lanes_bf16 = lanes_bf16;
}

#endif
