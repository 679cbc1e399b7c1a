/* The scales that a set of values allows are one run of bit patterns (solve_run.c), and the simplest one is chosen. A scale found
 * from some values is the scale of all if it holds for all: the run for all is within the run for some. This needs values that
 * are products of one code at most, whichever scale of a run is taken: codes are 1/16 apart, and a run that the largest value
 * leaves is narrower. */
#include "encode/solve_fp8_dense.h"

#include <float.h>
#include <math.h>

#include "dtype/float8.h"

bool
solve_fp8_is_dense(const struct encoding *e)
{
    return e->exact->source.codes == EXACT_DENSE && (e->exact->level == EXACT_F32 || e->exact->level == EXACT_BF16);
}

/* Returns the number of magnitudes of codes, and lists them. */
static size_t
list_codes(double list[SOLVE_FP8_CODES], enum dtype type)
{
    size_t n = SOLVE_FP8_CODES;
    if (type != DTYPE_F8_E4M3)
        n = SOLVE_FP8_CODES - 3;
    for (size_t code = 1; code <= n; code++)
        list[code - 1] = (double)float8_to_float(type, (uint8_t)code);
    return n;
}

bool
solve_fp8_search(const struct solve_fp8 *how, const struct solve_set *set, enum exact_level level, float *scale)
{
    double list[SOLVE_FP8_CODES], d = 0;
    size_t n = list_codes(list, how->codes);
    const struct solve_codes codes = { list, list, n, n };
    if (set->n != 0 && !solve_run(&d, &codes, set->v, set->sign, set->n, how->scale, level))
        return false;
    *scale = (float)d;
    return true;
}

bool
solve_fp8_add(struct solve_fp8_found *f, const struct solve_fp8 *how, enum exact_level level, float v)
{
    double list[SOLVE_FP8_CODES];
    size_t n = list_codes(list, how->codes), had = f->set.n;
    const struct solve_codes codes = { list, list, n, n };
    struct solve_scales scales;
    if (!solve_insert(&f->set, (double)fabsf(v), 1, SOLVE_FP8_CODES) || f->set.n == had
        || !solve_run_below(&scales, &f->codes, &codes, f->set.v, f->set.sign, f->set.n, how->scale, level) || scales.n != 2)
        return false;
    f->codes++;                         /* the next call tries this code again */
    f->scale = (float)scales.d[0];
    return solve_fp8_is_unique(f->scale);
}

size_t
solve_fp8_held(const struct solve_fp8 *how, enum exact_level level, const struct kernels *k, const float *x, size_t n, float scale)
{
    return k->same_fp8(how->codes, level == EXACT_BF16 ? DTYPE_BF16 : DTYPE_F32, x, n, scale);
}

/* Returns the largest magnitude. */
static float
most_of(const struct kernels *k, const struct solve_fp8_tile *t)
{
    float most = 0;
    for (size_t r = 0; r < t->rows; r++) {
        float one;
        k->encode_absmax(&one, solve_fp8_row(t, r), t->cols, t->cols);
        if (bits_of_float(one) > bits_of_float(most))
            most = one;
    }
    return most;
}

/* Sets the smallest power of two that can hold the largest magnitude. */
static bool
power_for(float *scale, const struct solve_fp8 *how, float most)
{
    struct solve_scan s = { .range = SOLVE_RANGE };
    solve_scan(&s, &(struct solve_block){ .x = &most, .n = 1 }, how->codes == DTYPE_F8_E4M3 ? &solve_e4m3 : &solve_e5m2);
    if (most != 0 && (s.range.lo < -100 || s.range.lo > 100))
        return false;
    if (most == 0)
        *scale = 0x1p-127f;
    else
        *scale = ldexpf(1.0f, s.range.lo);
    return true;
}

bool
solve_fp8_dense(float *scale, const struct solve_fp8 *how, enum exact_level level, const struct kernels *k,
    const struct solve_fp8_tile *t)
{
    struct solve_fp8_found f = { .set.n = 0, .codes = SIZE_MAX };
    const float most = most_of(k, t);
    bool power = how->scale == DTYPE_F8_E8M0;
    if (!(most <= FLT_MAX) || !(power ? power_for(&f.scale, how, most) : most == 0 || solve_fp8_add(&f, how, level, most)))
        return false;
    for (size_t r = 0; most != 0 && r < t->rows;) {
        const float *x = solve_fp8_row(t, r);
        size_t i = solve_fp8_held(how, level, k, x, t->cols, f.scale);
        if (i != t->cols && (power || !solve_fp8_add(&f, how, level, x[i])))
            return false;
        if (i == t->cols)
            r++;
        else
            r = 0;
    }
    *scale = f.scale;
    return true;
}
