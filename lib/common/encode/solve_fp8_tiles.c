/* A scale for each tile of 128 x 128. */
#include "encode/solve_fp8_priv.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "dtype/float8.h"
#include "encode/move.h"

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
    const struct solve_float *form = solve_fp8_float(how);
    for (size_t i = 0; !*found && i < b->n; i++) {
        double v = solve_value(b, i);
        uint64_t m;
        bool is = v != 0 && isfinite(v);
        int k = 0;
        if (is)
            k = solve_odd(fabs(v), &m);
        if (cause == EXACT_NONFINITE)
            is = !isfinite(b->x[i]) || (b->scale && isinf(b->scale[i]));
        else if (cause == EXACT_PRECISION)
            is = is && m >> form->bits != 0;
        else if (cause == EXACT_SPAN)
            is = is && (float)k < lo + (float)form->least;
        if (!is)
            continue;
        double unit = ldexp(1, (int)lo);
        *b->fail = (struct exact_fail){ cause, t->first, b->at + i, (double)b->x[i],
            cause == EXACT_SPAN ? (double)float8_to_float(how->codes, solve_fp8_code(how, (float)(v / unit))) * unit : (double)NAN };
        *found = true;
    }
}

/* Reads row r of a tile. */
static bool
read_row(struct solve_block *b, const struct encoding *e, const struct encode_run *run, const struct tile_at *t, uint64_t r,
    struct err *err)
{
    if (!run->read(run->of, t->first + r * e->cols, (size_t)t->cols, run->x, err))
        return false;
    solve_begin(b, e, run, run->x, (size_t)t->cols, t->first + r * e->cols);
    return true;
}

/* Collects the magnitudes of a tile. Clears *fits if there are too many. */
static bool
collect_tile(struct solve_set *set, bool *fits, const struct encoding *e, const struct encode_run *run, const struct tile_at *t,
    struct err *err)
{
    set->n = 0;
    *fits = true;
    for (uint64_t r = 0; *fits && r < t->rows; r++) {
        struct solve_block b;
        struct solve_set row;
        if (!read_row(&b, e, run, t, r, err))
            return false;
        *fits = solve_collect(&row, &b, SOLVE_FP8_CODES);
        for (size_t i = 0; *fits && i < row.n; i++)
            *fits = solve_insert(set, row.v[i], row.sign[i], SOLVE_FP8_CODES);
    }
    return true;
}

/* Records the element of a tile that is at fault; if none stands out, the first one that is not 0. Returns false. */
static bool
fail_tile(const struct encoding *e, const struct solve_fp8 *how, const struct encode_run *run, const struct tile_at *t,
    enum exact_cause cause, float lo, struct err *err)
{
    bool found = false;
    struct solve_block b;
    for (uint64_t r = 0; r < t->rows; r++) {
        if (!read_row(&b, e, run, t, r, err))
            return false;
        point_at(how, &b, cause, t, lo, &found);
    }
    if (found || cause == EXACT_SCALE)
        return false;
    for (uint64_t r = 0; r < t->rows; r++) {
        if (!read_row(&b, e, run, t, r, err))
            return false;
        point_at(how, &b, EXACT_SCALE, t, lo, &found);
    }
    run->hints.fail->cause = cause;
    run->hints.fail->block = t->first;
    run->hints.fail->nearest = NAN;
    return false;
}

static bool
settle_tile(const struct encoding *e, const struct solve_fp8 *how, const struct encode_run *run, uint64_t band, uint64_t col,
    float *f, struct err *err)
{
    enum exact_cause cause;
    enum exact_way way;
    const struct tile_at t = find_tile(e, how, band, col);
    struct solve_set set;
    if (solve_fp8_choose(e, how, f, &cause, &way)) {
        solve_raise(run, way);
        return true;
    }
    solve_raise(run, EXACT_SEARCH);
    if (!solve_fp8_is_power(how) && cause != EXACT_NONFINITE) {
        bool fits;
        if (!collect_tile(&set, &fits, e, run, &t, err))
            return false;
        if (fits && solve_fp8_search(how, &set, e->exact->level, &f[SCALE]))
            return true;
        cause = EXACT_SPAN;
    }
    return fail_tile(e, how, run, &t, cause, f[LO], err);
}

