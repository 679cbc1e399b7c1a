/* Integers times one scale. With a scale of 16 bits, no product is rounded, and the possible scales follow from the greatest
 * common divisor of the values; otherwise from the runs of solve_run.c. */
#include <math.h>

#include "dtype/bfloat16.h"
#include "dtype/half.h"
#include "encode/move.h"
#include "kernel/rounded.h"

enum { AT_ONCE = 32 };

bool
solve_int_fast(const struct solve_block *b, const struct solve_int *how, float d, float zero, uint8_t *q)
{
    float top = (float)((1u << how->bits) - 1), low = how->asymmetric ? 0 : (float)how->lowest + (float)(1u << (how->bits - 1));
    return b->kernels->same_products(q, b->x, b->n, &(struct same_codes){ .d = d, .zero = zero, .low = low, .top = top,
        .rounds = b->level == EXACT_BF16 });
}

/* Returns true if the values are codes times d, with this field as the code of 0, and sets the fields. */
static bool
try_scale(const struct solve_block *b, const struct solve_int *how, double d, double zero, uint8_t *q)
{
    bool fast = b->n % AT_ONCE == 0 && (b->level == EXACT_F32 || (b->level == EXACT_REAL && !b->unit));
    if (fast && (double)(float)d == d)
        return solve_int_fast(b, how, (float)d, (float)zero, q);
    double top = (double)((1u << how->bits) - 1), low = how->asymmetric ? 0 : how->lowest + (double)(1u << (how->bits - 1));
    for (size_t i = 0; i < b->n; i++) {
        double v = solve_value(b, i), at = solve_nearest(v / d) + zero, field = at < low ? low : at > top ? top : at;
        for (int next = -1; !solve_same(b->level, v, (field - zero) * d); next += 2) {      /* a neighbour may be rounded to the value */
            field = at + next;
            if (next > 1 || field < low || field > top)
                return false;
        }
        q[i] = (uint8_t)field;
    }
    return true;
}

/* Tries a scale with the zero point of the source, and with the one nearest to the middle that the values allow. */
static bool
try_zeros(const struct solve_block *b, const struct solve_int *how, double d, struct int_group *g, uint8_t *q)
{
    double middle = (double)(1u << (how->bits - 1)), top = 2 * middle - 1, least = 0, most = 0;
    g->scale = (float)d;
    g->zero = (float)middle;
    if (!how->asymmetric)
        return try_scale(b, how, d, middle, q);
    float hint = b->zero ? b->zero[0] : (float)middle;        /* which is the nearest one, if it fits */
    for (int shift = 0; shift < 2; shift++) {
        double zero = (double)hint + (shift != 0 ? middle : 0);
        if (zero >= 0 && zero <= top && try_scale(b, how, d, zero, q)) {
            g->zero = (float)zero;
            return true;
        }
    }
    for (size_t i = 0; i < b->n; i++) {
        double r = solve_nearest(solve_value(b, i) / d);
        if (r < least)
            least = r;
        if (r > most)
            most = r;
    }
    double from = -least, to = top - most, end = from;
    if (from <= to)
        from = end = middle < from ? from : middle > to ? to : middle;
    else if (from - to <= 2)            /* codes at both ends may have a neighbour that denotes the same rounded value */
        from = to;
    else
        return false;
    for (double zero = from; zero <= end; zero++) {
        g->zero = (float)zero;
        if (zero >= 0 && zero <= top && try_scale(b, how, d, zero, q))
            return true;
    }
    return false;
}

/* Returns the scale that the codes of the source have as integers: E2M1 consists of halves. */
static float
integer_hint(const struct solve_block *b)
{
    if (b->source.codes == EXACT_E2M1)
        return 0.5f * solve_hint(b);
    return solve_hint(b);
}

static bool
fill_zero(const struct solve_block *b, const struct solve_int *how, struct int_group *g, uint8_t *q)
{
    float hint = integer_hint(b), zero = b->zero && how->asymmetric ? b->zero[0] : NAN;
    double middle = (double)(1u << (how->bits - 1));
    if (solve_is_of(how->type, (double)hint))
        g->scale = hint;
    else
        g->scale = 0.0f;
    if (zero >= 0 && (double)zero <= 2 * middle - 1)
        g->zero = zero;
    else
        g->zero = (float)middle;
    for (size_t i = 0; i < b->n; i++)
        q[i] = (uint8_t)g->zero;
    return true;
}

