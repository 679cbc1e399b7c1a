/* A scale is the source's where all elements of a tile, row or weight had the same one; else a power of two, if one holds them;
 * else it follows from the magnitudes that occur (solve_run.c). For a weight with one scale only the first two are tried. */
#include "encode/solve_fp8.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "dtype/float8.h"
#include "encode/fp8_priv.h"
#include "encode/groups.h"
#include "encode/solve.h"
#include "kernel/encode_fp8.h"
#include "kernel/same.h"

/* The facts of a tile, as floats. */
enum { SCALE, LO, HI, HINT, MOST_HINT, FLAGS };

/* FLAGS: what elements of the tile have in common. */
enum { ANY = 1, DIFFER = 2, BITS = 4, INFINITE = 8, HINT_FAILS = 16, SEEN = 32, UNHINTED = 64 };

static float
code_value(double v, float scale)
{
    return float8_to_float(DTYPE_F8_E4M3, e4m3_of_float((float)(v / (double)scale)));
}

static bool
is_code_of(enum exact_level level, double v, float scale)
{
    return solve_same(level, v, (double)code_value(v, scale) * (double)scale);
}

/* Adds the elements of a block to the facts of their tile. */
static void
add(float *f, const struct solve_block *b)
{
    unsigned flags = (unsigned)f[FLAGS];
    if (!(flags & SEEN)) {
        f[LO] = -FLT_MAX;
        f[HI] = FLT_MAX;
        f[HINT] = b->scale ? b->scale[0] : NAN;
        f[MOST_HINT] = -FLT_MAX;
        flags |= SEEN | (b->scale ? 0 : UNHINTED);
    }
    for (size_t i = 0; i < b->n; i++) {
        double v = solve_value(b, i);
        int t;
        if (!isfinite(b->x[i]) || (b->scale && isinf(b->scale[i]))) {
            flags |= INFINITE;
            continue;
        }
        if (b->scale && !(b->scale[i] == f[HINT]))
            flags |= DIFFER;
        if (b->scale && (i == 0 || b->scale[i] != b->scale[i - 1]) && solve_is_power(b->scale[i], &t))
            f[MOST_HINT] = fmaxf(f[MOST_HINT], (float)t);
        if (v == 0)
            continue;
        struct solve_range r = SOLVE_RANGE;
        struct exact_fail ignored;
        const struct solve_block one = { .x = b->x + i, .n = 1, .level = b->level, .source = b->source, .fail = &ignored,
            .unit = b->unit ? b->unit + i : NULL, .scale = b->scale ? b->scale + i : NULL };
        flags |= ANY;
        if (!solve_narrow(&r, &one, &solve_e4m3)) {
            flags |= BITS;
        } else {
            f[LO] = fmaxf(f[LO], (float)r.lo);
            f[HI] = fminf(f[HI], (float)r.hi);
        }
        if (!(flags & (DIFFER | UNHINTED | HINT_FAILS)) && !is_code_of(b->level, v, f[HINT]))
            flags |= HINT_FAILS;
    }
    f[FLAGS] = (float)flags;
}

/* Sets the scale of a tile from its facts if that is possible; else *cause says why not with a power of two. */
static bool
choose(const struct encoding *e, float *f, enum exact_cause *cause, enum exact_way *way)
{
    unsigned flags = (unsigned)f[FLAGS];
    const struct exact_source *s = &e->exact->source;
    bool power = fp8_form(e)->rule == FP8_POWER, uniform = !(flags & (DIFFER | UNHINTED | HINT_FAILS));
    int hint, t = 0;
    enum dtype type = e->part[FP8_SCALES].dtype;
    *cause = flags & INFINITE ? EXACT_NONFINITE : flags & BITS ? EXACT_PRECISION : f[LO] > f[HI] ? EXACT_SPAN : EXACT_HOLDS;
    if (*cause == EXACT_NONFINITE)
        return false;
    bool is_power = solve_is_power(f[HINT], &hint);
    if (uniform && !power && isfinite(f[HINT]) && solve_is_of(type, (double)f[HINT])
        && !(s->codes == EXACT_E2M1 && is_power)) {
        f[SCALE] = f[HINT];
        *way = EXACT_HINT;
        return true;
    }
    if (*cause != EXACT_HOLDS)
        return false;
    bool hinted = s->codes == EXACT_E2M1 ? f[MOST_HINT] > -FLT_MAX : uniform && is_power;
    *way = hinted ? EXACT_HINT : EXACT_SEARCH;
    t = hinted ? s->codes == EXACT_E2M1 ? (int)f[MOST_HINT] - 6 : hint : flags & ANY ? (int)f[LO] : power ? -127 : 0;
    if (flags & ANY)
        t = (float)t < f[LO] ? (int)f[LO] : (float)t > f[HI] ? (int)f[HI] : t;
    if (t < -127 || t > 127) {
        t = t < -127 ? -127 : 127;
        if (flags & ANY && ((float)t < f[LO] || (float)t > f[HI])) {
            *cause = EXACT_SCALE;
            return false;
        }
    }
    f[SCALE] = ldexpf(1.0f, t);
    *cause = power || solve_is_of(type, (double)f[SCALE]) ? EXACT_HOLDS : EXACT_SCALE;
    return *cause == EXACT_HOLDS;
}

