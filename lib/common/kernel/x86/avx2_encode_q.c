/* avx2_encode_q: Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, several blocks of 32 floats at a time. Without importance, extremes do not
 * depend on the order, and codes do not depend on each other; with importance, eight blocks of a row are searched at once.
 * Blocks that are not ordinary (infinite, NaN, all 0, tiny, huge), or their rows, are left to the scalar encoder. */
#if defined(__x86_64__)

#include "kernel/encode_q.h"

#include <immintrin.h>

#include "kernel/encode_math.h"
#include "kernel/x86/avx2_encode_lanes.h"
#include "kernel/x86/unpack.h"
#include "kernel/x86/x86_priv.h"

enum { ELEMS = 32, BATCH = 4 };                 /* blocks whose extremes and factors share registers */

/* --- extremes */

/* Returns the larger value of each pair of neighbours: for a in lanes 0 and 2 of both halves, for b in lanes 1 and 3. */
static ALWAYS_INLINE __m256
fold(__m256 a, __m256 b)
{
    return _mm256_max_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
}

/* Finds the largest value and the largest negated value of four blocks, one lane for each block. */
static ALWAYS_INLINE void
extremes(__m128 *high, __m128 *minus_low, const float *x)
{
    __m256 v[2 * BATCH];

    for (int b = 0; b < BATCH; b++, x += ELEMS) {
        __m256 p = _mm256_loadu_ps(x), q = _mm256_loadu_ps(x + 8);
        __m256 r = _mm256_loadu_ps(x + 16), s = _mm256_loadu_ps(x + 24);

        v[b] = _mm256_max_ps(_mm256_max_ps(p, q), _mm256_max_ps(r, s));
        v[BATCH + b] = _mm256_xor_ps(_mm256_min_ps(_mm256_min_ps(p, q), _mm256_min_ps(r, s)), _mm256_set1_ps(-0.0f));
    }
    for (int b = 0; b < 2 * BATCH; b += 4)                      /* blocks 0, 1, 2, 3 of both halves */
        v[b] = fold(fold(v[b], v[b + 2]), fold(v[b + 1], v[b + 3]));
    v[0] = _mm256_max_ps(_mm256_permute2f128_ps(v[0], v[4], 0x20), _mm256_permute2f128_ps(v[0], v[4], 0x31));
    *high = _mm256_castps256_ps128(v[0]);
    *minus_low = _mm256_extractf128_ps(v[0], 1);
}

/* Returns the first value of this magnitude in a block, which must have one. */
static float
avx2_encode_q_first_of(const float *x, float magnitude)
{
    while (fabsf(*x) != magnitude)
        x++;
    return *x;
}

/* Returns the extreme values, like extreme(). */
static ALWAYS_INLINE __m128
farther(__m128 high, __m128 minus_low, const float *x)
{
    __m128 sign = _mm_and_ps(_mm_cmpgt_ps(minus_low, high), _mm_set1_ps(-0.0f));
    __m128 value = _mm_or_ps(_mm_max_ps(high, minus_low), sign);
    int equal = _mm_movemask_ps(_mm_cmpeq_ps(high, minus_low));

    if (equal != 0) {
        float f[BATCH];

        _mm_storeu_ps(f, value);
        for (int b = 0; b < BATCH; b++)
            if (equal >> b & 1)
                f[b] = avx2_encode_q_first_of(x + b * ELEMS, f[b]);
        value = _mm_loadu_ps(f);
    }
    return value;
}

/* --- bits */

static ALWAYS_INLINE void
put_nibbles(uint8_t *qs, __m256i codes)
{
    codes = _mm256_and_si256(codes, _mm256_set1_epi8(15));
    _mm_storeu_si128((__m128i *)(void *)qs, _mm_or_si128(_mm256_castsi256_si128(codes),
        _mm_slli_epi16(_mm256_extracti128_si256(codes, 1), 4)));
}