/* Finds g and k so that all values are integers times g * 2^k. Returns the largest integer, or 0 if they exceed 2^60. */
static uint64_t
find_unit(const struct solve_block *b, const struct same_extent *x, uint64_t *g, int *k)
{
    uint64_t m, most = 0;
    *g = 0;
    if (solve_is_plain(b)) {
        *k = solve_odd((double)x->unit, &m);
        const double up = solve_pow2(-*k), high = (double)fmaxf(x->high, -x->low) * up;
        most = 0;
        if (high < 0x1p60)
            most = (uint64_t)high;
        *g = (uint64_t)((double)x->least * up);
        for (size_t i = 0; most != 0 && *g != 1 && i < b->n; i++)
            *g = solve_divisor((uint64_t)(fabs((double)b->x[i]) * up), *g);
        return most / *g;
    }
    *k = 2000;
    for (size_t i = 0; i < b->n; i++) {
        double v = fabs(solve_value(b, i));
        int e;
        if (v != 0)
            e = solve_odd(v, &m);
        else
            e = *k;
        if (e < *k)
            *k = e;
    }
    for (size_t i = 0; i < b->n; i++) {
        double v = ldexp(fabs(solve_value(b, i)), -*k);
        if (v >= 0x1p60)
            return 0;
        if ((uint64_t)v > most)
            most = (uint64_t)v;
        *g = solve_divisor((uint64_t)v, *g);
    }
    return most / *g;
}

/* Searches with products that are exact. */
static bool
search_products(const struct solve_block *b, const struct solve_int *how, const struct same_extent *x, struct int_group *g, uint8_t *q)
{
    uint64_t unit, most, top = how->asymmetric ? (1u << how->bits) - 1 : 1u << (how->bits - 1);
    int k;
    bool fits = false;
    most = find_unit(b, x, &unit, &k);
    for (uint64_t j = most != 0 ? top / most : 0; j >= 1; j--) {
        uint64_t odd = j >> __builtin_ctzll(j);
        if (unit % odd != 0)
            continue;
        double d = (double)(unit / odd) * solve_pow2(k - __builtin_ctzll(j));
        for (int sign = 0; sign < (how->asymmetric ? 1 : 2); sign++, d = -d) {
            double was = try_zeros(b, how, d, g, q);
            fits = fits || was != 0;
            if (was != 0 && solve_is_of(how->type, d))
                return true;
        }
    }
    if (fits)
        return solve_fail(b, EXACT_SCALE, 0, 0);
    return solve_fail(b, EXACT_SPAN, solve_most(b), NAN);
}

/* Returns true if a scale of 16 bits denotes all values. Most scales already fail at the smallest magnitude. */
static bool
try_pattern(const struct solve_block *b, const struct solve_int *how, unsigned pattern, float least, bool minus, struct int_group *g, uint8_t *q)
{
    const float d = solve_of_pattern(how->type, pattern), middle = (float)(1u << (how->bits - 1));
    *g = (struct int_group){ minus ? -d : d, middle };
    return rounded(DTYPE_BF16, (float)solve_nearest((double)(least / d)) * d) == least && solve_int_fast(b, how, g->scale, middle, q);
}

/* Tries the scales with which code c denotes the largest magnitude. If a run of them denotes all values, chooses as search_run() does, of the
 * run of the largest ones. */
static bool
try_code(const struct solve_block *b, const struct solve_int *how, unsigned c, float most, float least, bool minus, struct int_group *g,
    uint8_t *q)
{
    unsigned last = 0x7F7F;
    if (how->type == DTYPE_F16)
        last = 0x7BFF;
    const float first = most / (float)c;
    unsigned at = how->type == DTYPE_F16 ? half_of_float(first) : bfloat16_of_float(first), end = 0;
#define DENOTES(p) (rounded(DTYPE_BF16, (float)c * solve_of_pattern(how->type, p)) == most)
    at = at > last ? last : at;
    if (at == 0 || (!DENOTES(at) && !(++at <= last && DENOTES(at)) && !((at -= 2) > 0 && DENOTES(at))))
        return false;
    unsigned lo = at, hi = at;
    while (lo > 1 && DENOTES(lo - 1))
        lo--;
    while (hi < last && DENOTES(hi + 1))
        hi++;
#undef DENOTES
    /* With few bits a value is near one code only, so the scales that denote all values are one run: none is simpler than the simplest of all. */
    if (how->bits <= 5 && try_pattern(b, how, solve_simplest(lo, hi, how->type), least, minus, g, q))
        return true;
    for (unsigned p = hi; p >= lo; p--) {
        bool fits = try_pattern(b, how, p, least, minus, g, q);
        if (!fits && end != 0)
            lo = p + 1;
        else if (fits && end == 0)
            end = p;
    }
    return end != 0 && try_pattern(b, how, solve_simplest(lo, end, how->type), least, minus, g, q);
}

