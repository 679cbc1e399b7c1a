/* Scales of rounded products. round(c * x) does not fall as x grows, so the scales for which a code c denotes a value are one
 * run of bit patterns, which two binary searches find. */
#include <math.h>
#include <string.h>

#include "dtype/bfloat16.h"
#include "dtype/half.h"
#include "encode/solve.h"

/* Bit patterns [lo, hi] of positive numbers of a type. */
struct run {
    uint32_t lo, hi;
};

enum { RUNS = SOLVE_SCALES / 2 };       /* that are kept: a value between two codes may leave two */

float
solve_of_pattern(enum dtype type, uint32_t pattern)
{
    if (type == DTYPE_F16)
        return half_to_float((uint16_t)pattern);
    if (type == DTYPE_BF16)
        return bfloat16_to_float((uint16_t)pattern);
    return float_of_bits(pattern);
}

static uint32_t
last_pattern(enum dtype type)
{
    if (type == DTYPE_F16)
        return 0x7BFF;
    if (type == DTYPE_BF16)
        return 0x7F7F;
    return 0x7F7FFFFF;
}

static double
product(double code, enum dtype type, uint32_t pattern, enum exact_level level)
{
    double v = code * (double)solve_of_pattern(type, pattern);
    switch (level) {
    case EXACT_REAL:
        return v;
    case EXACT_BF16:
        return (double)rounded(DTYPE_BF16, (float)v);
    case EXACT_F16:
        return (double)rounded(DTYPE_F16, (float)v);
    default:
        return (double)(float)v;        /* a block has no infinity */
    }
}

/* Returns a pattern near the first one whose product is at least v, or above it; 0 if none is known. */
static uint32_t
near(double code, double v, bool above, enum dtype type, enum exact_level level)
{
    float edge = (float)v;
    if (type != DTYPE_F32 || level == EXACT_F16)
        return 0;
    if (level == EXACT_BF16)                    /* half a step of v away */
        edge = float_of_bits(bits_of_float(edge) + (above ? 0x8000u : -0x8000u));
    return bits_of_float((float)((double)edge / code));
}

/* Returns the first pattern in [lo, hi + 1] whose product is at least v, or above it. Looks around a pattern near it first. */
static uint32_t
first_at(double code, double v, bool above, enum dtype type, enum exact_level level, struct run within)
{
    uint32_t lo = within.lo, hi = within.hi + 1, at = near(code, v, above, type, level);
    for (uint32_t step = 1; lo < hi; step *= 4) {
        bool guided = at >= lo && at < hi;
        uint32_t middle = at;
        if (!guided)
            middle = lo + (hi - lo) / 2;
        double p = product(code, type, middle, level);
        bool down;
        if (above)
            down = p > v;
        else
            down = p >= v;
        if (down)
            hi = middle;
        else
            lo = middle + 1;
        if (!guided)
            at = 0;
        else if (down)
            at = at - step;
        else
            at = at + step;
    }
    return lo;
}

/* Sets *run to the patterns within another run for which the code denotes v. */
static bool
narrow(struct run *run, double code, double v, enum dtype type, enum exact_level level, struct run within)
{
    run->lo = first_at(code, v, false, type, level, within);
    if (run->lo > within.hi || product(code, type, run->lo, level) != v)
        return false;
    run->hi = first_at(code, v, true, type, level, (struct run){ run->lo, within.hi }) - 1;
    return true;
}

/* Returns the number of codes that both signs of a value allow. */
static size_t
codes_for(const struct solve_codes *codes, uint8_t sign, const double **list)
{
    if (sign & 1)
        *list = codes->up;
    else
        *list = codes->down;
    if (sign == 3)
        return codes->nup < codes->ndown ? codes->nup : codes->ndown;
    if (sign & 1)
        return codes->nup;
    return codes->ndown;
}

/* Joins run n, of smaller numbers, with the one before it if they touch: several codes may denote a value that was rounded. */
static bool
solve_run_join(struct run *runs, size_t n)
{
    if (n == 0 || runs[n].hi + 1 < runs[n - 1].lo)
        return false;
    if (runs[n].lo < runs[n - 1].lo)
        runs[n - 1].lo = runs[n].lo;
    return true;
}

