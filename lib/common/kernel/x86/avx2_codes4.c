/* avx2_codes4: the 16 values of a group are in two registers of floats. Bits 0 to 2 of a code select a value in each, and
 * bit 3 selects the register. For BF16 the values are rounded once, and in long runs their low and high bytes become two
 * tables for the byte shuffle. Groups of 16 and 32 are too short for a table of their own; they are processed in pairs, one
 * in each half of the registers, if bit 3 is a sign in the map, as in FP4's. */
#if defined(__x86_64__)

#include "kernel/x86/x86_priv.h"

#include "base/num.h"
#include "kernel/affine.h"
#include "kernel/codes4.h"
#include "kernel/x86/avx2_inline.h"

enum { STEP = 16 };             /* codes looked up as floats at a time */

struct codes4_values {
    __m256 low, high;           /* values of codes 0 .. 7, 8 .. 15 */
};

static ALWAYS_INLINE struct codes4_values
table_load(const float *p)
{
    return (struct codes4_values){ _mm256_loadu_ps(p), _mm256_loadu_ps(p + 8) };
}

static ALWAYS_INLINE __m256
scaled(__m256 v, __m256 zero, __m256 scale)
{
    return canonical256(_mm256_mul_ps(_mm256_sub_ps(v, zero), scale));
}

static ALWAYS_INLINE struct codes4_values
table_of(struct codes4_values map, float zero, float scale)
{
    __m256 z = _mm256_set1_ps(zero), s = _mm256_set1_ps(scale);

    return (struct codes4_values){ scaled(map.low, z, s), scaled(map.high, z, s) };
}

/* Returns the values of the eight codes in four bytes. */
static ALWAYS_INLINE __m256
look8(const uint8_t *x, struct codes4_values t, const bool low_first)
{
    __m256i place;
    if (low_first)
        place = _mm256_set_epi32(28, 24, 20, 16, 12, 8, 4, 0);
    else
        place = _mm256_set_epi32(24, 28, 16, 20, 8, 12, 0, 4);
    int32_t bytes;
    __m256i code;

    memcpy(&bytes, x, sizeof bytes);
    code = _mm256_srlv_epi32(_mm256_set1_epi32(bytes), place);      /* bits above the low four are ignored */
    return _mm256_blendv_ps(_mm256_permutevar8x32_ps(t.low, code), _mm256_permutevar8x32_ps(t.high, code),
        _mm256_castsi256_ps(_mm256_slli_epi32(code, 28)));
}

static ALWAYS_INLINE void
put16(void *y, const enum avx2_to format, __m256 a, __m256 b)
{
    if (format == TO_F32) {
        _mm256_storeu_ps(y, a);
        _mm256_storeu_ps((float *)y + 8, b);
    } else {
        _mm256_storeu_si256(y, concat256(bf16_high256(a), bf16_high256(b)));
    }
}

/* Looks up 64 codes of 32 bytes, or 32 codes of 16, in the byte tables. Each four bytes (eight codes) are first moved to the
 * place where their nibbles, low and high alternating, are in the order of pick32(). Returns the number of codes looked up. */
static ALWAYS_INLINE size_t
run_words(uint16_t *restrict y, const uint8_t *restrict x, size_t n, const struct words16 *words, const bool low_first)
{
    const __m256i order = _mm256_set_epi32(7, 5, 3, 1, 6, 4, 2, 0), order16 = _mm256_set_epi32(3, 1, 3, 1, 2, 0, 2, 0);
    const __m256i nibble = _mm256_set1_epi8(15), none = _mm256_setzero_si256();
    size_t i = 0;

    for (; n - i >= 64; i += 64) {
        __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_loadu_si256((const __m256i *)(x + i / 2)), order);
        __m256i low = _mm256_and_si256(bytes, nibble), high = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), nibble);
        __m256i a = low_first ? low : high, b = low_first ? high : low;

        pick32(y + i, words, _mm256_unpacklo_epi8(a, b), none);
        pick32(y + i + 32, words, _mm256_unpackhi_epi8(a, b), none);
    }
    if (n - i >= 32) {
        __m256i bytes = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(x + i / 2)));
        __m256i low, high;

        bytes = _mm256_permutevar8x32_epi32(bytes, order16);
        low = _mm256_and_si256(bytes, nibble);
        high = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), nibble);
        pick32(y + i, words, low_first ? _mm256_unpacklo_epi8(low, high) : _mm256_unpacklo_epi8(high, low), none);
        i += 32;
    }
    return i;
}