static const double *
magnitudes(double list[126])
{
    for (unsigned code = 1; code <= 126; code++)
        list[code - 1] = (double)float8_to_float(DTYPE_F8_E4M3, (uint8_t)code);
    return list;
}

/* Finds a scale by the magnitudes that occur. */
static bool
search(const struct solve_set *set, enum dtype type, enum exact_level level, float *scale)
{
    double list[126], d;
    const struct solve_codes codes = { magnitudes(list), list, 126, 126 };
    if (!solve_run(&d, &codes, set->v, set->sign, set->n, type, level))
        return false;
    *scale = (float)d;
    return true;
}

/* --- tiles */

/* Where a tile is. */
struct tile_at {
    uint64_t first, rows, cols;         /* element of the weight, and size */
};

static struct tile_at
find_tile(const struct encoding *e, uint64_t band, uint64_t col)
{
    const struct fp8_encoding *f = fp8_own(e);
    uint64_t row = band / f->grid_rows * f->rows + band % f->grid_rows * FP8_BLOCK;
    return (struct tile_at){ row * e->cols + col * FP8_BLOCK, num_min(FP8_BLOCK, f->rows - row % f->rows),
        num_min(FP8_BLOCK, e->cols - col * FP8_BLOCK) };
}

/* Records the first element of a tile that the cause applies to. */
static void
point_at(const struct solve_block *b, enum exact_cause cause, const struct tile_at *t, float lo, bool *found)
{
    for (size_t i = 0; !*found && i < b->n; i++) {
        double v = solve_value(b, i);
        uint64_t m;
        int k = v != 0 && isfinite(v) ? solve_odd(fabs(v), &m) : 0;
        bool is = cause == EXACT_NONFINITE ? !isfinite(b->x[i]) || (b->scale && isinf(b->scale[i])) : v == 0 || !isfinite(v) ? false
            : cause == EXACT_PRECISION ? m >> solve_e4m3.bits != 0 : cause == EXACT_SPAN ? (float)k < lo + (float)solve_e4m3.least
            : true;
        if (!is)
            continue;
        double unit = ldexp(1, (int)lo);
        *b->fail = (struct exact_fail){ cause, t->first, b->at + i, (double)b->x[i],
            cause == EXACT_SPAN ? (double)float8_to_float(DTYPE_F8_E4M3, e4m3_of_float((float)(v / unit))) * unit : (double)NAN };
        *found = true;
    }
}

static bool
set_cause(struct exact_fail *fail, const struct tile_at *t, enum exact_cause cause)
{
    fail->cause = cause;
    fail->block = t->first;
    fail->nearest = NAN;
    return true;
}

/* Looks at all elements of a tile again: to collect their magnitudes, or to find the one at fault. */
static bool
look_again(const struct encoding *e, const struct encode_run *run, const struct tile_at *t, enum exact_cause cause, float lo,
    struct solve_set *set, struct err *err)
{
    bool found = false;
    if (set)
        set->n = 0;
    for (uint64_t r = 0; r < t->rows; r++) {
        struct solve_block b;
        struct solve_set row;
        if (!run->read(run->of, t->first + r * e->cols, (size_t)t->cols, run->x, err))
            return false;
        solve_begin(&b, e, run, run->x, (size_t)t->cols, t->first + r * e->cols);
        if (!set) {
            point_at(&b, cause, t, lo, &found);
            continue;
        }
        if (!solve_collect(&row, &b, 126))
            return false;
        for (size_t i = 0; i < row.n; i++)
            if (!solve_insert(set, row.v[i], row.sign[i], 127))
                return false;
    }
    if (!set && !found && !(cause == EXACT_SCALE))      /* none stands out: the first one that is not 0 */
        return look_again(e, run, t, EXACT_SCALE, lo, NULL, err) && set_cause(run->hints.fail, t, cause);
    return true;
}