static ALWAYS_INLINE void
put_fifth_bits(uint8_t *qh, __m256i codes)
{
    uint32_t bits = (uint32_t)_mm256_movemask_epi8(_mm256_slli_epi16(codes, 3));

    memcpy(qh, &bits, sizeof bits);
}

/* Stores a block. d and m are binary16; m is used if the type has a minimum. */
static ALWAYS_INLINE void
put_block(uint8_t *restrict y, uint16_t d, uint16_t m, __m256i codes, const struct encode_q_type t)
{
    memcpy(y, &d, sizeof d);
    y += sizeof d;
    if (t.with_min) {
        memcpy(y, &m, sizeof m);
        y += sizeof m;
    }
    if (t.fifth_bits) {
        put_fifth_bits(y, codes);
        y += 4;
    }
    put_nibbles(y, codes);
}

/* Packs four times eight codes into 32 bytes, in order. */
static ALWAYS_INLINE __m256i
codes_of(const __m256i v[4])
{
    __m256i bytes = _mm256_packs_epi16(_mm256_packs_epi32(v[0], v[1]), _mm256_packs_epi32(v[2], v[3]));

    return _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

/* --- Q4_0 to Q5_1 */

/* Encoded form of four blocks: binary16 factors and minima, and 32 codes each. */
struct q_batch {
    uint16_t d[BATCH], m[BATCH];
    __m256i codes[BATCH];
};

static ALWAYS_INLINE void
put_halves(uint16_t h[BATCH], __m128 v)
{
    _mm_storel_epi64((__m128i *)(void *)h, _mm_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}

/* Computes codes for x = code * factor + low. `half` is added for rounding, and for a code that is not 0 for x = 0. A value
 * that does not fit an integer is converted to a negative one, which no code is: the result is then false. */
static ALWAYS_INLINE bool
batch_codes(struct q_batch *batch, const float *x, __m128 factor, __m128 low, const bool with_low, const float half)
{
    __m256i any = _mm256_setzero_si256();
    float inverses[BATCH], lows[BATCH];

    _mm_storeu_ps(inverses, _mm_div_ps(_mm_set1_ps(1.0f), factor));
    _mm_storeu_ps(lows, low);
    for (int b = 0; b < BATCH; b++) {
        __m256i v[4];

        for (int i = 0; i < 4; i++, x += 8) {
            __m256 f = _mm256_loadu_ps(x);

            if (with_low)
                f = _mm256_sub_ps(f, _mm256_set1_ps(lows[b]));
            f = _mm256_add_ps(_mm256_mul_ps(f, _mm256_set1_ps(inverses[b])), _mm256_set1_ps(half));
            v[i] = _mm256_cvttps_epi32(f);
            any = _mm256_or_si256(any, v[i]);
        }
        batch->codes[b] = codes_of(v);
    }
    return _mm256_movemask_ps(_mm256_castsi256_ps(any)) == 0;
}

/* x = (code - top) * d. */
static ALWAYS_INLINE bool
symmetric_batch(struct q_batch *batch, const float *x, const int top)
{
    __m128 high, minus_low, factor;

    extremes(&high, &minus_low, x);
    if (_mm_movemask_ps(_mm_cmpgt_ps(_mm_max_ps(high, minus_low), _mm_set1_ps(0x1p-120f))) != 15)
        return false;
    factor = _mm_div_ps(farther(high, minus_low, x), _mm_set1_ps(-(float)top));
    put_halves(batch->d, factor);
    if (!batch_codes(batch, x, factor, factor, false, (float)top + 0.5f))
        return false;
    for (int b = 0; b < BATCH; b++)
        batch->codes[b] = _mm256_min_epu8(batch->codes[b], _mm256_set1_epi8((char)(2 * top - 1)));
    return true;
}

/* x = code * d + m. Returns false if a minimum is 0, because its sign is left to the scalar encoder. */
static ALWAYS_INLINE bool
min_batch(struct q_batch *batch, const float *x, const int top)
{
    __m128 high, minus_low, low, factor;

    extremes(&high, &minus_low, x);
    low = _mm_xor_ps(minus_low, _mm_set1_ps(-0.0f));
    factor = _mm_div_ps(_mm_sub_ps(high, low), _mm_set1_ps((float)top));
    if (_mm_movemask_ps(_mm_and_ps(_mm_cmpgt_ps(factor, _mm_set1_ps(0x1p-120f)),
            _mm_cmpneq_ps(low, _mm_setzero_ps()))) != 15)
        return false;
    put_halves(batch->d, factor);
    put_halves(batch->m, low);
    if (!batch_codes(batch, x, factor, low, true, 0.5f))
        return false;
    if (top == 15)
        for (int b = 0; b < BATCH; b++)
            batch->codes[b] = _mm256_min_epu8(batch->codes[b], _mm256_set1_epi8(15));
    return true;
}

static ALWAYS_INLINE bool
plain_as(const enum dtype dtype, uint8_t *restrict y, const float *restrict x, size_t nblocks)
{
    const struct encode_q_type t = encode_q_type(dtype);
    struct q_batch batch;

    for (; nblocks >= BATCH; nblocks -= BATCH, y += BATCH * t.nbytes, x += BATCH * ELEMS) {
        if (!(t.with_min ? min_batch(&batch, x, t.top) : symmetric_batch(&batch, x, t.top))) {
            encode_q(dtype, y, x, BATCH, ELEMS, NULL);
            continue;
        }
        for (size_t b = 0; b < BATCH; b++)
            put_block(y + b * t.nbytes, batch.d[b], t.with_min ? batch.m[b] : 0, batch.codes[b], t);
    }
    return encode_q(dtype, y, x, nblocks, ELEMS, NULL);
}

static bool
encode_plain(enum dtype dtype, uint8_t *restrict y, const float *restrict x, size_t nblocks)
{
    switch (dtype) {
    case DTYPE_Q4_0: return plain_as(DTYPE_Q4_0, y, x, nblocks);
    case DTYPE_Q4_1: return plain_as(DTYPE_Q4_1, y, x, nblocks);
    case DTYPE_Q5_0: return plain_as(DTYPE_Q5_0, y, x, nblocks);
    default: return plain_as(DTYPE_Q5_1, y, x, nblocks);
    }
}

/* --- Q4_0 to Q5_1 with importance */

enum { EIGHT = LANES * ELEMS };

/* Encodes eight blocks after a search: x = scale * code - min, or scale * (code - top). */
struct q_searched {
    uint8_t codes[EIGHT];
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

/* Encodes eight blocks; x and importance are their elements. */
static ALWAYS_INLINE bool
avx2_encode_q_search(struct q_searched *searched, const float *x, const float *importance, float mean_square,
    const struct encode_q_type t)
{
    __m256 v[ELEMS], weights[ELEMS];

    lanes_load(v, x, ELEMS);
    lanes_weigh(weights, v, importance, mean_square, ELEMS);
    if (!all_finite(v))
        return false;
    if (t.with_min)
        return lanes_search_with_min(searched->codes, searched->scale, searched->min, v, weights, ELEMS, t.top,
            &search_tries_weighted);
    return lanes_search_symmetric(searched->codes, searched->scale, v, weights, ELEMS, t.top);
}

/* Encodes `count` blocks at the end of a row; the last one is repeated to fill the lanes. */
static ALWAYS_INLINE bool
search_rest(struct q_searched *searched, const float *x, const float *importance, size_t count, float mean_square,
    const struct encode_q_type t)
{
    float xs[EIGHT], of[EIGHT];

    for (size_t b = 0; b < LANES; b++) {
        size_t from = (b < count ? b : count - 1) * ELEMS;

        memcpy(xs + b * ELEMS, x + from, ELEMS * sizeof *x);
        memcpy(of + b * ELEMS, importance + from, ELEMS * sizeof *of);
    }
    return avx2_encode_q_search(searched, xs, of, mean_square, t);
}

static ALWAYS_INLINE bool
encode_row(uint8_t *restrict y, const float *restrict x, size_t cols, const float *restrict importance,
    const struct encode_q_type t)
{
    float mean_square = sum_of_squares(x, cols) / (float)cols;
    struct q_searched s;

    for (size_t c = 0; c < cols; c += EIGHT) {
        size_t count = LANES;
        if (cols - c < EIGHT)
            count = (cols - c) / ELEMS;

        if (!(count == LANES ? avx2_encode_q_search(&s, x + c, importance + c, mean_square, t)
                : search_rest(&s, x + c, importance + c, count, mean_square, t)))
            return false;
        for (size_t b = 0; b < count; b++, y += t.nbytes)
            put_block(y, half_of_float(s.scale[b]), t.with_min ? half_of_float(-s.min[b]) : 0,
                _mm256_loadu_si256((const __m256i *)(const void *)(s.codes + b * ELEMS)), t);
    }
    return true;
}

static bool
encode_weighted(enum dtype dtype, uint8_t *restrict y, const float *restrict x, size_t cols,
    const float *restrict importance)
{
    switch (dtype) {
    case DTYPE_Q4_0: return encode_row(y, x, cols, importance, encode_q_type(DTYPE_Q4_0));
    case DTYPE_Q4_1: return encode_row(y, x, cols, importance, encode_q_type(DTYPE_Q4_1));
    case DTYPE_Q5_0: return encode_row(y, x, cols, importance, encode_q_type(DTYPE_Q5_0));
    default: return encode_row(y, x, cols, importance, encode_q_type(DTYPE_Q5_1));
    }
}

static bool
avx2_encode_q(enum dtype dtype, uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols,
    const float *restrict importance)
{
    if (importance == NULL)
        return encode_plain(dtype, y, x, rows * cols / ELEMS);
    for (; rows > 0; rows--, y += cols / ELEMS * encode_q_type(dtype).nbytes, x += cols)
        if (!encode_weighted(dtype, y, x, cols, importance))
            encode_q(dtype, y, x, 1, cols, importance);
    return true;
}

/* --- Q8_0 */

/* Returns the bits of the largest magnitude; the bits of NaN and infinity are larger than the bits of any number. */
static ALWAYS_INLINE uint32_t
magnitude_bits(const float *x)
{
    __m256i a[4];

    for (int i = 0; i < 4; i++)
        a[i] = _mm256_castps_si256(_mm256_andnot_ps(_mm256_set1_ps(-0.0f), _mm256_loadu_ps(x + 8 * i)));
    a[0] = _mm256_max_epi32(_mm256_max_epi32(a[0], a[1]), _mm256_max_epi32(a[2], a[3]));
    __m128i m = _mm_max_epi32(_mm256_castsi256_si128(a[0]), _mm256_extracti128_si256(a[0], 1));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4E));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0xB1));
    return (uint32_t)_mm_cvtsi128_si32(m);
}

