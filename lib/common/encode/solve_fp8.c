/* A scale is the source's where all elements of a tile, row or weight had the same one; for E2M1 codes with powers of two, and for
 * scales that are powers of two, it is one; else it follows from the magnitudes that occur (solve_run.c). */
#include "encode/solve_fp8.h"

#include <math.h>

#include "base/bytes.h"
#include "base/num.h"
#include "dtype/float8.h"
#include "encode/groups.h"
#include "encode/move.h"
#include "encode/solve_fp8_priv.h"

void
solve_fp8_fit(struct encoding *e, const struct solve_fp8 *how)
{
    if (how->share == SOLVE_FP8_TILES)
        e->nfacts = e->nregions * how->grid_cols * FACTS;
    if (how->share != SOLVE_FP8_WEIGHT)
        return;
    e->nregions = num_ceil_div(e->rows * e->cols, REGION);
    e->nfacts = e->nregions * FACTS_OF_WEIGHT + 1;
}

bool
solve_fp8_survey(const struct encoding *e, const struct solve_fp8 *how, const struct encode_run *run, uint64_t region, float *facts,
    struct err *err)
{
    if (how->share == SOLVE_FP8_TILES)
        return solve_fp8_survey_band(e, how, run, region, facts + region * how->grid_cols * FACTS, err);
    return solve_fp8_survey_weight(e, how, run, region, facts, err);
}

bool
solve_fp8_resolve(struct encoding *e, const struct solve_fp8 *how, float *facts, struct exact_fail *fail)
{
    if (how->share == SOLVE_FP8_WEIGHT) {
        if (!solve_fp8_resolve_weight(e, how, facts, fail))
            return false;
        e->nfacts = 1;
    } else if (how->share == SOLVE_FP8_TILES) {         /* keep the scales only */
        e->nfacts /= FACTS;
        for (uint64_t i = 0; i < e->nfacts; i++)
            facts[i] = facts[i * FACTS + SCALE];
    }
    return true;
}

/* --- rows */

/* Finds the scale of a row. */
static bool
solve_row(const struct encoding *e, const struct solve_fp8 *how, const struct encode_run *run, const struct solve_block *b, float *scale)
{
    float f[FACTS] = { 0 };
    enum exact_cause cause;
    enum exact_way way;
    struct solve_set set;
    if (solve_fp8_is_dense(e) && solve_fp8_dense(scale, how, b->level, run->kernels, &(struct solve_fp8_tile){ { b->x, NULL }, 1, 1, b->n, b->n })) {
        solve_way(b, EXACT_SEARCH);
        return true;
    }
    for (size_t i = 0; i < b->n; i += TILE) {
        struct solve_block part;
        solve_begin(&part, e, run, b->x + i, (size_t)num_min(TILE, b->n - i), b->at + i);
        solve_fp8_gather(how, run, f, &part);
    }
    if (!solve_fp8_choose(e, how, f, &cause, &way)) {
        way = EXACT_SEARCH;
        if (cause == EXACT_NONFINITE)
            return solve_finite(b) || solve_fail(b, cause, 0, NAN);
        if (!solve_collect(&set, b, SOLVE_FP8_CODES))
            return false;
        if (!solve_fp8_search(how, &set, b->level, &f[SCALE]))
            return solve_fail(b, EXACT_SPAN, solve_most(b), NAN);
    }
    solve_way(b, way);
    *scale = f[SCALE];
    return true;
}

/* --- codes */

/* Returns the scale at an element, and reduces *n to the elements that share it. */
static float
scale_at(const struct encoding *e, const struct solve_fp8 *how, const struct encode_run *run, uint64_t at, uint64_t *n)
{
    uint64_t col = at % e->cols, row = at / e->cols;
    if (how->share == SOLVE_FP8_WEIGHT)
        return run->facts[0];
    *n = num_min(*n, num_min(TILE - col % TILE, e->cols - col));
    row = row / how->rows * how->grid_rows + row % how->rows / TILE;
    return run->facts[row * how->grid_cols + col / TILE];
}

/* Returns the first element of the block with an element. */
static uint64_t
block_of(const struct encoding *e, const struct solve_fp8 *how, uint64_t at)
{
    uint64_t row = at / e->cols, col = at % e->cols;
    if (how->share == SOLVE_FP8_WEIGHT)
        return 0;
    return (row - row % how->rows % TILE) * e->cols + col - col % TILE;
}