static ALWAYS_INLINE void
run_table(char *restrict y, const enum avx2_to format, const uint8_t *restrict x, size_t n, struct codes4_values t,
    const bool low_first)
{
    size_t size = size_of(format), i = 0;

    if (format == TO_BF16 && n >= 32) {
        struct words16 words = words16_rounded(_mm256_permute2f128_ps(t.low, t.high, 0x20),
            _mm256_permute2f128_ps(t.low, t.high, 0x31));

        i = run_words((uint16_t *)y, x, n, &words, low_first);
    }
    for (; n - i >= STEP; i += STEP)
        put16(y + i * size, format, look8(x + i / 2, t, low_first), look8(x + i / 2 + 4, t, low_first));
    if (i < n) {
        uint8_t last[STEP / 2] = { 0 };
        float values[STEP];

        memcpy(last, x + i / 2, (n - i + 1) / 2);
        put16(values, format, look8(last, t, low_first), look8(last + 4, t, low_first));
        memcpy(y + i * size, values, (n - i) * size);
    }
}

/* Dequantizes 16 codes, each with its own zero point and scale. */
static ALWAYS_INLINE void
each16(void *y, const enum avx2_to format, const uint8_t *x, struct codes4_values map, const float *zeros, const float *scales,
    const bool low_first)
{
    __m256 v[2];

    for (int i = 0; i < 2; i++)
        v[i] = scaled(look8(x + 4 * i, map, low_first), zeros ? _mm256_loadu_ps(zeros + 8 * i) : _mm256_setzero_ps(),
            _mm256_loadu_ps(scales + 8 * i));
    put16(y, format, v[0], v[1]);
}

static ALWAYS_INLINE void
run_each(char *restrict y, const enum avx2_to format, const uint8_t *restrict x, size_t n, struct codes4_values map,
    const float *restrict zeros, const float *restrict scales, const bool low_first)
{
    size_t size = size_of(format), i = 0;

    for (; n - i >= STEP; i += STEP)
        each16(y + i * size, format, x + i / 2, map, zeros ? zeros + i : NULL, scales + i, low_first);
    if (i < n) {
        uint8_t last[STEP / 2] = { 0 };
        float values[STEP], z[STEP] = { 0 }, s[STEP] = { 0 };

        memcpy(last, x + i / 2, (n - i + 1) / 2);
        if (zeros)
            memcpy(z, zeros + i, (n - i) * sizeof *z);
        memcpy(s, scales + i, (n - i) * sizeof *s);
        each16(values, format, last, map, z, s, low_first);
        memcpy(y + i * size, values, (n - i) * size);
    }
}

/* Moves the second code of a byte to the first nibble, for a run that starts in the middle of a byte. */
static ALWAYS_INLINE uint8_t
second_nibble(uint8_t byte, bool low_first)
{
    if (low_first)
        return (uint8_t)(byte >> 4);
    return (uint8_t)(byte << 4);
}

/* Returns the values of group g, computed from the parameters in `own`. */
typedef struct codes4_values group_table(struct codes4_values map, const void *own, size_t g);

static ALWAYS_INLINE struct codes4_values
codes4_table(struct codes4_values map, const void *own, size_t g)
{
    const struct codes4 *c = own;

    return table_of(map, c->zeros ? c->zeros[g] : 0, c->scales[g]);
}

static ALWAYS_INLINE void
groups(char *restrict y, const enum avx2_to format, const uint8_t *restrict x, size_t first, size_t n, size_t group,
    const float *numbers, group_table *table, const void *own, const bool low_first)
{
    const struct codes4_values map = table_load(numbers);
    size_t at = first % 2;                          /* nibbles of x consumed */
    size_t len = group - first % group;             /* elements in the group */

    for (size_t g = 0; n > 0; g++, n -= len, len = group) {
        struct codes4_values t = table(map, own, g);
        size_t odd = at % 2, even;

        if (len > n)
            len = n;
        even = len - odd;
        if (odd) {
            uint8_t alone = second_nibble(x[at / 2], low_first);

            run_table(y, format, &alone, 1, t, low_first);
        }
        run_table(y + odd * size_of(format), format, x + (at + odd) / 2, even, t, low_first);
        y += len * size_of(format);
        at += len;
    }
}

