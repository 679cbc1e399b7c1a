/* A scale is the source's where all elements of a tile, row or weight had the same one; for E2M1 codes with powers of two, and for
 * scales that are powers of two, it is one; else it follows from the magnitudes that occur (solve_run.c). */
#include "encode/solve_fp8.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/bytes.h"
#include "base/num.h"
#include "dtype/float8.h"
#include "encode/groups.h"
#include "encode/move.h"
#include "encode/solve_fp8_dense.h"
#include "kernel/encode_fp8.h"
#include "kernel/same.h"

enum { TILE = 128, REGION = 1 << 20, MOST_CODES = SOLVE_FP8_CODES };

/* The facts of a tile or region, as floats. The regions of a weight with one scale then have their distinct magnitudes; after all
 * regions comes one fact, which is set if these are to be collected. */
enum { SCALE, LO, HI, HINT, MOST_HINT, FLAGS, FACTS, COUNT = FACTS, SET, FACTS_OF_WEIGHT = SET + MOST_CODES + 1 };

/* FLAGS: what elements of the tile have in common. */
enum { ANY = 1, DIFFER = 2, BITS = 4, INFINITE = 8, HINT_FAILS = 16, SEEN = 32, UNHINTED = 64 };

static bool
is_power_form(const struct solve_fp8 *how)
{
    return how->scale == DTYPE_F8_E8M0;
}

static const struct solve_float *
float_of(const struct solve_fp8 *how)
{
    return how->codes == DTYPE_F8_E4M3 ? &solve_e4m3 : &solve_e5m2;
}

/* Returns the code nearest to a number; those beyond the codes can be rounded values of the largest one. NaN is a quotient of zeros. */
static uint8_t
code_of(const struct solve_fp8 *how, float x)
{
    float most = (float)float_of(how)->most;
    x = isnan(x) ? 0 : x > most ? most : x < -most ? -most : x;
    return how->codes == DTYPE_F8_E4M3 ? e4m3_of_float(x) : e5m2_of_float(x);
}

static bool
is_code_of(const struct solve_fp8 *how, enum exact_level level, double v, float scale)
{
    float code = float8_to_float(how->codes, code_of(how, (float)(v / (double)scale)));
    return solve_same(level, v, (double)code * (double)scale);
}

/* Encodes values with a scale, and decodes them to `back`. Returns true if they are the same, and no other codes are; false at other levels
 * than F32 and BF16. */
static bool
put_fast(const struct solve_fp8 *how, const struct encode_run *run, const struct solve_block *b, float scale, uint8_t *y, float *back)
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
    if (put_fast(how, run, b, scale, run->room, (float *)run->room + TILE))
        return true;
    for (size_t i = 0; i < b->n; i++)
        if (solve_value(b, i) != 0 && !is_code_of(how, b->level, solve_value(b, i), scale))
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

/* Adds the elements of a block, at most TILE, to the facts of their tile. */
static void
add(const struct solve_fp8 *how, const struct encode_run *run, float *f, const struct solve_block *b)
{
    unsigned flags = (unsigned)f[FLAGS];
    if (!(flags & SEEN)) {
        f[LO] = -FLT_MAX;
        f[HI] = FLT_MAX;
        f[HINT] = b->scale ? b->scale[0] : NAN;
        f[MOST_HINT] = -FLT_MAX;
        flags |= SEEN | (b->scale ? 0 : UNHINTED);
    }
    add_hints(f, b, &flags);
    bool uniform = !(flags & (DIFFER | UNHINTED | HINT_FAILS | INFINITE)), power = is_power_form(how);
    if (uniform && !are_codes(how, run, b, f[HINT]))
        flags |= HINT_FAILS;
    bool large = !(fabsf(f[HINT]) <= 0x1p111f);         /* a product may be infinite */
    if (!uniform || power || large || flags & HINT_FAILS || b->source.codes == EXACT_E2M1) {
        struct solve_scan s = { .range = SOLVE_RANGE };
        solve_scan(&s, b, float_of(how));
        flags |= (s.infinite ? INFINITE : 0) | (s.bits ? BITS : 0) | (s.range.any ? ANY : 0);
        f[LO] = fmaxf(f[LO], (float)s.range.lo);
        f[HI] = fminf(f[HI], (float)s.range.hi);
    } else {
        flags |= ANY;                   /* not known, and not needed */
    }
    f[FLAGS] = (float)flags;
}