/* Narrows runs, in falling order, by a value, and returns how many are left. */
static size_t
narrow_all(struct run runs[RUNS], size_t n, const struct solve_codes *codes, double v, uint8_t sign, enum dtype type,
    enum exact_level level)
{
    struct run kept[RUNS];
    const double *list;
    size_t nkept = 0, ncodes = codes_for(codes, sign, &list);
    for (size_t r = 0; r < n; r++) {
        size_t lo = 0, hi = ncodes;             /* the first code that reaches v with the largest scale */
        while (lo < hi) {
            size_t middle = (lo + hi) / 2;
            if (product(list[middle], type, runs[r].hi, level) >= v)
                hi = middle;
            else
                lo = middle + 1;
        }
        for (; lo < ncodes && nkept < RUNS && product(list[lo], type, runs[r].lo, level) <= v; lo++)
            nkept += narrow(&kept[nkept], list[lo], v, type, level, runs[r]) && !solve_run_join(kept, nkept);
    }
    memcpy(runs, kept, nkept * sizeof *runs);
    return nkept;
}

uint32_t
solve_simplest(uint32_t lo, uint32_t hi, enum dtype type)
{
    for (unsigned zeros = type == DTYPE_F16 ? 10 : type == DTYPE_BF16 ? 7 : 23; zeros > 0; zeros--) {
        uint64_t step = UINT64_C(1) << zeros, p = (lo + step - 1) / step * step;
        if (p <= hi && p != 0)
            return (uint32_t)p;
    }
    return lo;
}

bool
solve_run(double *scale, const struct solve_codes *codes, const double *set, const uint8_t *sign, size_t n, enum dtype type,
    enum exact_level level)
{
    size_t most = SIZE_MAX;
    struct solve_scales scales;
    bool found = solve_run_below(&scales, &most, codes, set, sign, n, type, level);
    if (found)
        *scale = scales.d[0];
    return found;
}

bool
solve_run_below(struct solve_scales *scales, size_t *most, const struct solve_codes *codes, const double *set, const uint8_t *sign, size_t n,
    enum dtype type, enum exact_level level)
{
    const double *list;
    size_t ncodes = 0;
    if (n != 0)
        ncodes = codes_for(codes, sign[0], &list);
    for (size_t c = ncodes < *most ? ncodes : *most; c-- > 0;) {
        struct run runs[RUNS];
        size_t nruns = narrow(&runs[0], list[c], set[0], type, level, (struct run){ 1, last_pattern(type) });
        for (size_t i = 1; nruns != 0 && i < n; i++)
            nruns = narrow_all(runs, nruns, codes, set[i], sign[i], type, level);
        if (nruns != 0) {
            *most = c;
            scales->n = 0;
            for (size_t i = 0; i < nruns; i++) {
                scales->d[scales->n++] = (double)solve_of_pattern(type, solve_simplest(runs[i].lo, runs[i].hi, type));
                scales->d[scales->n++] = (double)solve_of_pattern(type, runs[i].hi);
            }
            return true;
        }
    }
    return false;
}

bool
solve_insert(struct solve_set *set, double v, uint8_t sign, size_t most)
{
    size_t lo = 0, hi = set->n;
    while (lo < hi) {
        size_t middle = (lo + hi) / 2;
        if (set->v[middle] > v)
            lo = middle + 1;
        else
            hi = middle;
    }
    if (lo < set->n && set->v[lo] == v) {
        set->sign[lo] |= sign;
        return true;
    }
    if (set->n == most)
        return false;
    memmove(set->v + lo + 1, set->v + lo, (set->n - lo) * sizeof *set->v);
    memmove(set->sign + lo + 1, set->sign + lo, set->n - lo);
    set->v[lo] = v;
    set->sign[lo] = sign;
    set->n++;
    return true;
}

bool
solve_collect(struct solve_set *set, const struct solve_block *b, size_t most)
{
    double last = 0;
    set->n = 0;
    for (size_t i = 0; i < b->n; i++) {
        double v = solve_value(b, i);
        if (v != 0 && v != last && !solve_insert(set, fabs(v), v > 0 ? 1 : 2, most))
            return solve_fail(b, EXACT_SPAN, i, NAN);
        last = v;
    }
    return true;
}
