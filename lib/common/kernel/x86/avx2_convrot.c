/* avx2_convrot: computes the first four digits in 16 bits, the others in 32. A row of H_256 has 136 times +1 and 120 times
 * -1, so its sums are within 136 * 128 + 120 * 127 = 32648; intermediate results may wrap around. The first two digits are
 * within a register: there, each row of H4 is the sum of all elements minus twice the element of opposite sign. */
#if defined(__x86_64__)

#include "kernel/x86/x86_priv.h"

#include "kernel/convrot.h"
#include "kernel/x86/avx2_inline.h"

enum { LANES = 8, WORDS = 16, THREE = 64, FOUR = 256 };

static ALWAYS_INLINE __m256i
words_at(const uint8_t *x)
{
    return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)x));
}

/* sum - 2 * opposite */
static ALWAYS_INLINE __m256i
less_twice(__m256i sum, __m256i opposite)
{
    return _mm256_sub_epi16(sum, _mm256_add_epi16(opposite, opposite));
}

/* Transforms words 0 to 3 of each 64 bits. */
static ALWAYS_INLINE __m256i
first_digit(__m256i v)
{
    const __m256i swap = _mm256_broadcastsi128_si256(_mm_set_epi8(13, 12, 15, 14, 9, 8, 11, 10,
        5, 4, 7, 6, 1, 0, 3, 2));
    __m256i pairs = _mm256_shuffle_epi8(v, swap), sum = _mm256_add_epi16(v, pairs);

    return less_twice(_mm256_add_epi16(sum, _mm256_shuffle_epi32(sum, 0xB1)), _mm256_shuffle_epi32(pairs, 0xB1));
}

/* Transforms the four groups of 64 bits. */
static ALWAYS_INLINE __m256i
second_digit(__m256i v)
{
    __m256i sum = _mm256_add_epi16(v, _mm256_shuffle_epi32(v, 0x4E));

    return less_twice(_mm256_add_epi16(sum, _mm256_permute4x64_epi64(sum, 0x4E)), _mm256_permute4x64_epi64(v, 0x1B));
}

static ALWAYS_INLINE __m256i
load_words(const int16_t *w)
{
    return _mm256_loadu_si256((const __m256i *)w);
}

static ALWAYS_INLINE void
put_words(int16_t *w, __m256i v)
{
    _mm256_storeu_si256((__m256i *)w, v);
}

/* Computes the four rows of H4. */
static ALWAYS_INLINE void
digit_words(__m256i v[4])
{
    __m256i ab = _mm256_add_epi16(v[0], v[1]), cd = _mm256_add_epi16(v[2], v[3]);
    __m256i ba = _mm256_sub_epi16(v[0], v[1]), dc = _mm256_sub_epi16(v[2], v[3]);

    v[0] = _mm256_add_epi16(ab, dc);
    v[1] = _mm256_sub_epi16(ab, dc);
    v[2] = _mm256_add_epi16(cd, ba);
    v[3] = _mm256_sub_epi16(cd, ba);
}

/* Transforms n codes in groups of 4 or 16, in registers of 16. */
static ALWAYS_INLINE void
few_digits(int16_t *w, const uint8_t *x, size_t n, const bool two)
{
    for (; n > 0; n -= n < WORDS ? n : WORDS, x += WORDS, w += WORDS) {
        uint8_t last[WORDS] = { 0 };
        const uint8_t *from = x;

        if (n < WORDS)
            from = memcpy(last, x, n);
        __m256i v = first_digit(words_at(from));
        put_words(w, two ? second_digit(v) : v);
    }
}

static ALWAYS_INLINE __m256i
two_digits(const uint8_t *x)
{
    return second_digit(first_digit(words_at(x)));
}

/* Transforms 64 codes. */
static ALWAYS_INLINE void
three_digits(int16_t *w, const uint8_t *x)
{
    __m256i v[4];

    for (int k = 0; k < 4; k++)
        v[k] = two_digits(x + k * WORDS);
    digit_words(v);
    for (int k = 0; k < 4; k++)
        put_words(w + k * WORDS, v[k]);
}

/* Transforms the fourth digit of 4 x 16 words. */
static ALWAYS_INLINE void
fourth_digit(__m256i v[4], const int16_t *w)
{
    for (int k = 0; k < 4; k++)
        v[k] = load_words(w + k * THREE);
    digit_words(v);
}

