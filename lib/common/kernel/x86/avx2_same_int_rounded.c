/* avx2_same_int_rounded: the formulas are in same_ints.h and same_int_rounded.c. A form of its own, since the scalar one takes as long as a
 * search: for a copy of INT4 to Q4_0, 10 ns an element in place of 1.5. */
#if defined(__x86_64__)

#include "kernel/same_ints.h"

#include <math.h>

#include "dtype/half.h"
#include "kernel/x86/x86_priv.h"

#include "kernel/x86/avx2_inline.h"

static ALWAYS_INLINE __m256i
ints(__m256 v)
{
    return _mm256_castps_si256(v);
}

static ALWAYS_INLINE __m256
floats(__m256i v)
{
    return _mm256_castsi256_ps(v);
}

/* Packs 32 codes, which are integers in lanes, to bytes; the second and third quarters of halves are exchanged. */
static ALWAYS_INLINE __m256i
packed(const __m256i v[4])
{
    return _mm256_packs_epi16(_mm256_packs_epi32(v[0], v[1]), _mm256_packs_epi32(v[2], v[3]));
}

/* Stores them in order, as fields with this code of 0. */
static ALWAYS_INLINE void
put_bytes(uint8_t *q, __m256i bytes, __m256i zero)
{
    bytes = _mm256_add_epi8(_mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)), zero);
    _mm256_storeu_si256((__m256i *)(void *)q, bytes);
}

static ALWAYS_INLINE __m256i
field_of_zero(unsigned bits)
{
    return _mm256_set1_epi8((char)(bits == 8 ? 0 : 1 << (bits - 1)));
}

/* Eight blocks at a time, with lanes for what is one number of each. */
enum { LANES = 8 };

/* Element i of each block, as what is rounded to it: struct block_bounds of same_ints.c. */
struct eight_bounds {
    __m256 low[SAME_INTS], high[SAME_INTS], most_low, most_high;
    __m256i up, down, zero, valid;      /* masks: a sign has the largest magnitude; all are 0; may be found */
};

/* Transposes eight vectors. */
static ALWAYS_INLINE void
transpose8(__m256 y[LANES], const float *x, size_t stride)
{
    __m256 a[LANES], b[LANES];
    for (size_t i = 0; i < 4; i++) {
        a[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(x + i * stride)), _mm_loadu_ps(x + (i + 4) * stride), 1);
        a[i + 4] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(x + i * stride + 4)), _mm_loadu_ps(x + (i + 4) * stride + 4), 1);
    }
    for (int i = 0; i < LANES; i += 4) {
        b[i] = _mm256_unpacklo_ps(a[i], a[i + 1]);
        b[i + 1] = _mm256_unpackhi_ps(a[i], a[i + 1]);
        b[i + 2] = _mm256_unpacklo_ps(a[i + 2], a[i + 3]);
        b[i + 3] = _mm256_unpackhi_ps(a[i + 2], a[i + 3]);
        y[i] = _mm256_shuffle_ps(b[i], b[i + 2], 0x44);
        y[i + 1] = _mm256_shuffle_ps(b[i], b[i + 2], 0xEE);
        y[i + 2] = _mm256_shuffle_ps(b[i + 1], b[i + 3], 0x44);
        y[i + 3] = _mm256_shuffle_ps(b[i + 1], b[i + 3], 0xEE);
    }
}

static ALWAYS_INLINE __m256
bound(__m256i magnitude, const bool upper)
{
    __m256i inside = _mm256_and_si256(_mm256_srli_epi32(magnitude, 12), _mm256_set1_epi32(2 * SAME_APART));
    return floats(upper ? _mm256_sub_epi32(_mm256_add_epi32(magnitude, _mm256_set1_epi32(SAME_HALFWAY + SAME_APART)), inside)
        : _mm256_add_epi32(_mm256_sub_epi32(magnitude, _mm256_set1_epi32(SAME_HALFWAY + SAME_APART)), inside));
}