/* Sets the scale of a tile from its facts if that is possible; else *cause says why not, or EXACT_HOLDS: a search decides. */
static bool
choose(const struct encoding *e, const struct solve_fp8 *how, float *f, enum exact_cause *cause, enum exact_way *way)
{
    unsigned flags = (unsigned)f[FLAGS];
    bool halves = e->exact->source.codes == EXACT_E2M1, power = is_power_form(how), is_power;
    bool uniform = !(flags & (DIFFER | UNHINTED | HINT_FAILS | INFINITE));
    int hint, t = 0;
    *cause = flags & INFINITE ? EXACT_NONFINITE : EXACT_HOLDS;
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
    bool hinted = halves ? f[MOST_HINT] > -FLT_MAX : uniform && is_power;
    if (!power && !hinted)
        return false;
    *cause = flags & BITS ? EXACT_PRECISION : f[LO] > f[HI] ? EXACT_SPAN : EXACT_HOLDS;
    if (*cause != EXACT_HOLDS)
        return false;
    *way = hinted ? EXACT_HINT : EXACT_SEARCH;
    t = hinted ? halves ? (int)f[MOST_HINT] - 6 : hint : flags & ANY ? (int)f[LO] : -127;
    t = t < -127 ? -127 : t > 127 ? 127 : t;
    if (flags & ANY)
        t = (float)t < f[LO] ? (int)f[LO] : (float)t > f[HI] ? (int)f[HI] : t;
    f[SCALE] = t < -149 || t > 127 ? 0 : ldexpf(1.0f, t);
    *cause = t >= -127 && t <= 127 && (power || solve_is_of(how->scale, (double)f[SCALE])) ? EXACT_HOLDS : EXACT_SCALE;
    return *cause == EXACT_HOLDS;
}

/* --- tiles */

/* Where a tile is. */
struct tile_at {
    uint64_t first, rows, cols;         /* element of the weight, and size */
};

static struct tile_at
find_tile(const struct encoding *e, const struct solve_fp8 *how, uint64_t band, uint64_t col)
{
    uint64_t row = band / how->grid_rows * how->rows + band % how->grid_rows * TILE;
    return (struct tile_at){ row * e->cols + col * TILE, num_min(TILE, how->rows - row % how->rows),
        num_min(TILE, e->cols - col * TILE) };
}

/* Records the first element of a tile that the cause applies to. */
static void
point_at(const struct solve_fp8 *how, const struct solve_block *b, enum exact_cause cause,
    const struct tile_at *t, float lo, bool *found)
{
    const struct solve_float *form = float_of(how);
    for (size_t i = 0; !*found && i < b->n; i++) {
        double v = solve_value(b, i);
        uint64_t m;
        int k = v != 0 && isfinite(v) ? solve_odd(fabs(v), &m) : 0;
        bool is = cause == EXACT_NONFINITE ? !isfinite(b->x[i]) || (b->scale && isinf(b->scale[i])) : v == 0 || !isfinite(v) ? false
            : cause == EXACT_PRECISION ? m >> form->bits != 0 : cause == EXACT_SPAN ? (float)k < lo + (float)form->least
            : true;
        if (!is)
            continue;
        double unit = ldexp(1, (int)lo);
        *b->fail = (struct exact_fail){ cause, t->first, b->at + i, (double)b->x[i],
            cause == EXACT_SPAN ? (double)float8_to_float(how->codes, code_of(how, (float)(v / unit))) * unit : (double)NAN };
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
look_again(const struct encoding *e, const struct solve_fp8 *how, const struct encode_run *run, const struct tile_at *t,
    enum exact_cause cause, float lo, struct solve_set *set, struct err *err)
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
            point_at(how, &b, cause, t, lo, &found);
            continue;
        }
        if (!solve_collect(&row, &b, MOST_CODES))
            return false;
        for (size_t i = 0; i < row.n; i++)
            if (!solve_insert(set, row.v[i], row.sign[i], MOST_CODES))
                return false;
    }
    if (!set && !found && !(cause == EXACT_SCALE))      /* none stands out: the first one that is not 0 */
        return look_again(e, how, run, t, EXACT_SCALE, lo, NULL, err) && set_cause(run->hints.fail, t, cause);
    return true;
}