static bool
settle_tile(const struct encoding *e, const struct encode_run *run, uint64_t band, uint64_t col, float *f, struct err *err)
{
    enum exact_cause cause;
    enum exact_way way;
    const struct tile_at t = find_tile(e, band, col);
    struct solve_set set;
    if (choose(e, f, &cause, &way)) {
        if (run->hints.way && *run->hints.way < way)
            *run->hints.way = way;
        return true;
    }
    if (run->hints.way)
        *run->hints.way = EXACT_SEARCH;
    if (fp8_form(e)->rule != FP8_POWER && cause != EXACT_NONFINITE) {
        if (look_again(e, run, &t, cause, f[LO], &set, err) && search(&set, DTYPE_F32, e->exact->level, &f[SCALE]))
            return true;
        if (err->kind != ERR_NONE)
            return false;
        cause = EXACT_SPAN;
    }
    return look_again(e, run, &t, cause, f[LO], NULL, err) && false;
}

/* Finds the scales of a band of tiles from those that the source had: E2M1 codes whose powers of two are within 14 of each other
 * fit into a tile, without a look at the codes. */
static bool
foresee_band(const struct encoding *e, const struct encode_run *run, uint64_t band, float *facts, struct err *err)
{
    const struct exact_source *s = &e->exact->source;
    const struct tile_at t = find_tile(e, band, 0);
    uint64_t grid = fp8_own(e)->grid_cols, step = ENCODE_FLOATS / num_min(e->cols, ENCODE_FLOATS);
    if (s->codes != EXACT_E2M1 || s->two || s->scale != DTYPE_F8_E8M0 || s->group % 32 != 0 || s->group == 0 || e->cols > ENCODE_FLOATS)
        return false;
    for (uint64_t i = 0; i < grid; i++) {
        facts[i * SOLVE_FP8_FACTS + LO] = FLT_MAX;
        facts[i * SOLVE_FP8_FACTS + HI] = -FLT_MAX;
    }
    for (uint64_t done = 0; done < t.rows; done += step) {
        uint64_t rows = num_min(step, t.rows - done);
        if (!run->hints.scales(run->of, t.first + done * e->cols, (size_t)(rows * e->cols), run->x, err))
            return false;
        for (uint64_t i = 0; i < rows * e->cols; i += 32) {
            float *f = facts + i % e->cols / FP8_BLOCK * SOLVE_FP8_FACTS;
            int k;
            if (!solve_is_power(run->hints.scale[i], &k))
                return false;
            f[LO] = fminf(f[LO], (float)k);
            f[HI] = fmaxf(f[HI], (float)k);
        }
    }
    for (uint64_t i = 0; i < grid; i++) {
        float *f = facts + i * SOLVE_FP8_FACTS;
        if (f[HI] - f[LO] > 14 || f[HI] - 6 < -126 || f[HI] > 127)
            return false;
        f[SCALE] = ldexpf(1.0f, (int)f[HI] - 6);
    }
    if (run->hints.way && *run->hints.way < EXACT_HINT)
        *run->hints.way = EXACT_HINT;
    return true;
}