static ALWAYS_INLINE void
bounds_of(struct eight_bounds *b, const float *x)
{
    const __m256i sign = _mm256_set1_epi32((int)0x80000000), none = _mm256_setzero_si256();
    __m256i up = sign, under = none, all = none, most;
    for (int i = 0; i < SAME_INTS; i += LANES) {
        transpose8(b->high + i, x + i, SAME_INTS);
        for (int k = 0; k < LANES; k++) {
            __m256i u = ints(b->high[i + k]);
            up = _mm256_max_epi32(up, u);
            under = _mm256_max_epu32(under, u);
            all = _mm256_or_si256(all, u);
        }
    }
    most = _mm256_max_epi32(up, _mm256_andnot_si256(sign, under));
    b->up = _mm256_cmpeq_epi32(up, most);
    b->down = _mm256_cmpeq_epi32(under, _mm256_or_si256(most, sign));
    b->zero = _mm256_cmpeq_epi32(most, none);
    b->valid = _mm256_and_si256(_mm256_cmpgt_epi32(most, _mm256_set1_epi32(0x32FFFFFF)), _mm256_cmpgt_epi32(_mm256_set1_epi32(0x4B800000), most));
    b->valid = _mm256_and_si256(b->valid, _mm256_cmpeq_epi32(_mm256_slli_epi32(all, 16), none));
    b->zero = _mm256_and_si256(b->zero, _mm256_cmpeq_epi32(_mm256_slli_epi32(all, 16), none));
    most = _mm256_blendv_epi8(_mm256_set1_epi32(0x3F800000), most, b->valid);
    for (int i = 0; i < SAME_INTS; i++) {
        __m256i a = _mm256_andnot_si256(sign, ints(b->high[i]));
        a = _mm256_blendv_epi8(a, most, _mm256_cmpeq_epi32(a, none));
        b->low[i] = bound(a, false);
        b->high[i] = bound(a, true);
    }
    b->most_low = bound(most, false);
    b->most_high = bound(most, true);
}

