/* avx2_rows: dequantizes codes of a byte each, group by group, eight to a register: codes8, affine, int8_row. `format`, `in`
 * and flags are constants once inlined. */
#if defined(__x86_64__)

#include "kernel/x86/x86_priv.h"

#include "kernel/affine.h"
#include "kernel/codes8.h"
#include "kernel/int8_row.h"
#include "kernel/x86/avx2_inline.h"

enum { LANES = 8, STEP = 2 * LANES, TABLE = 32 };       /* codes looked up in a table at a time */

static ALWAYS_INLINE __m256
codes_of(const uint8_t *x, const bool is_signed)
{
    __m128i bytes = _mm_loadl_epi64((const __m128i *)x);

    return _mm256_cvtepi32_ps(is_signed ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes));
}

static ALWAYS_INLINE __m256
pick(const float *map, const uint8_t *x)
{
    return _mm256_i32gather_ps(map, _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)x)), 4);
}

static ALWAYS_INLINE void
avx2_rows_put(void *y, const enum avx2_to format, __m256 lo, __m256 hi)
{
    if (format == TO_F32) {
        _mm256_storeu_ps(y, lo);
        _mm256_storeu_ps((float *)y + LANES, hi);
    } else {
        _mm256_storeu_si256(y, concat256(bf16_high256(lo), bf16_high256(hi)));
    }
}

/* Returns a BF16 table of 16 values that are not rounded yet. */
static ALWAYS_INLINE struct words16
table_of(const float values[16])
{
    __m256 low = _mm256_loadu_ps(values), high = _mm256_loadu_ps(values + LANES);

    return words16_rounded(_mm256_permute2f128_ps(low, high, 0x20), _mm256_permute2f128_ps(low, high, 0x31));
}

static ALWAYS_INLINE void
look_up(uint16_t *y, const struct words16 *t, const uint8_t *x)
{
    __m256i codes = _mm256_permute4x64_epi64(_mm256_loadu_si256((const __m256i *)x), 0xD8);

    pick32(y, t, codes, _mm256_setzero_si256());
}

/* The operation on all codes, with two parameters (a pair) for each group. */
struct row_op {
    enum { CODES8, TERM_LAST, TERM_FIRST, FUSED, INT8_ROW } kind;
    bool is_signed;
    enum dtype in;
    const float *map;                   /* fused: values of the codes, or NULL */
    bool each;                          /* each element has its own pair, starting at a[] and b[] */
    bool finite;                        /* the pair cannot yield NaN */
    bool narrow;                        /* codes are below 16, and a pair serves a group */
    const float *a, *b;                 /* codes8: zeros (NULL: none), scales; affine: terms, factors; int8_row: -, absmax */
};

static ALWAYS_INLINE __m256
no_nan(const struct row_op op, __m256 v)
{
    if (op.finite)
        return v;
    return canonical256(v);
}

/* Checks that the operation ends with a rounding of its own, which avx2_rows_put() does not do: it makes NaN canonical. */
static ALWAYS_INLINE bool
is_rounded(const struct row_op op, const enum avx2_to format)
{
    const bool is_affine = op.kind != CODES8 && op.kind != INT8_ROW;

    return is_affine && op.in != DTYPE_F32 && (op.in != DTYPE_BF16 || format != TO_BF16);
}

static ALWAYS_INLINE __m256
last(const struct row_op op, const enum avx2_to format, __m256 v)
{
    if (is_rounded(op, format))
        return rounded256(v, op.in);
    return no_nan(op, v);
}

static ALWAYS_INLINE __m256
avx2_rows_apply(const struct row_op op, const enum avx2_to format, __m256 v, __m256 a, __m256 b)
{
    switch (op.kind) {
    case TERM_LAST: return last(op, format, _mm256_add_ps(rounded256(_mm256_mul_ps(v, b), op.in), a));
    case TERM_FIRST: return last(op, format, _mm256_mul_ps(rounded256(_mm256_sub_ps(v, a), op.in), b));
    case FUSED: return last(op, format, _mm256_fmadd_ps(v, b, a));
    case INT8_ROW: return no_nan(op, _mm256_mul_ps(_mm256_mul_ps(v, b), _mm256_set1_ps(INT8_ROW_PER_127)));
    default: return no_nan(op, _mm256_mul_ps(op.a ? _mm256_sub_ps(v, a) : v, b));
    }
}