static bool
settle_tile(const struct encoding *e, const struct solve_fp8 *how, const struct encode_run *run, uint64_t band, uint64_t col,
    float *f, struct err *err)
{
    enum exact_cause cause;
    enum exact_way way;
    const struct tile_at t = find_tile(e, how, band, col);
    struct solve_set set;
    if (choose(e, how, f, &cause, &way)) {
        if (run->hints.way && *run->hints.way < way)
            *run->hints.way = way;
        return true;
    }
    if (run->hints.way)
        *run->hints.way = EXACT_SEARCH;
    if (!is_power_form(how) && cause != EXACT_NONFINITE) {
        if (look_again(e, how, run, &t, cause, f[LO], &set, err) && solve_fp8_search(how, &set, e->exact->level, &f[SCALE]))
            return true;
        if (err->kind != ERR_NONE)
            return false;
        cause = EXACT_SPAN;
    }
    return look_again(e, how, run, &t, cause, f[LO], NULL, err) && false;
}

/* Finds the scales of a band of tiles from those that the source had: E2M1 codes whose powers of two are within 14 of each other
 * fit into a tile, without a look at the codes. */
static bool
foresee_band(const struct encoding *e, const struct solve_fp8 *how, const struct encode_run *run, uint64_t band, float *facts, struct err *err)
{
    const struct exact_source *s = &e->exact->source;
    const struct tile_at t = find_tile(e, how, band, 0);
    uint64_t grid = how->grid_cols, step = num_max(1, ENCODE_MOVED / num_max(e->cols, 1));
    if (how->codes != DTYPE_F8_E4M3 || s->codes != EXACT_E2M1 || s->two || s->scale != DTYPE_F8_E8M0 || s->group % 32 != 0 || s->group == 0 || e->cols > ENCODE_FLOATS)
        return false;
    for (uint64_t i = 0; i < grid; i++) {
        facts[i * FACTS + LO] = FLT_MAX;
        facts[i * FACTS + HI] = -FLT_MAX;
    }
    for (uint64_t done = 0; done < t.rows; done += step) {
        uint64_t rows = num_min(step, t.rows - done);
        if (!run->hints.scales(run->of, t.first + done * e->cols, (size_t)(rows * e->cols), run->x, err))
            return false;
        for (uint64_t i = 0; i < rows * e->cols; i += 32) {
            float *f = facts + i % e->cols / TILE * FACTS;
            int k;
            if (!move_power(&k, run->hints.scale[i]))
                return false;
            f[LO] = (float)k < f[LO] ? (float)k : f[LO];
            f[HI] = (float)k > f[HI] ? (float)k : f[HI];
        }
    }
    for (uint64_t i = 0; i < grid; i++) {
        float *f = facts + i * FACTS;
        if (f[HI] - f[LO] > 14 || f[HI] - 6 < -126 || f[HI] > SOLVE_MX_FINITE)
            return false;
        f[SCALE] = ldexpf(1.0f, (int)f[HI] - 6);
    }
    if (run->hints.way && *run->hints.way < EXACT_HINT)
        *run->hints.way = EXACT_HINT;
    return true;
}

/* Some tiles of a band: the first half of the rows of each in one buffer, the second in another. */
enum { HALF = TILE / 2, PANEL = ENCODE_FLOATS / HALF };

/* Reads n columns of a band, the first of which is that of tile t. */
static bool
read_panel(const struct encoding *e, const struct encode_run *run, const struct tile_at *t, size_t n, struct err *err)
{
    for (uint64_t r = 0; r < t->rows;) {
        uint64_t count = n == e->cols ? num_min(HALF, t->rows - r) : 1;
        if (!run->read(run->of, t->first + r * e->cols, n * (size_t)count, (r < HALF ? run->x : run->back) + r % HALF * n, err))
            return false;
        r += count;
    }
    return true;
}

/* Finds the scale of tile i of a band from its values, which are read. */
static bool
survey_dense_tile(const struct encoding *e, const struct solve_fp8 *how, const struct encode_run *run, uint64_t band, uint64_t i,
    const struct solve_fp8_tile *x, float *f, bool *fast, struct err *err)
{
    const struct tile_at t = find_tile(e, how, band, i);
    *fast = solve_fp8_dense(&f[SCALE], how, e->exact->level, run->kernels, x);
    if (*fast)
        return true;
    for (size_t r = 0; r < t.rows; r++) {
        struct solve_block b;
        solve_begin(&b, e, run, solve_fp8_row(x, r), (size_t)t.cols, t.first + r * e->cols);
        add(how, run, f, &b);
    }
    return settle_tile(e, how, run, band, i, f, err);
}