/* Finds the scales of a band of tiles from those that the source had: E2M1 codes whose powers of two are within 14 of each other
 * fit into a tile, without a look at the codes. Clears *found if they are not. */
static bool
foresee_band(const struct encoding *e, const struct solve_fp8 *how, const struct encode_run *run, uint64_t band, float *facts, bool *found,
    struct err *err)
{
    const struct exact_source *s = &e->exact->source;
    const struct tile_at t = find_tile(e, how, band, 0);
    uint64_t grid = how->grid_cols, step = num_max(1, ENCODE_MOVED / num_max(e->cols, 1));
    *found = how->codes == DTYPE_F8_E4M3 && s->codes == EXACT_E2M1 && !s->two && s->scale == DTYPE_F8_E8M0 && s->group % 32 == 0
        && s->group != 0 && e->cols <= ENCODE_FLOATS;
    for (uint64_t i = 0; *found && i < grid; i++) {
        facts[i * FACTS + LO] = FLT_MAX;
        facts[i * FACTS + HI] = -FLT_MAX;
    }
    for (uint64_t done = 0; *found && done < t.rows; done += step) {
        uint64_t rows = num_min(step, t.rows - done);
        if (!run->hints.scales(run->of, t.first + done * e->cols, (size_t)(rows * e->cols), run->x, found, err))
            return false;
        for (uint64_t i = 0; *found && i < rows * e->cols; i += 32) {
            float *f = facts + i % e->cols / TILE * FACTS;
            int k;
            *found = move_power(&k, run->hints.scale[i]);
            if (*found && (float)k < f[LO])
                f[LO] = (float)k;
            if (*found && (float)k > f[HI])
                f[HI] = (float)k;
        }
    }
    for (uint64_t i = 0; *found && i < grid; i++) {
        float *f = facts + i * FACTS;
        *found = f[HI] - f[LO] <= 14 && f[HI] - 6 >= -126 && f[HI] <= SOLVE_MX_FINITE;
        f[SCALE] = ldexpf(1.0f, (int)f[HI] - 6);
    }
    if (*found)
        solve_raise(run, EXACT_HINT);
    return true;
}

/* Some tiles of a band: the first half of the rows of each in one buffer, the second in another. */
enum { HALF = TILE / 2, PANEL = ENCODE_FLOATS / HALF };

/* Reads n columns of a band, from the first column of tile t. */
static bool
read_panel(const struct encoding *e, const struct encode_run *run, const struct tile_at *t, size_t n, struct err *err)
{
    for (uint64_t r = 0; r < t->rows;) {
        uint64_t count = 1;
        if (n == e->cols)
            count = num_min(HALF, t->rows - r);
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
        solve_fp8_gather(how, run, f, &b);
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
    solve_raise(run, EXACT_SEARCH);
    return true;
}

bool
solve_fp8_survey_band(const struct encoding *e, const struct solve_fp8 *how, const struct encode_run *run, uint64_t band, float *facts, struct err *err)
{
    uint64_t grid = how->grid_cols, rows = find_tile(e, how, band, 0).rows, row0 = find_tile(e, how, band, 0).first;
    uint64_t cols = num_min(e->cols, ENCODE_FLOATS), step = ENCODE_FLOATS / cols;
    bool found;
    if (!foresee_band(e, how, run, band, facts, &found, err))
        return false;
    if (found)
        return true;
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
                    solve_fp8_gather(how, run, facts + (c + i) / TILE * FACTS, &b);
                }
        }
    for (uint64_t i = 0; i < grid; i++)
        if (!settle_tile(e, how, run, band, i, facts + i * FACTS, err))
            return false;
    return true;
}