static bool
survey_band(const struct encoding *e, const struct encode_run *run, uint64_t band, float *facts, struct err *err)
{
    uint64_t grid = fp8_own(e)->grid_cols, rows = find_tile(e, band, 0).rows, row0 = find_tile(e, band, 0).first;
    uint64_t cols = num_min(e->cols, ENCODE_FLOATS), step = ENCODE_FLOATS / cols;
    if (foresee_band(e, run, band, facts, err))
        return true;
    if (err->kind != ERR_NONE)
        return false;
    memset(facts, 0, grid * SOLVE_FP8_FACTS * sizeof *facts);
    for (uint64_t done = 0; done < rows; done += step)
        for (uint64_t c = 0, n; c < e->cols; c += n) {
            n = num_min(cols, e->cols - c);
            uint64_t count = n < e->cols ? 1 : num_min(step, rows - done), at = row0 + done * e->cols + c;
            if (!run->read(run->of, at, (size_t)(count * n), run->x, err))
                return false;
            for (uint64_t r = 0; r < count; r++)
                for (uint64_t i = 0; i < n; i += FP8_BLOCK) {
                    struct solve_block b;
                    solve_begin(&b, e, run, run->x + r * n + i, (size_t)num_min(FP8_BLOCK, n - i), at + r * e->cols + i);
                    add(facts + (c + i) / FP8_BLOCK * SOLVE_FP8_FACTS, &b);
                }
        }
    for (uint64_t i = 0; i < grid; i++)
        if (!settle_tile(e, run, band, i, facts + i * SOLVE_FP8_FACTS, err))
            return false;
    return true;
}

static bool
survey_run(const struct encoding *e, const struct encode_run *run, uint64_t region, float *facts, struct err *err)
{
    uint64_t first = region * FP8_REGION, end = num_min(first + FP8_REGION, e->rows * e->cols);
    for (uint64_t n; first < end; first += n) {
        struct solve_block b;
        n = num_min(end - first, ENCODE_FLOATS);
        if (!run->read(run->of, first, (size_t)n, run->x, err))
            return false;
        solve_begin(&b, e, run, run->x, (size_t)n, first);
        add(facts, &b);
    }
    return true;
}

bool
solve_fp8_survey(const struct encoding *e, const struct encode_run *run, uint64_t region, float *facts, struct err *err)
{
    float *f = facts + region * SOLVE_FP8_FACTS;
    return fp8_form(e)->share == FP8_BLOCKS ? survey_band(e, run, region, facts + region * fp8_own(e)->grid_cols * SOLVE_FP8_FACTS,
        err) : survey_run(e, run, region, f, err);
}

bool
solve_fp8_resolve(struct encoding *e, float *facts, struct exact_fail *fail)
{
    enum exact_cause cause;
    enum exact_way way;
    if (fp8_form(e)->share == FP8_BLOCKS) {         /* keep the scales only */
        e->nfacts /= SOLVE_FP8_FACTS;
        for (uint64_t i = 0; i < e->nfacts; i++)
            facts[i] = facts[i * SOLVE_FP8_FACTS + SCALE];
    }
    if (fp8_form(e)->share != FP8_TENSOR)
        return true;
    for (uint64_t i = 1; i < e->nregions; i++) {
        const float *f = facts + i * SOLVE_FP8_FACTS;
        unsigned flags = (unsigned)facts[FLAGS] | (unsigned)f[FLAGS];
        facts[LO] = fmaxf(facts[LO], f[LO]);
        facts[HI] = fminf(facts[HI], f[HI]);
        facts[MOST_HINT] = fmaxf(facts[MOST_HINT], f[MOST_HINT]);
        facts[FLAGS] = (float)(flags | (facts[HINT] == f[HINT] ? 0 : DIFFER));
    }
    if (choose(e, facts, &cause, &way))
        return true;
    *fail = (struct exact_fail){ .cause = cause == EXACT_HOLDS ? EXACT_SCALE : cause };
    return false;
}

/* --- rows */

/* Finds the scale of a row. */
static bool
solve_row(const struct encoding *e, const struct solve_block *b, float *scale)
{
    float f[SOLVE_FP8_FACTS] = { 0 };
    enum exact_cause cause;
    enum exact_way way;
    struct solve_set set;
    add(f, b);
    if (!choose(e, f, &cause, &way)) {
        way = EXACT_SEARCH;
        if (cause == EXACT_NONFINITE)
            return solve_finite(b) || solve_fail(b, cause, 0, NAN);
        if (!solve_collect(&set, b, 126))
            return false;
        if (!search(&set, e->part[FP8_SCALES].dtype, b->level, &f[SCALE]))
            return solve_fail(b, EXACT_SPAN, 0, NAN);
    }
    solve_way(b, way);
    *scale = f[SCALE];
    return true;
}

/* --- codes */