static bool
survey_dense(const struct encoding *e, const struct solve_fp8 *how, const struct encode_run *run, uint64_t band, float *facts, struct err *err)
{
    size_t n = 0;
    bool fast = false;
    for (uint64_t i = 0; i < how->grid_cols; i++) {
        uint64_t at = i % (PANEL / TILE), left = i - at;
        const struct tile_at t = find_tile(e, how, band, i), first = find_tile(e, how, band, left);
        n = (size_t)num_min(PANEL, e->cols - left * TILE);
        if ((at == 0 || !fast) && !read_panel(e, run, &first, n, err))          /* a search uses the buffer */
            return false;
        const struct solve_fp8_tile x = { { run->x + at * TILE, run->back + at * TILE }, (size_t)t.rows, HALF, (size_t)t.cols, n };
        if (!survey_dense_tile(e, how, run, band, i, &x, facts + i * FACTS, &fast, err))
            return false;
    }
    if (run->hints.way && *run->hints.way < EXACT_SEARCH)
        *run->hints.way = EXACT_SEARCH;
    return true;
}

static bool
survey_band(const struct encoding *e, const struct solve_fp8 *how, const struct encode_run *run, uint64_t band, float *facts, struct err *err)
{
    uint64_t grid = how->grid_cols, rows = find_tile(e, how, band, 0).rows, row0 = find_tile(e, how, band, 0).first;
    uint64_t cols = num_min(e->cols, ENCODE_FLOATS), step = ENCODE_FLOATS / cols;
    if (foresee_band(e, how, run, band, facts, err))
        return true;
    if (err->kind != ERR_NONE)
        return false;
    memset(facts, 0, grid * FACTS * sizeof *facts);
    if (solve_fp8_is_dense(e))
        return survey_dense(e, how, run, band, facts, err);
    for (uint64_t done = 0; done < rows; done += step)
        for (uint64_t c = 0, n; c < e->cols; c += n) {
            n = num_min(cols, e->cols - c);
            uint64_t count = n < e->cols ? 1 : num_min(step, rows - done), at = row0 + done * e->cols + c;
            if (!run->read(run->of, at, (size_t)(count * n), run->x, err))
                return false;
            for (uint64_t r = 0; r < count; r++)
                for (uint64_t i = 0; i < n; i += TILE) {
                    struct solve_block b;
                    solve_begin(&b, e, run, run->x + r * n + i, (size_t)num_min(TILE, n - i), at + r * e->cols + i);
                    add(how, run, facts + (c + i) / TILE * FACTS, &b);
                }
        }
    for (uint64_t i = 0; i < grid; i++)
        if (!settle_tile(e, how, run, band, i, facts + i * FACTS, err))
            return false;
    return true;
}

/* --- one scale for the weight */

/* After the regions: set to have their magnitudes collected. */
static float *
collects(const struct encoding *e, float *facts)
{
    return facts + e->nregions * FACTS_OF_WEIGHT;
}

/* Magnitudes of a region, and some of them by their bits, to pass values that were seen before. */
struct fp8_seen {
    struct solve_set set;
    float by_bits[512];
};

static float *
place_of(struct fp8_seen *s, float v)
{
    return &s->by_bits[(bits_of_float(v) >> 16 ^ bits_of_float(v)) % 512];
}

/* Adds those of a block. Fails if there are too many. */
static bool
collect(struct fp8_seen *s, const struct solve_block *b)
{
    struct solve_set more;
    size_t i = 0;
    while (i < b->n && !b->unit && (b->x[i] == 0 || *place_of(s, b->x[i]) == b->x[i]))
        i++;
    if (i == b->n)
        return true;
    if (!solve_collect(&more, b, MOST_CODES))
        return false;
    for (i = 0; i < more.n; i++)
        if (!solve_insert(&s->set, more.v[i], 1, MOST_CODES))
            return solve_fail(b, EXACT_SPAN, 0, NAN);
    for (i = 0; i < b->n; i++)
        *place_of(s, b->x[i]) = b->x[i];
    return true;
}

static void
keep_set(float *f, const struct solve_set *set)
{
    f[COUNT] = (float)set->n;
    for (size_t i = 0; i < set->n; i++)
        f[SET + i] = (float)set->v[i];
}