/* Rounds to nearest, ties away from zero, for magnitudes up to 2^22. Adds the largest float below one half, because adding
 * one half would also round up that float itself. */
static ALWAYS_INLINE __m256i
rounded_away(__m256 v)
{
    __m256 half = _mm256_or_ps(_mm256_and_ps(v, _mm256_set1_ps(-0.0f)), _mm256_set1_ps(0x1.fffffep-2f));

    return _mm256_cvttps_epi32(_mm256_add_ps(v, half));
}

static bool
avx2_encode_q8_0(enum dtype dtype, uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols,
    const float *restrict importance)
{
    for (size_t i = rows * cols / ELEMS; i > 0; i--, y += Q8_0_BYTES, x += ELEMS) {
        uint32_t bits = magnitude_bits(x);
        __m256i v[4];

        if (bits - 0x02000000u >= 0x7F800000u - 0x02000000u) {     /* 0 .. 2^-123, infinite, NaN */
            encode_q8_0(dtype, y, x, 1, ELEMS, importance);
            continue;
        }
        float d = float_of_bits(bits) / 127.0f;
        __m256 inverse = _mm256_set1_ps(1.0f / d);
        for (int j = 0; j < 4; j++)
            v[j] = rounded_away(_mm256_mul_ps(_mm256_loadu_ps(x + 8 * j), inverse));
        uint16_t h = half_of_float(d);
        memcpy(y, &h, sizeof h);
        _mm256_storeu_si256((__m256i *)(void *)(y + 2), codes_of(v));
    }
    return true;
}