bool
solve_fp8_codes(const struct encoding *e, const struct solve_fp8 *how, const struct encode_run *run, uint64_t at, uint8_t *y)
{
    for (uint64_t done = 0, n; done < run->n; done += n) {
        struct solve_block b;
        bool row = how->share == SOLVE_FP8_ROWS;
        float scale = 0;
        if (row)
            n = e->cols;
        else
            n = run->n - done;
        if (!row)
            scale = scale_at(e, how, run, at + done, &n);
        solve_begin(&b, e, run, run->x + done, (size_t)n, at + done);
        if (row && !solve_row(e, how, run, &b, &scale))
            return false;
        bool same = solve_fp8_put(how, run, &b, scale, y + done, run->back + done);
        for (size_t i = 0; !same && i < n; i++) {
            double v = solve_value(&b, i);
            y[done + i] = solve_fp8_code(how, b.x[i] == 0 ? b.x[i] : (float)(v / (double)scale));
            if (v != 0 && !solve_fp8_is_code(how, b.level, v, scale)) {
                solve_fail(&b, EXACT_SPAN, i, NAN);
                if (row)
                    b.fail->block = b.at;
                else
                    b.fail->block = block_of(e, how, b.at);
                return false;
            }
        }
        if (run->compare && !same)
            run->kernels->fp8_f32(run->back + done, (size_t)n, &(struct fp8_rows){ .dtype = how->codes, .rows = 1,
                .cols = (size_t)n, .x = y + done, .scales = &scale, .scale_cols = (size_t)n });
    }
    if (run->compare)
        run->compare(run->of, at, run->x, run->back, run->n);
    return true;
}

/* Returns the scale of a row of E2M1 codes with powers of two from these alone, or 0: blocks within 14 of each other fit whatever their
 * codes are. */
static float
row_scale(const struct solve_fp8 *how, const float *scale, size_t n)
{
    int most = -127, least = 127, t;
    for (size_t i = 0; i < n; i++) {
        if (!move_power(&t, scale[i]))
            return 0;
        if (t > most)
            most = t;
        if (t < least)
            least = t;
    }
    float found = ldexpf(1.0f, most - 6);
    if (most - least <= 14 && most - 6 >= -126 && solve_is_of(how->scale, (double)found))
        return found;
    return 0;
}

enum { STEP = 32, SHIFTS = 64 };

/* Tables of codes by shift, made when they are needed. */
struct tables {
    uint8_t table[SHIFTS][16];
    bool known[SHIFTS];
};

/* Moves n codes from element i of the run into codes with this scale, and decodes them. y NULL: says whether it could. */
static bool
move_codes(struct tables *all, const struct encoding *e, const struct solve_fp8 *how, const struct encode_run *run,
    const struct move_all *from, size_t i, size_t n, float scale, uint8_t *y)
{
    int t, of_tile, shift;
    if (n % STEP != 0 || !solve_is_power(scale, &of_tile))
        return false;
    for (size_t k = 0; k < n; k += STEP) {
        if (!move_power(&t, from->scale[(i + k) / STEP]) || (shift = t - of_tile + SHIFTS / 2) < 0 || shift >= SHIFTS)
            return false;
        if (!all->known[shift] && !move_e4m3(all->table[shift], e, t - of_tile))
            return false;
        all->known[shift] = true;
        if (y)
            run->kernels->bits_table(y + k, from->code + (i + k) / 2, STEP, all->table[shift]);
    }
    if (y)
        run->kernels->fp8_f32(run->back + i, n, &(struct fp8_rows){ .dtype = how->codes, .rows = 1, .cols = n, .x = y, .scales = &scale,
            .scale_cols = n });
    return true;
}

bool
solve_fp8_move(const struct encoding *e, const struct solve_fp8 *how, const struct encode_run *run, bool codes, uint64_t at, uint8_t *y)
{
    struct move_all all;
    struct tables tables = { .known = { false } };
    bool rows = how->share == SOLVE_FP8_ROWS;
    float scale = 0;
    if (how->codes != DTYPE_F8_E4M3 || !move_is_e2m1(e) || (rows && e->cols % STEP != 0) || (!rows && !codes)
        || !move_take_all(&all, e, run, STEP, y != NULL))
        return false;
    for (uint64_t i = 0, n; i < run->n; i += n) {
        if (rows)
            n = e->cols;
        else
            n = run->n - i;
        if (!rows)
            scale = scale_at(e, how, run, at + i, &n);
        else if ((scale = row_scale(how, all.scale + i / STEP, (size_t)n / STEP)) == 0)
            return false;
        if (codes && !move_codes(&tables, e, how, run, &all, (size_t)i, (size_t)n, scale, y ? y + i : NULL))
            return false;
        if (!codes && y)
            y += groups_store(y, how->scale, scale);
    }
    if (y && codes)
        move_prove(&all, e, run, at, STEP);
    return true;
}

bool
solve_fp8_scales(const struct encoding *e, const struct solve_fp8 *how, const struct encode_run *run, uint64_t first, uint64_t count,
    uint8_t *y)
{
    for (uint64_t i = 0; i < count; i++) {
        float scale;
        struct solve_block b;
        if (how->share == SOLVE_FP8_ROWS) {
            solve_begin(&b, e, run, run->x + i * e->cols, (size_t)e->cols, (first + i) * e->cols);
            if (!solve_row(e, how, run, &b, &scale))
                return false;
        } else {
            scale = run->facts[first + i];
        }
        if (how->scale == DTYPE_F8_E8M0)
            *y++ = (uint8_t)(scale < 0x1p-126f ? 0 : bits_of_float(scale) >> 23);
        else
            y += groups_store(y, how->scale, scale);
    }
    return true;
}