/* Returns the lanes where some early value has no code under any scale that maps the largest magnitude to c. */
static ALWAYS_INLINE __m256i
cannot_be(const struct eight_bounds *b, __m256 c)
{
    const __m256 one = _mm256_set1_ps(1);
    const __m256 up = _mm256_mul_ps(c, _mm256_mul_ps(_mm256_div_ps(one, b->most_low), _mm256_set1_ps(SAME_MORE)));
    const __m256 down = _mm256_mul_ps(c, _mm256_mul_ps(_mm256_div_ps(one, b->most_high), _mm256_set1_ps(SAME_LESS)));
    __m256 no = _mm256_setzero_ps();
    for (int i = 0; i < SAME_FIRST; i++) {
        __m256 code = _mm256_round_ps(_mm256_mul_ps(b->high[i], up), _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
        no = _mm256_or_ps(no, _mm256_cmp_ps(code, _mm256_mul_ps(b->low[i], down), _CMP_LT_OQ));
    }
    return ints(no);
}

/* Patterns of binary16 in lanes. */
struct eight_patterns {
    __m256i lo, hi;
};

static ALWAYS_INLINE struct eight_patterns
halves_within(__m256 least, __m256 most)
{
    return (struct eight_patterns){ _mm256_cvtepu16_epi32(_mm256_cvtps_ph(least, _MM_FROUND_TO_POS_INF)),
        _mm256_cvtepu16_epi32(_mm256_cvtps_ph(most, _MM_FROUND_TO_NEG_INF)) };
}

static ALWAYS_INLINE __m256
of_halves(__m256i patterns)
{
    __m256i words = _mm256_permute4x64_epi64(_mm256_packus_epi32(patterns, patterns), 0xD8);
    return _mm256_cvtph_ps(_mm256_castsi256_si128(words));
}

static ALWAYS_INLINE __m256i
simplest(struct eight_patterns r)
{
    __m256i below = _mm256_xor_si256(_mm256_sub_epi32(r.lo, _mm256_set1_epi32(1)), r.hi);
    below = _mm256_or_si256(below, _mm256_srli_epi32(below, 1));
    below = _mm256_or_si256(below, _mm256_srli_epi32(below, 2));
    below = _mm256_or_si256(below, _mm256_srli_epi32(below, 4));
    below = _mm256_or_si256(below, _mm256_srli_epi32(below, 8));
    return _mm256_andnot_si256(_mm256_srli_epi32(below, 1), r.hi);
}

/* Narrows the scales by the first n values, which must allow one code each. Returns the lanes where a value allows two. Only
 * large codes are `close` enough for that. */
static ALWAYS_INLINE __m256i
narrow(struct eight_patterns *r, const struct eight_bounds *b, const int n, const bool close)
{
    const __m256 one = _mm256_set1_ps(1), first = of_halves(r->lo), last = of_halves(r->hi);
    const __m256 inverse = _mm256_mul_ps(_mm256_div_ps(one, first), _mm256_set1_ps(SAME_MORE));
    __m256 least = first, most = last, others = _mm256_setzero_ps();
    for (int i = 0; i < n; i++) {
        __m256 code = _mm256_round_ps(_mm256_mul_ps(b->high[i], inverse), _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
        __m256 over = _mm256_div_ps(one, code);
        __m256 low = _mm256_mul_ps(b->low[i], over), high = _mm256_mul_ps(b->high[i], over);
        if (close) {
            __m256 other = _mm256_cmp_ps(_mm256_mul_ps(_mm256_sub_ps(code, one), last), b->low[i], _CMP_NLT_UQ);
            low = _mm256_andnot_ps(other, low);
            high = _mm256_or_ps(other, high);                   /* NaN, and the minimum is the second one then */
            others = _mm256_or_ps(others, other);
        }
        least = _mm256_max_ps(least, low);
        most = _mm256_min_ps(high, most);
    }
    *r = halves_within(least, most);
    return ints(others);
}

/* Eight searches: the lanes that go on, or have found; the code to try; whether it is the last one, of a negative scale. */
struct eight_searches {
    __m256i open, found, last, minus, pattern;
    __m256 c;
};

/* Takes the next code in some lanes. */
static ALWAYS_INLINE void
advance(struct eight_searches *s, __m256i lanes, __m256 half)
{
    __m256 next = _mm256_sub_ps(s->c, _mm256_and_ps(_mm256_set1_ps(1), floats(lanes)));
    __m256i out = _mm256_or_si256(s->minus, ints(_mm256_cmp_ps(next, _mm256_setzero_ps(), _CMP_EQ_OQ)));
    out = _mm256_and_si256(out, lanes);
    __m256i again = _mm256_and_si256(out, s->last);
    s->c = _mm256_blendv_ps(next, half, floats(again));
    s->minus = _mm256_or_si256(s->minus, again);
    s->last = _mm256_andnot_si256(again, s->last);
    s->open = _mm256_andnot_si256(_mm256_andnot_si256(again, out), s->open);
}

static ALWAYS_INLINE bool
any(__m256i lanes)
{
    return !_mm256_testz_si256(lanes, lanes);
}

/* Tries the codes of all lanes. */
static ALWAYS_INLINE void
try_codes(struct eight_searches *s, const struct eight_bounds *b, __m256 half, const unsigned bits)
{
    struct eight_patterns r = halves_within(_mm256_div_ps(b->most_low, s->c), _mm256_div_ps(b->most_high, s->c));
    __m256i empty = _mm256_cmpgt_epi32(r.lo, r.hi);
    __m256i unclear = _mm256_andnot_si256(empty, _mm256_cmpgt_epi32(r.hi, _mm256_set1_epi32(HALF_INF - 2)));
    if (bits == 8) {
        narrow(&r, b, SAME_FIRST, true);
        empty = _mm256_or_si256(empty, _mm256_cmpgt_epi32(r.lo, r.hi));
        __m256i fails = _mm256_andnot_si256(unclear, _mm256_and_si256(s->open, empty));
        if (any(fails)) {
            advance(s, fails, half);
            return;
        }
    }
    __m256i others = narrow(&r, b, SAME_INTS, bits == 8);
    empty = _mm256_or_si256(empty, _mm256_cmpgt_epi32(r.lo, r.hi));
    if (any(_mm256_andnot_si256(empty, _mm256_and_si256(others, s->open)))) {
        struct eight_patterns closer = r;
        __m256i still = narrow(&closer, b, SAME_INTS, bits == 8);
        r.lo = _mm256_blendv_epi8(r.lo, closer.lo, others);
        r.hi = _mm256_blendv_epi8(r.hi, closer.hi, others);
        empty = _mm256_or_si256(empty, _mm256_cmpgt_epi32(r.lo, r.hi));
        others = _mm256_and_si256(others, still);
    }
    unclear = _mm256_or_si256(unclear, _mm256_andnot_si256(empty, others));
    __m256i held = _mm256_andnot_si256(_mm256_or_si256(empty, unclear), s->open);
    s->pattern = _mm256_blendv_epi8(s->pattern, simplest(r), held);
    s->found = _mm256_or_si256(s->found, held);
    s->open = _mm256_andnot_si256(_mm256_or_si256(held, unclear), s->open);
    advance(s, _mm256_and_si256(s->open, empty), half);
}

/* Finds the scales of eight blocks. */
static ALWAYS_INLINE void
avx2_same_int_rounded_search(struct eight_searches *s, const struct eight_bounds *b, const unsigned bits)
{
    const __m256 half = _mm256_set1_ps((float)(1u << (bits - 1)));
    const __m256i none = _mm256_setzero_si256();
    *s = (struct eight_searches){ b->valid, none, _mm256_andnot_si256(b->down, b->up), none, none,
        _mm256_sub_ps(half, _mm256_and_ps(_mm256_set1_ps(1), floats(b->up))) };
    while (any(s->open)) {
        __m256i fails = _mm256_and_si256(cannot_be(b, s->c), s->open);
        if (any(fails))
            advance(s, fails, half);
        else
            try_codes(s, b, half, bits);
    }
    s->pattern = _mm256_or_si256(s->pattern, _mm256_slli_epi32(_mm256_srli_epi32(s->minus, 31), 15));
    s->pattern = _mm256_and_si256(s->pattern, s->found);
    s->found = _mm256_or_si256(s->found, b->zero);
}

static ALWAYS_INLINE void
put_nearest(uint8_t *q, const float *x, float inverse, const unsigned bits)
{
    __m256i code[4];
    for (int i = 0; i < 4; i++)
        code[i] = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + 8 * i), _mm256_set1_ps(inverse)));
    put_bytes(q, packed(code), field_of_zero(bits));
}