/* --- codes and factors */

static ALWAYS_INLINE void
avx2_encode_q_join(uint8_t *restrict y, const uint8_t *restrict q, const uint16_t *restrict factor, size_t nblocks,
    const struct encode_q_type t)
{
    for (size_t i = 0; i < nblocks; i++, y += t.nbytes, q += ELEMS, factor += 2)
        put_block(y, factor[0], factor[1], load256(q), t);
}

static void
avx2_q_join(enum dtype type, uint8_t *restrict y, const uint8_t *restrict q, const uint16_t *restrict factor, size_t nblocks)
{
    switch (type) {
    case DTYPE_Q4_0: avx2_encode_q_join(y, q, factor, nblocks, encode_q_type(DTYPE_Q4_0)); break;
    case DTYPE_Q4_1: avx2_encode_q_join(y, q, factor, nblocks, encode_q_type(DTYPE_Q4_1)); break;
    case DTYPE_Q5_0: avx2_encode_q_join(y, q, factor, nblocks, encode_q_type(DTYPE_Q5_0)); break;
    case DTYPE_Q5_1: avx2_encode_q_join(y, q, factor, nblocks, encode_q_type(DTYPE_Q5_1)); break;
    default: q_join(type, y, q, factor, nblocks);
    }
}

static ALWAYS_INLINE void
split(uint8_t *restrict q, uint16_t *restrict factor, const uint8_t *restrict y, size_t nblocks, const struct encode_q_type t)
{
    for (size_t i = 0; i < nblocks; i++, y += t.nbytes, q += ELEMS, factor += 2) {
        const uint8_t *codes = y + (t.with_min ? 4 : 2);
        __m256i v = nibbles32(codes + (t.fifth_bits ? 4 : 0));

        if (t.fifth_bits)
            v = _mm256_or_si256(v, _mm256_and_si256(bits32(load_le32(codes)), _mm256_set1_epi8(16)));
        factor[0] = load_le16(y);
        if (t.with_min)
            factor[1] = load_le16(y + 2);
        else
            factor[1] = 0;
        _mm256_storeu_si256((__m256i *)(void *)q, v);
    }
}

static void
avx2_q_split(enum dtype type, uint8_t *restrict q, uint16_t *restrict factor, const uint8_t *restrict y, size_t nblocks)
{
    switch (type) {
    case DTYPE_Q4_0: split(q, factor, y, nblocks, encode_q_type(DTYPE_Q4_0)); break;
    case DTYPE_Q4_1: split(q, factor, y, nblocks, encode_q_type(DTYPE_Q4_1)); break;
    case DTYPE_Q5_0: split(q, factor, y, nblocks, encode_q_type(DTYPE_Q5_0)); break;
    case DTYPE_Q5_1: split(q, factor, y, nblocks, encode_q_type(DTYPE_Q5_1)); break;
    default: q_split(type, q, factor, y, nblocks);
    }
}

void
avx2_use_encode_q(struct kernels *k)
{
    k->q_join = avx2_q_join;
    k->q_split = avx2_q_split;
    k->encode[DTYPE_Q4_0] = k->encode[DTYPE_Q4_1] = k->encode[DTYPE_Q5_0] = k->encode[DTYPE_Q5_1] = avx2_encode_q;
    k->encode[DTYPE_Q8_0] = avx2_encode_q8_0;
}

#endif