/* Transforms the digits of n codes, up to four. */
static void
make_words(int16_t *w, const uint8_t *x, size_t n, size_t group)
{
    if (group == 4) {
        few_digits(w, x, n, false);
        return;
    }
    if (group == 16) {
        few_digits(w, x, n, true);
        return;
    }
    for (size_t i = 0; i < n; i += THREE)
        three_digits(w + i, x + i);
    for (size_t base = 0; group >= FOUR && base < n; base += FOUR)
        for (int16_t *p = w + base; p < w + base + THREE; p += WORDS) {
            __m256i v[4];

            fourth_digit(v, p);
            for (int k = 0; k < 4; k++)
                put_words(p + k * THREE, v[k]);
        }
}

/* Adds words to the sums, or subtracts them. */
static void
add_words(int32_t *s, const int16_t *w, size_t n, bool minus)
{
    for (size_t i = 0; i < n; i += LANES) {
        __m256i *to = (__m256i *)(s + i), old = _mm256_loadu_si256(to);
        __m256i v = _mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)(w + i)));

        _mm256_storeu_si256(to, minus ? _mm256_sub_epi32(old, v) : _mm256_add_epi32(old, v));
    }
}

/* Transforms a digit whose elements are `step` apart, a multiple of 8. */
static void
digit(int32_t *s, size_t n, size_t step)
{
    for (size_t base = 0; base < n; base += 4 * step)
        for (size_t i = base; i < base + step; i += LANES) {
            __m256i *p[4], v[4];

            for (size_t k = 0; k < 4; k++)
                v[k] = _mm256_loadu_si256(p[k] = (__m256i *)(s + i + k * step));
            __m256i ab = _mm256_add_epi32(v[0], v[1]), cd = _mm256_add_epi32(v[2], v[3]);
            __m256i ba = _mm256_sub_epi32(v[0], v[1]), dc = _mm256_sub_epi32(v[2], v[3]);

            _mm256_storeu_si256(p[0], _mm256_add_epi32(ab, dc));
            _mm256_storeu_si256(p[1], _mm256_sub_epi32(ab, dc));
            _mm256_storeu_si256(p[2], _mm256_add_epi32(cd, ba));
            _mm256_storeu_si256(p[3], _mm256_sub_epi32(cd, ba));
        }
}

static void
sums(struct convrot_room *room, const uint8_t *x, const struct convrot_tile *t, size_t group)
{
    size_t base = t->at / group * group, tile = (t->at - base) / CONVROT_TILE;
    int32_t *s = room->sums;
    int16_t *w = room->words;

    memset(s, 0, sizeof room->sums);
    if (group <= CONVROT_TILE) {
        make_words(w, x + t->at, t->len, group);
        add_words(s, w, t->len, false);
    }
    for (size_t k = 0; group > CONVROT_TILE && k < group / CONVROT_TILE; k++) {
        make_words(w, x + base + k * CONVROT_TILE, t->len, group);
        add_words(s, w, t->len, convrot_is_minus(k, tile));
    }
    for (size_t step = FOUR; step < group && step < CONVROT_TILE; step *= 4)
        digit(s, t->len, step);
}

/* Returns eight values. Adding +0 turns -0 into +0; adding -0 changes nothing. */
static ALWAYS_INLINE __m256
values_of(const int32_t *s, __m256 scale, __m256 shrink)
{
    __m256i sum = _mm256_loadu_si256((const __m256i *)s);
    __m256i zero = _mm256_cmpeq_epi32(sum, _mm256_setzero_si256());
    __m256 addend = _mm256_castsi256_ps(_mm256_andnot_si256(zero, _mm256_set1_epi32(INT32_MIN)));
    __m256 v = _mm256_mul_ps(_mm256_cvtepi32_ps(sum), scale);

    return canonical256(_mm256_mul_ps(_mm256_add_ps(v, addend), shrink));
}

static void
row_f32(float *restrict y, const uint8_t *restrict x, size_t first, size_t n, size_t group, float scale,
    struct convrot_room *room)
{
    const __m256 factor = _mm256_set1_ps(scale), shrink = _mm256_set1_ps(convrot_shrink(group));
    struct convrot_tile t;
    const int32_t *s = room->sums;

    for (size_t at = first % group; n > 0; at += t.n, n -= t.n, y += t.n) {
        float last[LANES];
        size_t i = 0;

        t = convrot_tile(at, n, group);
        sums(room, x, &t, group);
        for (; t.n - i >= LANES; i += LANES)
            _mm256_storeu_ps(y + i, values_of(s + t.skip + i, factor, shrink));
        _mm256_storeu_ps(last, values_of(s + t.skip + i, factor, shrink));
        memcpy(y + i, last, (t.n - i) * sizeof *y);
    }
}