static ALWAYS_INLINE void
singles(char *restrict y, const enum avx2_to format, const uint8_t *restrict x, size_t first, size_t n,
    const struct codes4 *c, const bool low_first)
{
    const struct codes4_values map = table_load(c->map);
    size_t odd = (size_t)num_min(first % 2, n);

    if (odd) {
        uint8_t alone = second_nibble(x[0], low_first);

        run_each(y, format, &alone, 1, map, c->zeros, c->scales, low_first);
    }
    run_each(y + odd * size_of(format), format, x + odd, n - odd, map, c->zeros ? c->zeros + odd : NULL,
        c->scales + odd, low_first);
}

static ALWAYS_INLINE void
row(void *restrict y, const enum avx2_to format, const uint8_t *restrict x, size_t first, size_t n,
    const struct codes4 *c)
{
    if (c->group == 1 && c->low_first)
        singles(y, format, x, first, n, c, true);
    else if (c->group == 1)
        singles(y, format, x, first, n, c, false);
    else if (c->low_first)
        groups(y, format, x, first, n, c->group, c->map, codes4_table, c, true);
    else
        groups(y, format, x, first, n, c->group, c->map, codes4_table, c, false);
}

/* Returns true if bit 3 of the code changes only the sign of a value, as in FP4. */
static bool
is_mirrored(const float *map)
{
    bool mirrored = true;

    for (int i = 0; i < 8; i++)
        mirrored &= ((bits_of_float(map[i]) ^ bits_of_float(map[i + 8])) & 0x7FFFFFFF) == 0;
    return mirrored;
}

/* Returns, for each code, the bit that flips the sign in the high byte of its value, or 0; same in both halves. */
static __m256i
signs_of(const float *map)
{
    uint8_t sign[16] = { 0 };

    for (int i = 0; i < 8; i++)
        sign[i + 8] = (uint8_t)((bits_of_float(map[i]) ^ bits_of_float(map[i + 8])) >> 24 & 0x80);
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)sign));
}

/* Two groups side by side, the first one in the lower halves: low and high bytes of the eight values of codes without bit 3,
 * twice in each half, and the effect of bit 3 on the high byte. */
struct codes4_pair {
    __m256i low, high, sign;
};

static ALWAYS_INLINE struct codes4_pair
pair_of(__m256 map, __m256i sign, const float scales[2])
{
    const __m256i even = _mm256_set1_epi64x(0x0E0C0A0806040200), odd = _mm256_set1_epi64x(0x0F0D0B0907050301);
    __m256 a = _mm256_mul_ps(map, _mm256_broadcast_ss(scales)), b = _mm256_mul_ps(map, _mm256_broadcast_ss(scales + 1));
    __m256i words = concat256(bf16_high256(a), bf16_high256(b));

    return (struct codes4_pair){ _mm256_shuffle_epi8(words, even), _mm256_shuffle_epi8(words, odd), sign };
}

/* Looks up 16 codes of each group. */
static ALWAYS_INLINE void
pick_pair(uint16_t *first, uint16_t *second, struct codes4_pair t, __m256i code)
{
    __m256i low = _mm256_shuffle_epi8(t.low, code);
    __m256i high = _mm256_xor_si256(_mm256_shuffle_epi8(t.high, code), _mm256_shuffle_epi8(t.sign, code));
    __m256i a = _mm256_unpacklo_epi8(low, high), b = _mm256_unpackhi_epi8(low, high);

    _mm256_storeu_si256((__m256i *)first, _mm256_permute2x128_si256(a, b, 0x20));
    _mm256_storeu_si256((__m256i *)second, _mm256_permute2x128_si256(a, b, 0x31));
}

/* Dequantizes whole groups of 16 or 32 codes, a constant, in pairs. Bit 3 of a code must be a sign, and no product may be
 * NaN. */
static ALWAYS_INLINE void
run_pairs(uint16_t *restrict y, const uint8_t *restrict x, size_t npairs, const float *map,
    const float *restrict scales, const size_t group, const bool low_first)
{
    const __m256i nibble = _mm256_set1_epi8(15);
    const __m256 low8 = _mm256_loadu_ps(map);
    const __m256i sign = signs_of(map);

    for (size_t i = 0; i < npairs; i++, x += group, y += 2 * group, scales += 2) {
        struct codes4_pair t = pair_of(low8, sign, scales);
        __m256i bytes = group == 32 ? _mm256_loadu_si256((const __m256i *)x)
            : _mm256_permute4x64_epi64(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)x)), 0x50);
        __m256i low = _mm256_and_si256(bytes, nibble), high = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), nibble);
        __m256i a = low_first ? low : high, b = low_first ? high : low;

        pick_pair(y, y + group, t, _mm256_unpacklo_epi8(a, b));
        if (group == 32)
            pick_pair(y + 16, y + 48, t, _mm256_unpackhi_epi8(a, b));
    }
}