/* Finds the range of a region from the scales that the source had, as if all codes occurred. */
static bool
foresee_run(const struct encoding *e, const struct solve_fp8 *how, const struct encode_run *run, uint64_t first, uint64_t end, float *f,
    struct err *err)
{
    float most = -FLT_MAX, least = FLT_MAX;
    int t;
    if (how->codes != DTYPE_F8_E4M3 || !move_is_e2m1(e) || e->exact->source.group == 0 || e->exact->source.group % 32 != 0)
        return false;
    for (uint64_t n; first < end; first += n) {
        n = num_min(end - first, ENCODE_MOVED);
        if (!run->hints.scales(run->of, first, (size_t)n, run->x, err))
            return false;
        for (uint64_t i = 0; i < n; i += 32) {
            if (!move_power(&t, run->hints.scale[i]))
                return false;
            most = (float)t > most ? (float)t : most;
            least = (float)t < least ? (float)t : least;
        }
    }
    f[HINT] = NAN;
    f[MOST_HINT] = most;
    f[LO] = most - 6;
    f[HI] = least + 8;
    f[FLAGS] = ANY | DIFFER | SEEN;
    return most - least <= 14;
}

/* Surveys a region of a dense weight: finds a scale that holds all of its values, and the values that determine it; or NAN, and none.
 * Returns false for values that are not finite, or with an error. */
static bool
survey_dense_run(const struct encoding *e, const struct solve_fp8 *how, const struct encode_run *run, uint64_t first, uint64_t end, float *f,
    struct err *err)
{
    struct solve_fp8_found s = { .set.n = 0, .codes = SIZE_MAX };
    bool any = false, holds = true;
    for (uint64_t at = first, n, from; at < end; at = from) {
        float most;
        n = num_min(end - at, ENCODE_FLOATS);
        from = at + n;
        if (!run->read(run->of, at, (size_t)n, run->x, err))
            return false;
        run->kernels->encode_absmax(&most, run->x, (size_t)n, (size_t)n);
        if (!isfinite(most))
            return false;
        any = any || solve_rounded(e->exact->level, most) != 0;
        if (any && s.set.n == 0)
            holds = solve_fp8_add(&s, how, e->exact->level, most);
        for (size_t i = 0; any && holds && i < n;) {
            i = solve_fp8_held(how, e->exact->level, run->kernels, run->x, (size_t)n, s.scale);
            holds = i == n || solve_fp8_add(&s, how, e->exact->level, run->x[i]);
            if (i != n && at != first) {        /* those before were held by another scale */
                from = first;
                break;
            }
        }
    }
    f[HINT] = NAN;
    f[FLAGS] = SEEN | UNHINTED | (any ? ANY : 0);
    f[SCALE] = holds ? s.scale : NAN;
    s.set.n = holds ? s.set.n : 0;
    keep_set(f, &s.set);
    if (run->hints.way && *run->hints.way < (any ? EXACT_SEARCH : EXACT_HINT))
        *run->hints.way = any ? EXACT_SEARCH : EXACT_HINT;
    return true;
}

static bool
survey_run(const struct encoding *e, const struct solve_fp8 *how, const struct encode_run *run, uint64_t region, float *facts,
    struct err *err)
{
    uint64_t first = region * REGION, end = num_min(first + REGION, e->rows * e->cols);
    float *f = facts + region * FACTS_OF_WEIGHT;
    bool again = *collects(e, facts) != 0;
    if (!again && (foresee_run(e, how, run, first, end, f, err) || err->kind != ERR_NONE))
        return err->kind == ERR_NONE;
    if (!again && solve_fp8_is_dense(e) && (survey_dense_run(e, how, run, first, end, f, err) || err->kind != ERR_NONE))
        return err->kind == ERR_NONE;
    struct fp8_seen seen = { .set.n = 0 };
    for (uint64_t n; first < end; first += n) {
        struct solve_block b;
        n = num_min(end - first, ENCODE_FLOATS);
        if (!run->read(run->of, first, (size_t)n, run->x, err))
            return false;
        for (size_t i = 0, now; i < n; i += now) {
            now = (size_t)num_min(n - i, TILE);
            solve_begin(&b, e, run, run->x + i, now, first + i);
            if (again && !collect(&seen, &b)) {
                run->hints.fail->block = 0;
                return false;
            }
            if (!again)
                add(how, run, f, &b);
            solve_way(&b, again ? EXACT_SEARCH : EXACT_HINT);
            if ((unsigned)f[FLAGS] & INFINITE)
                return solve_finite(&b) || solve_fail(&b, EXACT_NONFINITE, 0, NAN);
        }
    }
    if (again)
        keep_set(f, &seen.set);
    return true;
}

