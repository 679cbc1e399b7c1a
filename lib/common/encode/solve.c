#include "encode/solve.h"

#include <math.h>
#include <string.h>

#include "base/bytes.h"
#include "kernel/rounded.h"

const struct solve_float solve_e2m1 = { 2, -1, 6 }, solve_e4m3 = { 4, -9, 448 }, solve_e5m2 = { 3, -16, 57344 };

const char *
exact_level_word(enum exact_level level)
{
    static const char *const words[EXACT_LEVELS] = { "f32", "bf16", "f16", "real" };
    return words[level];
}

const char *
exact_cause_word(enum exact_cause cause)
{
    static const char *const words[] = { "none", "precision", "span", "scale", "nonfinite", "layout" };
    return words[cause];
}

void
solve_begin(struct solve_block *b, const struct encoding *e, const struct encode_run *run, const float *x, size_t n, uint64_t at)
{
    size_t i = (size_t)(x - run->hints.base);
    const struct encode_hints *h = &run->hints;
    *b = (struct solve_block){ .x = x, .n = n, .at = at, .kernels = run->kernels, .level = e->exact->level, .source = e->exact->source,
        .fail = h->fail, .way = h->way };
    if (h->scale)
        b->scale = h->scale + i;
    if (h->term)
        b->term = h->term + i;
    if (h->zero)
        b->zero = h->zero + i;
    if (h->unit)
        b->unit = h->unit + i;
    if (h->code)
        b->code = h->code + i;
}

/* Returns the real number that a value is, before any rounding; products that have a second scale are rounded to F64. */
static double
real_value(const struct solve_block *b, size_t i)
{
    const struct exact_source *s = &b->source;
    double v = (double)b->unit[i] * (double)b->scale[i];
    if (s->two)
        v = s->divides ? v / (double)s->stated : v * (double)s->stated / (s->over != 0 ? s->over : 1);
    return v + (b->term ? (double)b->term[i] : 0);
}

double
solve_value(const struct solve_block *b, size_t i)
{
    if (b->level == EXACT_REAL && b->unit)
        return real_value(b, i);
    return solve_rounded(b->level, b->x[i]);
}

bool
solve_same(enum exact_level level, double value, double product)
{
    float v = (float)product, near;
    switch (level) {
    case EXACT_BF16:
        near = rounded(DTYPE_BF16, v);
        break;
    case EXACT_F16:
        near = rounded(DTYPE_F16, v);
        break;
    case EXACT_REAL:
        return product == value;
    default:
        return (double)v == value;
    }
    return (double)near == value || (isinf(near) && (double)v == value);
}

bool
solve_fail(const struct solve_block *b, enum exact_cause cause, size_t i, double nearest)
{
    *b->fail = (struct exact_fail){ cause, b->at + (b->column ? b->column[0] : 0), b->at + (b->column ? b->column[i] : i),
        (double)b->x[i], nearest };
    return false;
}

size_t
solve_most(const struct solve_block *b)
{
    size_t at = 0;
    for (size_t i = 0; i < b->n; i++)
        at = fabs(solve_value(b, i)) > fabs(solve_value(b, at)) ? i : at;
    return at;
}

bool
solve_is_zero(const struct solve_block *b)
{
    for (size_t i = 0; i < b->n; i++)
        if (solve_value(b, i) != 0)
            return false;
    return true;
}

bool
solve_is_plain(const struct solve_block *b)
{
    return b->level == EXACT_F32 || (b->level == EXACT_REAL && !b->unit);
}

bool
solve_finite(const struct solve_block *b)
{
    for (size_t i = 0; i < b->n; i++)
        if (!isfinite(b->x[i]) || (b->scale && b->source.codes == EXACT_E2M1 && isinf(b->scale[i])))
            return solve_fail(b, EXACT_NONFINITE, i, NAN);
    return true;
}

float
solve_hint(const struct solve_block *b)
{
    if (b->scale)
        return b->scale[0];
    return NAN;
}

bool
solve_is_of_any(enum dtype type, double d)
{
    return isfinite(d) && (double)rounded(type, (float)d) == d && isfinite(rounded(type, (float)d));
}

