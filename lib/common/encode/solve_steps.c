/* Steps from a minimum: code * d + m. The steps follow from the greatest common divisor of the differences; the minimum is one of
 * the values less some steps. */
#include <math.h>
#include <string.h>

#include "encode/move.h"
#include "kernel/rounded.h"

/* Returns what a decoder yields for a code: rounded as it does, or the real number. */
static double
decoded(const struct solve_block *b, const struct solve_steps *how, double q, double d, double m)
{
    if (b->level == EXACT_REAL)
        return q * d + m;
    enum dtype type = DTYPE_F32;
    if (how->narrow)
        type = how->type;
    return (double)rounded(type, rounded(type, (float)(q * d)) + (float)m);
}

/* Returns true if the values are steps of d from m, and sets the codes. */
static bool
try_steps(const struct solve_block *b, const struct solve_steps *how, double d, double m, struct int_group *g, uint8_t *q)
{
    double top = (double)((1u << how->bits) - 1);
    bool real = b->level == EXACT_REAL, plain = b->level == EXACT_F32 && (!how->narrow || how->type == DTYPE_F32);
    if (!solve_is_of(how->type, d) || !solve_is_of(how->type, m))
        return false;
    /* with such steps no other code is as near */
    const struct same_codes codes = { .d = (float)d, .m = (float)m, .top = (float)top };
    if (plain && b->n % 32 == 0 && fabs(d) >= 0x1p-18 * fabs(m) && b->kernels->same_products(q, b->x, b->n, &codes)) {
        *g = (struct int_group){ (float)d, (float)m };
        return true;
    }
    for (size_t i = 0; i < b->n; i++) {
        double v = solve_value(b, i), r = d != 0 ? solve_nearest((v - m) / d) : 0;
        if (r < 0)
            r = 0;
        else if (r > top)
            r = top;
        if (real ? r * d + m != v : !solve_same(b->level, v, decoded(b, how, r, d, m)))
            return false;
        q[i] = (uint8_t)r;
    }
    *g = (struct int_group){ (float)d, (float)m };
    return true;
}

/* Encodes zeros with a scale of 0 and the code of the middle. */
static bool
put_zeros(const struct solve_block *b, double d, double middle, struct int_group *g, uint8_t *q)
{
    if (!solve_is_zero(b))
        return false;
    memset(q, (int)middle, b->n);
    *g = (struct int_group){ (float)d, (float)(-middle * d) };
    return true;
}

/* Tries the scale and the minimum of the source, or those that its zero point gives. */
static bool
try_hints(const struct solve_block *b, const struct solve_steps *how, struct int_group *g, uint8_t *q)
{
    double d = (double)solve_hint(b), middle = (double)(1u << (how->bits - 1)), top = 2 * middle - 1;
    double zero;
    if (b->zero)
        zero = (double)b->zero[0];
    else if (b->source.bits != 0)
        zero = (double)(1u << (b->source.bits - 1));
    else
        zero = middle;
    if (!isfinite(d))
        return false;
    if (b->source.codes == EXACT_AFFINE)
        return b->term && try_steps(b, how, d, (double)b->term[0], g, q);
    if (b->source.codes != EXACT_INT)
        return false;
    if (how->centre && d == 0)
        return put_zeros(b, d, middle, g, q);
    const struct solve_int centred = { how->bits, true, 0, how->type };
    bool exact = b->n % 32 == 0 && (b->level == EXACT_REAL ? !b->unit : b->level == EXACT_F32 && how->type == DTYPE_F32);
    if (how->centre && exact && !b->source.rounds && solve_is_of(how->type, d) && solve_is_of(how->type, -middle * d)
        && solve_int_fast(b, &centred, (float)d, (float)middle, q)) {
        *g = (struct int_group){ (float)d, (float)(-middle * d) };
        return true;
    }
    if (how->centre && try_steps(b, how, d, -middle * d, g, q))
        return true;
    return try_steps(b, how, d, -zero * d, g, q) || try_steps(b, how, -d, (top - zero) * d, g, q);
}

/* The values as integers: v[i] = (n[i] * unit + base) * 2^k. */
struct steps_found {
    double least;
    uint64_t unit, most;
    int k;
    bool fits;
};