static ALWAYS_INLINE __m256
values_of(const struct row_op op, const uint8_t *x)
{
    if (op.map)
        return pick(op.map, x);
    return codes_of(x, op.is_signed);
}

/* Loads a parameter for LANES codes. */
static ALWAYS_INLINE __m256
avx2_rows_number_of(const struct row_op op, const float *p)
{
    if (op.each)
        return _mm256_loadu_ps(p);
    return _mm256_broadcast_ss(p);
}

static ALWAYS_INLINE void
step(void *y, const enum avx2_to format, const uint8_t *x, const struct row_op op, const float *a, const float *b)
{
    __m256 v[2];

    for (size_t i = 0; i < 2; i++) {
        const size_t next = op.each ? i * LANES : 0;
        __m256 term = op.a ? avx2_rows_number_of(op, a + next) : _mm256_setzero_ps();

        v[i] = avx2_rows_apply(op, format, values_of(op, x + i * LANES), term, avx2_rows_number_of(op, b + next));
    }
    avx2_rows_put(y, format, v[0], v[1]);
}

/* Dequantizes codes below 16 of one group to BF16, a multiple of TABLE of them. Returns their number. */
static ALWAYS_INLINE size_t
table_run(uint16_t *restrict y, const uint8_t *restrict x, size_t n, const struct row_op op, const float *a, const float *b)
{
    static const uint8_t codes[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    float values[16];
    size_t i = 0;

    for (size_t c = 0; c < 16; c += STEP)
        step(values + c, TO_F32, codes + c, op, a, b);

    const struct words16 table = table_of(values);

    for (; n - i >= TABLE; i += TABLE)
        look_up(y + i, &table, x + i);
    return i;
}

/* Dequantizes n codes of one group, or n codes with a pair each. */
static ALWAYS_INLINE void
avx2_rows_run(char *restrict y, const enum avx2_to format, const uint8_t *restrict x, size_t n, const struct row_op op,
    const float *a, const float *b)
{
    const size_t size = size_of(format), each = op.each ? 1 : 0;
    size_t i = 0;
    if (op.narrow && format == TO_BF16 && n >= 2 * TABLE)
        i = table_run((uint16_t *)y, x, n, op, a, b);

    for (; n - i >= STEP; i += STEP)
        step(y + i * size, format, x + i, op, a ? a + i * each : NULL, b + i * each);
    if (i < n) {
        uint8_t rest[STEP] = { 0 };
        float values[STEP], pair[2][STEP] = { { 0 }, { 0 } };
        size_t left = n - i, pairs = op.each ? left : 1;

        memcpy(rest, x + i, left);
        if (op.a)
            memcpy(pair[0], a + i * each, pairs * sizeof(float));
        memcpy(pair[1], b + i * each, pairs * sizeof(float));
        step(values, format, rest, op, pair[0], pair[1]);
        memcpy(y + i * size, values, left * size);
    }
}

/* Finite values stay finite or become infinite. Infinity yields NaN only if it is multiplied by 0, after the term was
 * applied, or comes from a map. */
static ALWAYS_INLINE void
group_run(char *restrict y, const enum avx2_to format, const uint8_t *restrict x, size_t n, struct row_op op, const float *a,
    const float *b)
{
    if (!is_rounded(op, format) && op.kind != TERM_FIRST && !op.map && exponents_within(b, 1, 0, 254)
        && (!a || exponents_within(a, 1, 0, 254))) {
        op.finite = true;
        avx2_rows_run(y, format, x, n, op, a, b);
    } else {
        op.finite = false;
        avx2_rows_run(y, format, x, n, op, a, b);
    }
}

static ALWAYS_INLINE void
groups(void *restrict y, const enum avx2_to format, const uint8_t *restrict x, size_t first, size_t n, size_t group,
    const struct row_op op)
{
    const size_t size = size_of(format);
    char *to = y;
    size_t len = group - first % group;             /* elements in the group */

    if (op.each) {
        avx2_rows_run(to, format, x, n, op, op.a, op.b);
        return;
    }
    for (size_t g = 0; n > 0; g++, n -= len, x += len, to += len * size, len = group) {
        if (len > n)
            len = n;
        group_run(to, format, x, len, op, op.a ? op.a + g : NULL, op.b + g);
    }
}

static ALWAYS_INLINE void
codes8(void *restrict y, const enum avx2_to format, const uint8_t *restrict x, size_t first, size_t n,
    const struct codes8 *c)
{
    const struct row_op each = { .is_signed = c->is_signed, .each = true, .a = c->zeros, .b = c->scales };
    const struct row_op bytes = { .is_signed = true, .a = c->zeros, .b = c->scales };
    const struct row_op codes = { .narrow = c->narrow, .a = c->zeros, .b = c->scales };

    if (c->group == 1)
        groups(y, format, x, first, n, 1, each);
    else if (c->is_signed)
        groups(y, format, x, first, n, c->group, bytes);
    else
        groups(y, format, x, first, n, c->group, codes);
}

static void
row_f32(float *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct codes8 *c)
{
    codes8(y, TO_F32, x, first, n, c);
}

static void
row_bf16(uint16_t *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct codes8 *c)
{
    codes8(y, TO_BF16, x, first, n, c);
}

static ALWAYS_INLINE void
affine_in(void *restrict y, const enum avx2_to format, const uint8_t *restrict x, size_t first, size_t n,
    const struct affine *a, const enum dtype in)
{
    const bool each = a->group == 1, narrow = a->narrow && !each;
    const struct row_op term_first = { .kind = TERM_FIRST, .in = in, .each = each, .narrow = narrow, .a = a->terms,
        .b = a->factors };
    const struct row_op term_last = { .kind = TERM_LAST, .in = in, .each = each, .narrow = narrow, .a = a->terms,
        .b = a->factors };
    const struct row_op fused = { .kind = FUSED, .in = in, .map = a->map, .each = each, .narrow = narrow, .a = a->terms,
        .b = a->factors };

    if (a->fused)
        groups(y, format, x, first, n, a->group, fused);
    else if (a->term_first)
        groups(y, format, x, first, n, a->group, term_first);
    else
        groups(y, format, x, first, n, a->group, term_last);
}

static ALWAYS_INLINE void
affine(void *restrict y, const enum avx2_to format, const uint8_t *restrict x, size_t first, size_t n,
    const struct affine *a)
{
    if (a->in == DTYPE_BF16)
        affine_in(y, format, x, first, n, a, DTYPE_BF16);
    else if (a->in == DTYPE_F16)
        affine_in(y, format, x, first, n, a, DTYPE_F16);
    else
        affine_in(y, format, x, first, n, a, DTYPE_F32);
}

static void
row_affine_f32(float *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct affine *a)
{
    affine(y, TO_F32, x, first, n, a);
}

static void
row_affine_bf16(uint16_t *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct affine *a)
{
    affine(y, TO_BF16, x, first, n, a);
}

static void
row_int8_f32(float *restrict y, const uint8_t *restrict x, size_t n, float absmax)
{
    groups(y, TO_F32, x, 0, n, n, (struct row_op){ .kind = INT8_ROW, .is_signed = true, .b = &absmax });
}

static void
row_int8_bf16(uint16_t *restrict y, const uint8_t *restrict x, size_t n, float absmax)
{
    groups(y, TO_BF16, x, 0, n, n, (struct row_op){ .kind = INT8_ROW, .is_signed = true, .b = &absmax });
}

void
avx2_use_rows(struct kernels *k)
{
    k->codes8_f32 = row_f32;
    k->affine_f32 = row_affine_f32;
    k->int8_row_f32 = row_int8_f32;
}

void
avx2_use_rows_bf16(struct kernels *k)
{
    k->codes8_bf16 = row_bf16;
    k->affine_bf16 = row_affine_bf16;
    k->int8_row_bf16 = row_int8_bf16;
}

#endif