/* Finds n blocks, at most eight, at x, which has room for eight. Returns how many. */
static ALWAYS_INLINE size_t
find_eight(uint8_t *q, uint16_t *factor, const float *x, size_t n, const unsigned bits)
{
    struct eight_bounds b;
    struct eight_searches s;
    float inverse[LANES];
    uint32_t pattern[LANES];
    bounds_of(&b, x);
    avx2_same_int_rounded_search(&s, &b, bits);
    __m256 d = _mm256_blendv_ps(of_halves(s.pattern), _mm256_set1_ps(1), floats(b.zero));
    _mm256_storeu_ps(inverse, _mm256_div_ps(_mm256_set1_ps(1), d));
    _mm256_storeu_si256((__m256i *)(void *)pattern, _mm256_blendv_epi8(_mm256_set1_epi32(SAME_NONE), s.pattern, s.found));
    for (size_t i = 0; i < n; i++) {
        factor[2 * i] = (uint16_t)pattern[i];
        factor[2 * i + 1] = 0;
        if (q && pattern[i] != SAME_NONE)
            put_nearest(q + i * SAME_INTS, x + i * SAME_INTS, inverse[i], bits);
    }
    unsigned held = (unsigned)_mm256_movemask_ps(floats(s.found)) & ((1u << n) - 1);
    return (size_t)__builtin_popcount(held);
}

static ALWAYS_INLINE size_t
find_all(uint8_t *q, uint16_t *factor, const float *x, size_t nblocks, const unsigned bits)
{
    size_t found = 0, i = 0;
    for (; nblocks - i >= LANES; i += LANES)
        found += find_eight(q ? q + i * SAME_INTS : NULL, factor + 2 * i, x + i * SAME_INTS, LANES, bits);
    if (i < nblocks) {
        float rest[LANES * SAME_INTS] = { 0 };
        memcpy(rest, x + i * SAME_INTS, (nblocks - i) * SAME_INTS * sizeof *x);
        found += find_eight(q ? q + i * SAME_INTS : NULL, factor + 2 * i, rest, nblocks - i, bits);
    }
    return found;
}

static size_t
avx2_same_int_rounded(uint8_t *q, uint16_t *factor, const float *x, size_t nblocks, unsigned bits)
{
    if (bits == 8)
        return find_all(q, factor, x, nblocks, 8);
    if (bits == 5)
        return find_all(q, factor, x, nblocks, 5);
    return find_all(q, factor, x, nblocks, 4);
}

void
avx2_use_same_int_rounded(struct kernels *k)
{
    k->same_int_rounded = avx2_same_int_rounded;
}

#endif