/* The same of F32 values, from what they are. Differences are exact in F64. */
static struct steps_found
find_plain(const struct solve_block *b, const struct same_extent *x)
{
    struct steps_found f = { .least = (double)x->low, .k = 2000 };
    uint64_t m;
    for (size_t i = b->n; x->low == 0 && i-- > 0;)          /* the first of +0 and -0 */
        f.least = b->x[i] == 0 ? (double)b->x[i] : f.least;
    if (isinf(x->unit) || x->high == x->low)
        return f;
    f.k = solve_odd((double)x->unit, &m);
    const double up = solve_pow2(-f.k), range = ((double)x->high - (double)x->low) * up;
    if ((double)fmaxf(x->high, -x->low) * up >= 0x1p52 || range >= 0x1p52)
        return f;
    for (size_t i = 0; i < b->n && f.unit != 1; i++)
        f.unit = solve_divisor((uint64_t)(((double)b->x[i] - (double)x->low) * up), f.unit);
    f.most = (uint64_t)range / f.unit;
    f.fits = true;
    return f;
}

static struct steps_found
find_steps(const struct solve_block *b)
{
    struct steps_found f = { .least = solve_value(b, 0), .k = 2000 };
    double most = f.least;
    for (size_t i = 0; i < b->n; i++) {
        double v = solve_value(b, i);
        uint64_t m;
        int k;
        if (v != 0)
            k = solve_odd(fabs(v), &m);
        else
            k = f.k;
        if (k < f.k)
            f.k = k;
        if (v < f.least)
            f.least = v;
        if (v > most)
            most = v;
    }
    if (f.k == 2000)
        return f;
    double up = ldexp(1, -f.k), base = f.least * up;
    if (most * up - base >= 0x1p52)
        return f;
    for (size_t i = 0; i < b->n && f.unit != 1; i++)
        f.unit = solve_divisor((uint64_t)(solve_value(b, i) * up - base), f.unit);
    if (f.unit != 0)
        f.most = (uint64_t)(most * up - base) / f.unit;
    else
        f.most = 0;
    f.fits = f.unit != 0;
    return f;
}

/* One value in the block: it is the minimum, or a step of 1 from it. */
static bool
try_one(const struct solve_block *b, const struct solve_steps *how, struct int_group *g, uint8_t *q)
{
    double v = solve_value(b, 0);
    if (try_steps(b, how, 0, v, g, q))
        return true;
    double m = (double)rounded(how->type, (float)v);
    return try_steps(b, how, v - m, m, g, q);
}

static bool
solve_steps_search(const struct solve_block *b, const struct solve_steps *how, const struct steps_found *f, struct int_group *g,
    uint8_t *q)
{
    uint64_t top = (1u << how->bits) - 1;
    for (uint64_t j = top / f->most; j >= 1; j--) {
        uint64_t odd = j >> __builtin_ctzll(j), reach = j * f->most;
        if (f->unit % odd != 0)
            continue;
        double d = (double)(f->unit / odd) * solve_pow2(f->k - __builtin_ctzll(j));
        for (uint64_t a = 0; solve_is_of(how->type, d) && a <= top - reach; a++)
            if (try_steps(b, how, d, f->least - (double)a * d, g, q))
                return true;
        for (uint64_t a = reach; solve_is_of(how->type, d) && a <= top; a++)
            if (try_steps(b, how, -d, f->least + (double)a * d, g, q))
                return true;
    }
    return false;
}

/* Fails for values that a decoder which rounds to the type cannot yield. */
static bool
check_precision(const struct solve_block *b, const struct solve_steps *how)
{
    for (size_t i = 0; how->narrow && how->type != DTYPE_F32 && b->level == EXACT_F32 && i < b->n; i++)
        if (rounded(how->type, b->x[i]) != b->x[i])
            return solve_fail(b, EXACT_PRECISION, i, (double)rounded(how->type, b->x[i]));
    return true;
}

bool
solve_steps(const struct solve_block *b, const struct solve_steps *how, struct int_group *g, uint8_t *q)
{
    const struct same_extent x = b->kernels->same_extent(b->x, b->n);
    const bool plain = solve_is_plain(b);
    if (((!x.finite || b->source.codes == EXACT_E2M1) && !solve_finite(b)) || !check_precision(b, how))
        return false;
    if (try_hints(b, how, g, q)) {
        solve_way(b, EXACT_HINT);
        return true;
    }
    solve_way(b, EXACT_SEARCH);
    struct steps_found f;
    if (plain)
        f = find_plain(b, &x);
    else
        f = find_steps(b);
    bool single = !plain || x.high == x.low;
    for (size_t i = 1; !plain && single && i < b->n; i++)
        single = solve_value(b, i) == solve_value(b, 0);
    if (single && try_one(b, how, g, q))
        return true;
    if (f.fits && f.most <= (1u << how->bits) - 1 && solve_steps_search(b, how, &f, g, q))
        return true;
    bool span = !single && (!f.fits || f.most > (1u << how->bits) - 1);
    return solve_fail(b, span ? EXACT_SPAN : EXACT_SCALE, span ? solve_most(b) : 0, NAN);
}