/* Does what search_run() does for values of BF16, and a scale of 16 bits: few scales are possible for a code. Returns false if it finds
 * none, or has to search. */
static bool
search_short(const struct solve_block *b, const struct solve_int *how, const struct same_extent *x, struct int_group *g, uint8_t *q)
{
    const unsigned half = 1u << (how->bits - 1), down = (unsigned)-how->lowest;
    float most;
    if (x->high > -x->low)
        most = x->high;
    else
        most = -x->low;
    if (b->level != EXACT_BF16 || how->asymmetric || how->type == DTYPE_F32 || !x->narrow || b->n % AT_ONCE != 0 || most >= 0x1p120f
        || x->unit < 0x1p-120f)
        return false;
    for (int minus = 0; minus < 2; minus++) {
        unsigned up = minus ? down : half - 1, under = minus ? half - 1 : down;
        unsigned codes = under;
        if (x->high == most)
            codes = up;
        if (x->high == most && x->low == -most)
            codes = up < under ? up : under;
        for (unsigned c = codes; c > 0; c--) {
            /* the code of the smallest magnitude; both were rounded by at most 2^-8 */
            float share = (float)c * (x->least / most), of_least = (float)solve_nearest((double)share);
            if (fabsf(share - of_least) <= of_least * 0x1.1p-7f && try_code(b, how, c, most, x->least, minus != 0, g, q))
                return true;
        }
    }
    return false;
}

/* Searches with rounded products. */
static bool
search_run(const struct solve_block *b, const struct solve_int *how, const struct solve_set *set, struct int_group *g, uint8_t *q)
{
    double codes[256];
    struct solve_scales scales;
    size_t half = (size_t)1 << (how->bits - 1), down = (size_t)-how->lowest;
    for (size_t i = 0; i < 256; i++)
        codes[i] = (double)(i + 1);
    struct solve_codes forms[2] = { { codes, codes, half - 1, down }, { codes, codes, down, half - 1 } };
    if (how->asymmetric)
        forms[0] = (struct solve_codes){ codes, codes, 2 * half - 1, 2 * half - 1 };
    for (int sign = 0; sign < (how->asymmetric ? 1 : 2); sign++)        /* codes may be too far apart for a zero point */
        for (size_t most = SIZE_MAX; solve_run_below(&scales, &most, &forms[sign], set->v, set->sign, set->n, how->type, b->level);)
            for (size_t i = 0; i < scales.n; i++)
                if (try_zeros(b, how, sign != 0 ? -scales.d[i] : scales.d[i], g, q))
                    return true;
    return solve_fail(b, EXACT_SPAN, solve_most(b), NAN);
}

bool
solve_int(const struct solve_block *b, const struct solve_int *how, struct int_group *g, uint8_t *q)
{
    float hint = integer_hint(b);
    struct solve_set set;
    if (isfinite(hint) && hint != 0 && solve_is_of(how->type, (double)hint) && try_zeros(b, how, (double)hint, g, q)) {
        solve_way(b, EXACT_HINT);
        return true;
    }
    const struct same_extent x = b->kernels->same_extent(b->x, b->n);
    if ((!x.finite || b->source.codes == EXACT_E2M1) && !solve_finite(b))
        return false;
    if (solve_is_zero(b))
        return fill_zero(b, how, g, q);
    solve_way(b, EXACT_SEARCH);
    bool rounded_products = b->level == EXACT_BF16 || b->level == EXACT_F16 || (how->type == DTYPE_F32 && b->level == EXACT_F32);
    if (!rounded_products)
        return search_products(b, how, &x, g, q);
    return search_short(b, how, &x, g, q) || (solve_collect(&set, b, how->asymmetric ? SOLVE_SET - 1 : (size_t)1 << (how->bits - 1))
        && search_run(b, how, &set, g, q));
}