uint64_t
solve_divisor(uint64_t a, uint64_t b)
{
    for (uint32_t small = (uint32_t)a, by = (uint32_t)b; (a | b) >> 32 == 0;) {         /* divisions of 64 bits are slower */
        uint32_t rest = 0;
        if (by != 0)
            rest = small % by;
        if (by == 0)
            return small;
        small = by;
        by = rest;
    }
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

void
solve_way(const struct solve_block *b, enum exact_way way)
{
    if (b->way && *b->way < way)
        *b->way = way;
}

static uint64_t
bits_of(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

/* Every F32, and every product of this layer, is a normal F64. */
int
solve_odd(double v, uint64_t *m)
{
    uint64_t bits = bits_of(v), significand = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
    int zeros = __builtin_ctzll(significand);
    *m = significand >> zeros;
    return (int)(bits >> 52 & 0x7FF) - 1075 + zeros;
}

/* --- power of two times float code: its codes are the numbers of at most f->bits bits that are multiples of 2^least and at
 * most `most`. */

bool
solve_is_power(float f, int *t)
{
    uint32_t bits = bits_of_float(f);
    uint64_t m;
    if ((bits & 0x7FFFFF) == 0 && bits - 0x00800000u < 0x7F000000u) {      /* normal, and not infinite */
        *t = (int)(bits >> 23) - 127;
        return true;
    }
    if (!isfinite(f) || f <= 0)
        return false;
    *t = solve_odd((double)f, &m);
    return m == 1;
}

/* Returns the smallest t for which v <= most * 2^t. */
static int
power_above(double v, double most)
{
    uint64_t a = bits_of(v), b = bits_of(most), mask = (UINT64_C(1) << 52) - 1;
    int t = (int)(a >> 52 & 0x7FF) - (int)(b >> 52 & 0x7FF);
    return t + ((a & mask) > (b & mask));
}

/* Adds F32 values. */
static void
scan_plain(struct solve_scan *s, const struct solve_block *b, const struct solve_float *f)
{
    uint32_t most = 0;
    for (size_t i = 0; i < b->n; i++) {
        uint32_t u = bits_of_float(b->x[i]) & 0x7FFFFFFFu, m = u & 0x7FFFFF;
        if (u == 0)
            continue;
        if (u >= 0x7F800000u) {
            s->infinite = true;
            continue;
        }
        if (u >> 23 != 0)
            m |= 0x800000;
        int zeros = __builtin_ctz(m), hi = (int)(u >> 23 != 0 ? u >> 23 : 1) - 150 + zeros - f->least;
        s->bits = s->bits || m >> zeros >> f->bits != 0;
        if (hi < s->range.hi)
            s->range.hi = hi;
        if (u > most)
            most = u;
    }
    if (most == 0)
        return;
    int lo = power_above((double)float_of_bits(most), f->most);
    s->range.any = true;
    if (lo > s->range.lo)
        s->range.lo = lo;
}

void
solve_scan(struct solve_scan *s, const struct solve_block *b, const struct solve_float *f)
{
    if (solve_is_plain(b)) {
        scan_plain(s, b, f);
        return;
    }
    for (size_t i = 0; i < b->n; i++) {
        double v = fabs(solve_value(b, i));
        uint64_t m;
        if (!isfinite(b->x[i]) || !isfinite(v))
            s->infinite = true;
        else if (v != 0) {
            int hi = solve_odd(v, &m) - f->least, lo = power_above(v, f->most);
            s->bits = s->bits || m >> f->bits != 0;
            s->range.any = true;
            if (lo > s->range.lo)
                s->range.lo = lo;
            if (hi < s->range.hi)
                s->range.hi = hi;
        }
    }
}

/* Returns the first element with a value that has more bits than a code, or b->n. */
static size_t
find_precise(const struct solve_block *b, const struct solve_float *f)
{
    uint64_t m = 0;
    for (size_t i = 0; i < b->n; i++) {
        double v = solve_value(b, i);
        if (v != 0 && (solve_odd(fabs(v), &m), m >> f->bits != 0))
            return i;
    }
    return b->n;
}

/* Fails with the first element whose last bit the scale of the largest value cannot reach, unless one has too many bits. */
static bool
fail_range(const struct solve_block *b, const struct solve_float *f, int lo)
{
    size_t i = find_precise(b, f);
    uint64_t m;
    if (i != b->n)
        return solve_fail(b, EXACT_PRECISION, i, NAN);
    for (i = 0; i < b->n; i++) {
        double v = solve_value(b, i);
        if (v != 0 && solve_odd(fabs(v), &m) < lo + f->least)
            return solve_fail(b, EXACT_SPAN, i, NAN);
    }
    return solve_fail(b, EXACT_SPAN, 0, NAN);
}

bool
solve_narrow(struct solve_range *r, const struct solve_block *b, const struct solve_float *f)
{
    struct solve_scan scan = { .range = *r };
    solve_scan(&scan, b, f);
    *r = scan.range;
    return (!scan.bits && !scan.infinite && r->lo <= r->hi) || fail_range(b, f, r->lo);
}

bool
solve_power(int *t, const struct solve_range *r, const struct solve_block *b, int least, int most, bool hinted, int hint)
{
    int lo = !r->any || r->lo < least ? least : r->lo, hi = !r->any || r->hi > most ? most : r->hi;
    if (lo > hi)
        return solve_fail(b, EXACT_SCALE, 0, NAN);
    if (!hinted || hint < lo)
        *t = lo;
    else if (hint > hi)
        *t = hi;
    else
        *t = hint;
    return true;
}