/* Converts sixteen words to BF16, odd and even ones in the upper halves of integers. */
static ALWAYS_INLINE void
put_bf16(uint16_t *y, __m256i v, __m256 factor)
{
    __m256i even = _mm256_slli_epi32(v, 16), odd = _mm256_and_si256(v, _mm256_set1_epi32(-0x10000));

    _mm256_storeu_si256((__m256i *)y, interleave256(bf16_high256(_mm256_mul_ps(_mm256_cvtepi32_ps(even), factor)),
        bf16_high256(_mm256_mul_ps(_mm256_cvtepi32_ps(odd), factor))));
}

/* Dequantizes a whole group of 256. */
static ALWAYS_INLINE void
four_bf16(uint16_t *restrict y, const uint8_t *restrict x, __m256 factor)
{
    int16_t w[FOUR];

    for (size_t i = 0; i < FOUR; i += THREE)
        three_digits(w + i, x + i);
    for (size_t i = 0; i < THREE; i += WORDS) {
        __m256i v[4];

        fourth_digit(v, w + i);
        for (int k = 0; k < 4; k++)
            put_bf16(y + i + k * THREE, v[k], factor);
    }
}

/* The usual case: at most four digits, and a scale that is positive and so far from both ends of the range that one product
 * has the bits of two. Products are then never subnormal or infinite, and 0 only for a sum of 0. */
static void
usual_bf16(uint16_t *restrict y, const uint8_t *restrict x, size_t first, size_t n, size_t group, float scale,
    struct convrot_room *room)
{
    const __m256 factor = _mm256_set1_ps(scale * convrot_shrink(group) * 0x1p-16f);
    struct convrot_tile t;
    int16_t *w = room->words;

    for (size_t at = first % group; n > 0; at += t.n, n -= t.n, y += t.n) {
        size_t i = 0;

        t = convrot_tile(at, n, group);
        if (group == FOUR && t.skip == 0 && n >= FOUR) {
            t.n = t.n / FOUR * FOUR;
            for (; i < t.n; i += FOUR)
                four_bf16(y + i, x + t.at + i, factor);
            continue;
        }
        make_words(w, x + t.at, t.len, group);
        for (; t.n - i >= WORDS; i += WORDS)
            put_bf16(y + i, load_words(w + t.skip + i), factor);
        if (i < t.n) {
            uint16_t last[WORDS];

            put_bf16(last, load_words(w + t.skip + i), factor);
            memcpy(y + i, last, (t.n - i) * sizeof *y);
        }
    }
}

static void
row_bf16(uint16_t *restrict y, const uint8_t *restrict x, size_t first, size_t n, size_t group, float scale,
    struct convrot_room *room)
{
    if (group <= FOUR && scale >= 0x1p-100f && scale <= 0x1p100f) {
        usual_bf16(y, x, first, n, group, scale, room);
        return;
    }
    const __m256 factor = _mm256_set1_ps(scale), shrink = _mm256_set1_ps(convrot_shrink(group));
    struct convrot_tile t;
    const int32_t *s = room->sums;

    for (size_t at = first % group; n > 0; at += t.n, n -= t.n, y += t.n) {
        size_t i = 0;

        t = convrot_tile(at, n, group);
        sums(room, x, &t, group);
        for (; t.n - i >= WORDS; i += WORDS) {
            const int32_t *from = s + t.skip + i;

            _mm256_storeu_si256((__m256i *)(y + i), concat256(bf16_high256(values_of(from, factor, shrink)),
                bf16_high256(values_of(from + LANES, factor, shrink))));
        }
        if (i < t.n) {
            uint16_t last[WORDS];
            const int32_t *from = s + t.skip + i;

            _mm256_storeu_si256((__m256i *)last, concat256(bf16_high256(values_of(from, factor, shrink)),
                bf16_high256(values_of(from + LANES, factor, shrink))));
            memcpy(y + i, last, (t.n - i) * sizeof *y);
        }
    }
}

void
avx2_use_convrot(struct kernels *k)
{
    k->convrot_f32 = row_f32;
}

void
avx2_use_convrot_bf16(struct kernels *k)
{
    k->convrot_bf16 = row_bf16;
}

#endif
