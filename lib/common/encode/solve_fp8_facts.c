#include "encode/solve_fp8_priv.h"

#include <float.h>
#include <math.h>

#include "dtype/float8.h"
#include "kernel/encode_fp8.h"
#include "kernel/same.h"

bool
solve_fp8_is_power(const struct solve_fp8 *how)
{
    return how->scale == DTYPE_F8_E8M0;
}

const struct solve_float *
solve_fp8_float(const struct solve_fp8 *how)
{
    if (how->codes == DTYPE_F8_E4M3)
        return &solve_e4m3;
    return &solve_e5m2;
}

uint8_t
solve_fp8_code(const struct solve_fp8 *how, float x)
{
    float most = (float)solve_fp8_float(how)->most;
    if (isnan(x))
        x = 0;
    if (x > most)
        x = most;
    else if (x < -most)
        x = -most;
    if (how->codes == DTYPE_F8_E4M3)
        return e4m3_of_float(x);
    return e5m2_of_float(x);
}

bool
solve_fp8_is_code(const struct solve_fp8 *how, enum exact_level level, double v, float scale)
{
    float code = float8_to_float(how->codes, solve_fp8_code(how, (float)(v / (double)scale)));
    return solve_same(level, v, (double)code * (double)scale);
}

bool
solve_fp8_put(const struct solve_fp8 *how, const struct encode_run *run, const struct solve_block *b, float scale, uint8_t *y, float *back)
{
    const struct encode_fp8 rule = { .scale = scale, .quotient = DTYPE_F32 };
    bool plain = solve_is_plain(b);
    if (!plain && !(b->level == EXACT_BF16 && solve_fp8_is_unique(scale)))
        return false;
    (how->codes == DTYPE_F8_E4M3 ? run->kernels->encode_e4m3 : run->kernels->encode_e5m2)(y, b->x, b->n, &rule);
    run->kernels->fp8_f32(back, b->n, &(struct fp8_rows){ .dtype = how->codes, .rows = 1, .cols = b->n, .x = y, .scales = &scale,
        .scale_cols = b->n });
    return run->kernels->same_rounded(plain ? DTYPE_F32 : DTYPE_BF16, b->x, back, b->n);
}

/* Returns true if all values, at most TILE, are codes times a scale. */
static bool
are_codes(const struct solve_fp8 *how, const struct encode_run *run, const struct solve_block *b, float scale)
{
    if (solve_fp8_put(how, run, b, scale, run->room, (float *)run->room + TILE))
        return true;
    for (size_t i = 0; i < b->n; i++)
        if (solve_value(b, i) != 0 && !solve_fp8_is_code(how, b->level, solve_value(b, i), scale))
            return false;
    return true;
}

/* Adds the scales that the elements of a block had. */
static void
add_hints(float *f, const struct solve_block *b, unsigned *flags)
{
    float last = NAN;
    int t;
    for (size_t i = 0; b->scale && i < b->n; i++) {
        float scale = b->scale[i];
        if (scale == last)
            continue;
        last = scale;
        if (!(scale == f[HINT]))
            *flags |= DIFFER;
        if (isinf(scale))
            *flags |= INFINITE;
        else if (solve_is_power(scale, &t))
            f[MOST_HINT] = fmaxf(f[MOST_HINT], (float)t);
    }
}

void
solve_fp8_gather(const struct solve_fp8 *how, const struct encode_run *run, float *f, const struct solve_block *b)
{
    unsigned flags = (unsigned)f[FLAGS];
    if (!(flags & SEEN)) {
        f[LO] = -FLT_MAX;
        f[HI] = FLT_MAX;
        if (b->scale)
            f[HINT] = b->scale[0];
        else
            f[HINT] = NAN;
        f[MOST_HINT] = -FLT_MAX;
        flags |= SEEN | (b->scale ? 0 : UNHINTED);
    }
    add_hints(f, b, &flags);
    bool uniform = !(flags & (DIFFER | UNHINTED | HINT_FAILS | INFINITE)), power = solve_fp8_is_power(how);
    if (uniform && !are_codes(how, run, b, f[HINT]))
        flags |= HINT_FAILS;
    bool large = !(fabsf(f[HINT]) <= 0x1p111f);         /* a product may be infinite */
    if (!uniform || power || large || flags & HINT_FAILS || b->source.codes == EXACT_E2M1) {
        struct solve_scan s = { .range = SOLVE_RANGE };
        solve_scan(&s, b, solve_fp8_float(how));
        if (s.infinite)
            flags |= INFINITE;
        if (s.bits)
            flags |= BITS;
        if (s.range.any)
            flags |= ANY;
        f[LO] = fmaxf(f[LO], (float)s.range.lo);
        f[HI] = fminf(f[HI], (float)s.range.hi);
    } else {
        flags |= ANY;                   /* not known, and not needed */
    }
    f[FLAGS] = (float)flags;
}

bool
solve_fp8_choose(const struct encoding *e, const struct solve_fp8 *how, float *f, enum exact_cause *cause, enum exact_way *way)
{
    unsigned flags = (unsigned)f[FLAGS];
    bool halves = e->exact->source.codes == EXACT_E2M1, power = solve_fp8_is_power(how), is_power;
    bool uniform = !(flags & (DIFFER | UNHINTED | HINT_FAILS | INFINITE));
    int hint, t = 0;
    if (flags & INFINITE)
        *cause = EXACT_NONFINITE;
    else
        *cause = EXACT_HOLDS;
    if (*cause != EXACT_HOLDS)
        return false;
    is_power = solve_is_power(f[HINT], &hint);
    if (uniform && !power && isfinite(f[HINT]) && solve_is_of(how->scale, (double)f[HINT]) && !(halves && is_power)) {
        f[SCALE] = f[HINT];
        *way = EXACT_HINT;
        return true;
    }
    if (!(flags & ANY) && !power && !(halves && f[MOST_HINT] > -FLT_MAX)) {
        f[SCALE] = 0;
        *way = EXACT_SEARCH;
        return true;
    }
    bool hinted;
    if (halves)
        hinted = f[MOST_HINT] > -FLT_MAX;
    else
        hinted = uniform && is_power;
    if (!power && !hinted)
        return false;
    if (flags & BITS)
        *cause = EXACT_PRECISION;
    else if (f[LO] > f[HI])
        *cause = EXACT_SPAN;
    else
        *cause = EXACT_HOLDS;
    if (*cause != EXACT_HOLDS)
        return false;
    if (hinted) {
        *way = EXACT_HINT;
        if (halves)
            t = (int)f[MOST_HINT] - 6;
        else
            t = hint;
    } else {
        *way = EXACT_SEARCH;
        t = -127;
        if (flags & ANY)
            t = (int)f[LO];
    }
    if (t < -127)
        t = -127;
    else if (t > 127)
        t = 127;
    if (flags & ANY)
        t = (float)t < f[LO] ? (int)f[LO] : (float)t > f[HI] ? (int)f[HI] : t;
    if (t < -149 || t > 127)
        f[SCALE] = 0;
    else
        f[SCALE] = ldexpf(1.0f, t);
    if (t >= -127 && t <= 127 && (power || solve_is_of(how->scale, (double)f[SCALE])))
        *cause = EXACT_HOLDS;
    else
        *cause = EXACT_SCALE;
    return *cause == EXACT_HOLDS;
}