static inline bool
are_finite(const float *v, size_t n)
{
    return exponents_within(v, n, 0, 254);
}

/* Dequantizes the elements before the first whole group, pairs of groups, and the remaining elements. */
static ALWAYS_INLINE void
row_pairs(uint16_t *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct codes4 *c,
    const size_t group)
{
    size_t head = first % group ? group - first % group : 0, npairs = n > head ? (n - head) / (2 * group) : 0;
    struct codes4 rest = *c;

    rest.scales += head != 0;
    if (!are_finite(rest.scales, 2 * npairs))
        npairs = 0;
    if (npairs == 0) {
        row(y, TO_BF16, x, first, n, c);
        return;
    }
    row(y, TO_BF16, x, first, head, c);
    x += (first % 2 + head) / 2;
    y += head;
    n -= head + 2 * group * npairs;
    if (c->low_first)
        run_pairs(y, x, npairs, c->map, rest.scales, group, true);
    else
        run_pairs(y, x, npairs, c->map, rest.scales, group, false);
    rest.scales += 2 * npairs;
    row(y + 2 * group * npairs, TO_BF16, x + group * npairs, 0, n, &rest);
}

void
avx2_codes4_f32(float *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct codes4 *c)
{
    row(y, TO_F32, x, first, n, c);
}

void
avx2_codes4_bf16(uint16_t *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct codes4 *c)
{
    bool plain = c->zeros == NULL && is_mirrored(c->map) && are_finite(c->map, 8);

    if (plain && c->group == 16)
        row_pairs(y, x, first, n, c, 16);
    else if (plain && c->group == 32)
        row_pairs(y, x, first, n, c, 32);
    else
        row(y, TO_BF16, x, first, n, c);
}

/* --- affine.h: the 16 values of a group are a table, so the two roundings are done on it */

/* Computes values of the table. The last rounding, if it is to BF16, is left to the table's own rounding. */
static ALWAYS_INLINE __m256
affine_of(__m256 v, const struct affine *a, size_t g, const enum dtype in)
{
    enum dtype last = in;
    if (in == DTYPE_BF16)
        last = DTYPE_F32;
    __m256 factor = _mm256_set1_ps(a->factors[g]), term = _mm256_set1_ps(a->terms[g]);

    if (a->fused)
        return rounded256(_mm256_fmadd_ps(v, factor, term), last);
    if (a->term_first)
        return rounded256(_mm256_mul_ps(rounded256(_mm256_sub_ps(v, term), in), factor), last);
    return rounded256(_mm256_add_ps(rounded256(_mm256_mul_ps(v, factor), in), term), last);
}

static ALWAYS_INLINE struct codes4_values
affine_table(struct codes4_values map, const void *own, size_t g)
{
    const struct affine *a = own;

    if (a->in == DTYPE_BF16)
        return (struct codes4_values){ affine_of(map.low, a, g, DTYPE_BF16), affine_of(map.high, a, g, DTYPE_BF16) };
    if (a->in == DTYPE_F16)
        return (struct codes4_values){ affine_of(map.low, a, g, DTYPE_F16), affine_of(map.high, a, g, DTYPE_F16) };
    return (struct codes4_values){ affine_of(map.low, a, g, DTYPE_F32), affine_of(map.high, a, g, DTYPE_F32) };
}

static void
avx2_affine4_bf16(uint16_t *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct affine *a)
{
    static const float numbers[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

    groups((char *)y, TO_BF16, x, first, n, a->group, a->map ? a->map : numbers, affine_table, a, true);
}

void
avx2_use_codes4(struct kernels *k)
{
    k->codes4_f32 = avx2_codes4_f32;
}

void
avx2_use_codes4_bf16(struct kernels *k)
{
    k->codes4_bf16 = avx2_codes4_bf16;
    k->affine4_bf16 = avx2_affine4_bf16;
}

#endif