/* Returns the scale at an element, and reduces *n to the elements that share it. */
static float
scale_at(const struct encoding *e, const struct encode_run *run, uint64_t at, uint64_t *n)
{
    const struct fp8_encoding *f = fp8_own(e);
    uint64_t col = at % e->cols, row = at / e->cols;
    if (fp8_form(e)->share == FP8_TENSOR)
        return run->facts[SCALE];
    *n = num_min(*n, num_min(FP8_BLOCK - col % FP8_BLOCK, e->cols - col));
    row = row / f->rows * f->grid_rows + row % f->rows / FP8_BLOCK;
    return run->facts[row * f->grid_cols + col / FP8_BLOCK];
}

/* Returns the first element of the block with an element. */
static uint64_t
block_of(const struct encoding *e, uint64_t at)
{
    const struct fp8_encoding *f = fp8_own(e);
    uint64_t row = at / e->cols, col = at % e->cols;
    if (fp8_form(e)->share == FP8_TENSOR)
        return 0;
    return (row - row % f->rows % FP8_BLOCK) * e->cols + col - col % FP8_BLOCK;
}

/* Encodes F32 values with a scale, and decodes them again to run->back. Returns true if they are the same. */
static bool
put_fast(const struct encode_run *run, const struct solve_block *b, float scale, uint8_t *y)
{
    const struct encode_fp8 how = { .scale = scale, .quotient = DTYPE_F32 };
    float *back = run->back + (b->x - run->x);
    if (b->level != EXACT_F32)
        return false;
    run->kernels->encode_e4m3(y, b->x, b->n, &how);
    run->kernels->fp8_f32(back, b->n, &(struct fp8_rows){ .dtype = DTYPE_F8_E4M3, .rows = 1, .cols = b->n, .x = y, .scales = &scale,
        .scale_cols = b->n });
    return same_floats(back, b->x, b->n);
}

static bool
put_codes(const struct encoding *e, const struct encode_run *run, uint64_t first, uint8_t *y)
{
    for (uint64_t done = 0, n; done < run->n; done += n) {
        struct solve_block b;
        bool row = fp8_form(e)->share == FP8_ROWS;
        float scale = 0;
        n = row ? e->cols : run->n - done;
        if (!row)
            scale = scale_at(e, run, first + done, &n);
        solve_begin(&b, e, run, run->x + done, (size_t)n, first + done);
        if (row && !solve_row(e, &b, &scale))
            return false;
        bool same = put_fast(run, &b, scale, y + done);
        for (size_t i = 0; !same && i < n; i++) {
            double v = solve_value(&b, i);
            y[done + i] = e4m3_of_float(b.x[i] == 0 ? b.x[i] : (float)(v / (double)scale));
            if (v != 0 && !is_code_of(b.level, v, scale)) {
                b.at = row ? b.at : block_of(e, b.at);
                return solve_fail(&b, EXACT_SPAN, 0, NAN);
            }
        }
        if (run->compare && !same)
            run->kernels->fp8_f32(run->back + done, (size_t)n, &(struct fp8_rows){ .dtype = DTYPE_F8_E4M3, .rows = 1,
                .cols = (size_t)n, .x = y + done, .scales = &scale, .scale_cols = (size_t)n });
    }
    if (run->compare)
        run->compare(run->of, first, run->x, run->back, run->n);
    return true;
}

bool
solve_fp8(const struct encoding *e, const struct encode_run *run, unsigned part, uint64_t first, uint64_t count, uint8_t *y,
    struct err *err)
{
    enum dtype type = e->part[FP8_SCALES].dtype;
    (void)err;
    if (part == FP8_CODES)
        return put_codes(e, run, first * e->part[FP8_CODES].elems, y);
    for (uint64_t i = 0; i < count; i++, y += e->part[part].grain) {
        float scale;
        struct solve_block b;
        if (fp8_form(e)->share == FP8_ROWS) {
            solve_begin(&b, e, run, run->x + i * e->cols, (size_t)e->cols, (first + i) * e->cols);
            if (!solve_row(e, &b, &scale))
                return false;
        } else {
            scale = run->facts[first + i];
        }
        if (type == DTYPE_F8_E8M0)
            *y = (uint8_t)(scale < 0x1p-126f ? 0 : bits_of_float(scale) >> 23);
        else
            groups_store(y, type, scale);
    }
    return true;
}