/* Joins the magnitudes of all regions. */
static bool
join(struct solve_set *set, const struct encoding *e, const float *facts)
{
    set->n = 0;
    for (uint64_t i = 0; i < e->nregions; i++, facts += FACTS_OF_WEIGHT)
        for (size_t k = 0; k < (size_t)facts[COUNT]; k++)
            if (!solve_insert(set, (double)facts[SET + k], 1, MOST_CODES))
                return false;
    return true;
}

/* Sets the scale of a dense weight if its regions have found the same one. */
static bool
settle_dense(const struct encoding *e, const struct solve_fp8 *how, float *facts)
{
    struct solve_set set;
    float scale;
    if (!solve_fp8_is_dense(e) || !join(&set, e, facts) || !solve_fp8_search(how, &set, e->exact->level, &scale))
        return false;
    for (uint64_t i = 0; i < e->nregions; i++) {
        float found = facts[i * FACTS_OF_WEIGHT + SCALE];
        if (found != scale && found != 0)               /* or NAN; 0 in regions of zeros */
            return false;
    }
    facts[SCALE] = scale;
    return true;
}

static bool
resolve_weight(struct encoding *e, const struct solve_fp8 *how, float *facts, struct exact_fail *fail)
{
    enum exact_cause cause;
    enum exact_way way;
    struct solve_set set;
    for (uint64_t i = 1; i < e->nregions && *collects(e, facts) == 0; i++) {
        const float *f = facts + i * FACTS_OF_WEIGHT;
        unsigned flags = (unsigned)facts[FLAGS] | (unsigned)f[FLAGS];
        facts[LO] = fmaxf(facts[LO], f[LO]);
        facts[HI] = fminf(facts[HI], f[HI]);
        facts[MOST_HINT] = fmaxf(facts[MOST_HINT], f[MOST_HINT]);
        facts[FLAGS] = (float)(flags | (facts[HINT] == f[HINT] ? 0 : DIFFER));
    }
    if (*collects(e, facts) == 0) {
        if (choose(e, how, facts, &cause, &way) || (cause == EXACT_HOLDS && settle_dense(e, how, facts)))
            return true;
        if (cause == EXACT_NONFINITE)
            *fail = (struct exact_fail){ .cause = cause, .nearest = (double)NAN };
        *collects(e, facts) = 1;
        return false;
    }
    if (join(&set, e, facts) && solve_fp8_search(how, &set, e->exact->level, &facts[SCALE]))
        return true;
    *fail = (struct exact_fail){ .cause = EXACT_SPAN, .value = set.n != 0 ? set.v[0] : 0, .nearest = (double)NAN };
    return false;
}

/* --- all */

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
    return how->share == SOLVE_FP8_TILES ? survey_band(e, how, run, region, facts + region * how->grid_cols * FACTS, err)
        : survey_run(e, how, run, region, facts, err);
}

bool
solve_fp8_resolve(struct encoding *e, const struct solve_fp8 *how, float *facts, struct exact_fail *fail)
{
    if (how->share == SOLVE_FP8_WEIGHT) {
        if (!resolve_weight(e, how, facts, fail))
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
        add(how, run, f, &part);
    }
    if (!choose(e, how, f, &cause, &way)) {
        way = EXACT_SEARCH;
        if (cause == EXACT_NONFINITE)
            return solve_finite(b) || solve_fail(b, cause, 0, NAN);
        if (!solve_collect(&set, b, MOST_CODES))
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
        n = row ? e->cols : run->n - done;
        if (!row)
            scale = scale_at(e, how, run, at + done, &n);
        solve_begin(&b, e, run, run->x + done, (size_t)n, at + done);
        if (row && !solve_row(e, how, run, &b, &scale))
            return false;
        bool same = put_fast(how, run, &b, scale, y + done, run->back + done);
        for (size_t i = 0; !same && i < n; i++) {
            double v = solve_value(&b, i);
            y[done + i] = code_of(how, b.x[i] == 0 ? b.x[i] : (float)(v / (double)scale));
            if (v != 0 && !is_code_of(how, b.level, v, scale)) {
                solve_fail(&b, EXACT_SPAN, i, NAN);
                b.fail->block = row ? b.at : block_of(e, how, b.at);
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
        most = t > most ? t : most;
        least = t < least ? t : least;
    }
    float found = ldexpf(1.0f, most - 6);
    return most - least <= 14 && most - 6 >= -126 && solve_is_of(how->scale, (double)found) ? found : 0;
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
        n = rows ? e->cols : run->n - i;
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
